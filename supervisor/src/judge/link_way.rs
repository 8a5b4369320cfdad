//! The symbolic links on the way from a path to what it leads to. Whoever may exchange one of them chooses what that is.

use rustix::fs::{CWD, readlinkat};

use super::anchored_path::parent_of;

/// The maximum number of links on the way, as the kernel has it (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// Returns the links that a link passes through, and the path at which it ends. What is missing is taken by its text.
pub fn way(link: &[u8], text: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut passed: Vec<Vec<u8>> = Vec::new();
    let mut at = parent_of(link).to_vec();
    let mut left = Vec::new();
    let go_on = |at: &mut Vec<u8>, left: &mut Vec<Vec<u8>>, text: &[u8]| {
        if text.starts_with(b"/") {
            *at = b"/".to_vec();
        }
        left.extend(text.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
    };
    go_on(&mut at, &mut left, text);
    while let Some(name) = left.pop() {
        match &*name {
            b"" | b"." => continue,
            b".." => {
                at = parent_of(&at).to_vec();
                continue;
            }
            _ => {}
        }
        let next = [at.strip_suffix(b"/").unwrap_or(&at), b"/", &*name].concat();
        match readlinkat(CWD, &*next, Vec::new()) {
            Ok(text) if passed.len() < MAX_LINKS => {
                passed.push(next);
                go_on(&mut at, &mut left, text.as_bytes());
            }
            _ => at = next,
        }
    }
    (passed, at)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_passed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let bytes = |name: &str| root.join(name).as_os_str().as_bytes().to_vec();
        std::fs::create_dir_all(root.join("d/e")).unwrap();
        for (text, name) in [("e", "d/l"), ("d/l/../f", "m"), ("loop", "loop")] {
            symlink(text, root.join(name)).unwrap();
        }
        symlink(root.join("m"), root.join("n")).unwrap();
        let of = |text: &str| way(&bytes("d/from"), text.as_bytes());
        assert_eq!(of("./e//x"), (vec![], bytes("d/e/x")));
        assert_eq!(of("l/x"), (vec![bytes("d/l")], bytes("d/e/x")));
        assert_eq!(of("../n/x"), (vec![bytes("n"), bytes("m"), bytes("d/l")], bytes("d/f/x")));
        assert_eq!(of("../loop").0.len(), MAX_LINKS);
    }
}
