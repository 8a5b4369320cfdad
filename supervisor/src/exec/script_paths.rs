//! The names that lead to a script: they must stay unchanged until its interpreter has opened it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What is below it means something else to each process; `/dev/fd` leads there.
const OF_PROCESSES: &str = "/proc";
/// The maximum number of links that the kernel follows (fs/namei.c, MAXSYMLINKS).
const MAX_LINKS: usize = 40;

/// The absolute form of a name as written. Redundant parts (`//`, `/.`) are removed; links and `..` are not resolved.
pub fn spelled(directory: &[u8], written: &[u8]) -> Vec<u8> {
    let from_root = written.starts_with(b"/") || directory == b"/";
    let mut name = if from_root { Vec::new() } else { directory.to_vec() };
    for part in parts(written) {
        name.push(b'/');
        name.extend_from_slice(part);
    }
    name
}

/// The entries that an absolute name leads through: the real path of each link on the way, and the file last. Returns
/// `None` for a name that means something else to each process.
pub fn script_paths(name: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let mut left: Vec<Vec<u8>> = parts(name).map(<[u8]>::to_vec).rev().collect();
    let mut at = PathBuf::from("/");
    while let Some(part) = left.pop() {
        if part == b".." {
            at.pop();
            continue;
        }
        at.push(OsStr::from_bytes(&part));
        if at == Path::new(OF_PROCESSES) {
            return None;
        }
        let Ok(target) = at.read_link() else { continue };
        found.push(at.clone().into_os_string().into_vec());
        if found.len() > MAX_LINKS {
            return None;
        }
        let target = target.into_os_string().into_vec();
        at = if target.starts_with(b"/") { PathBuf::from("/") } else { at.parent()?.to_owned() };
        left.extend(parts(&target).rev().map(<[u8]>::to_vec));
    }
    found.push(at.into_os_string().into_vec());
    Some(found)
}

/// The file that an absolute name leads to for a program that takes `..` as text: it goes up from what is written, not from
/// where a link leads (node, emacs, ruby, cmake). Returns `None` as [`script_paths`].
pub fn as_text(name: &[u8]) -> Option<Vec<u8>> {
    let mut left: Vec<Vec<u8>> = plain(Vec::new(), name).into_iter().rev().collect();
    let mut at: Vec<Vec<u8>> = Vec::new();
    let mut links = 0;
    while let Some(part) = left.pop() {
        at.push(part);
        if path_of(&at) == OF_PROCESSES.as_bytes() {
            return None;
        }
        let Ok(target) = PathBuf::from(OsString::from_vec(path_of(&at))).read_link() else { continue };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        at.pop();
        let target = target.into_os_string().into_vec();
        let from = if target.starts_with(b"/") { Vec::new() } else { std::mem::take(&mut at) };
        // The parts that are left follow the target's parts. The target may lead through links itself, so the walk
        // starts again at the root.
        left.extend(plain(from, &target).into_iter().rev());
        at.clear();
    }
    Some(path_of(&at))
}

fn path_of(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.iter().flat_map(|part| [&b"/"[..], part]).collect::<Vec<_>>().concat()
}

/// Appends the parts of a path to `at`. Each `..` removes the part before it.
fn plain(mut at: Vec<Vec<u8>>, path: &[u8]) -> Vec<Vec<u8>> {
    for part in parts(path) {
        match part {
            b".." => drop(at.pop()),
            _ => at.push(part.to_vec()),
        }
    }
    at
}

/// Whether `path` lies below `directory`.
pub fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with(b"/"))
}

fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|part| !matches!(*part, b"" | b"."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn redundant_path_components_are_left_out() {
        for (directory, written, name) in [
            ("/d", "x", "/d/x"),
            ("/d", ".//./x", "/d/x"),
            ("/", "x", "/x"),
            ("/d", "/a//b/./c", "/a/b/c"),
            ("/d", "../x", "/d/../x"),
        ] {
            assert_eq!(spelled(directory.as_bytes(), written.as_bytes()), name.as_bytes(), "{written}");
        }
    }

    #[test]
    fn each_link_to_a_script_is_one_of_its_names() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("real/sub")).unwrap();
        std::fs::write(top.join("real/x"), "").unwrap();
        symlink("real", top.join("dir")).unwrap();
        symlink(top.join("dir/sub/../second"), top.join("first")).unwrap();
        symlink("x", top.join("real/second")).unwrap();
        let name = top.join("first").into_os_string().into_vec();
        let expected = ["first", "dir", "real/second", "real/x"];
        let expected = expected.map(|name| top.join(name).into_os_string().into_vec());
        assert_eq!(script_paths(&name).unwrap(), expected);
    }

    #[test]
    fn a_program_may_go_up_from_what_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("sub/deep")).unwrap();
        std::fs::write(top.join("x"), "").unwrap();
        std::fs::write(top.join("sub/x"), "").unwrap();
        symlink("sub/deep", top.join("link")).unwrap();
        symlink("link/../x", top.join("l")).unwrap();
        symlink("link/..", top.join("dir")).unwrap();
        let bytes = |name: &str| top.join(name).into_os_string().into_vec();
        for (name, expected) in [
            ("x", "x"),
            ("link/../x", "x"),
            ("l", "x"),
            ("dir/x", "x"),
            ("sub/../x", "x"),
            ("sub/deep/../x", "sub/x"),
            ("link/y", "sub/deep/y"),
        ] {
            assert_eq!(as_text(&bytes(name)), Some(bytes(expected)), "{name}");
        }
        assert_eq!(as_text(b"/dev/fd/3"), None);
    }

    #[test]
    fn a_descriptor_path_has_no_script_path() {
        assert_eq!(script_paths(b"/dev/fd/3"), None);
        assert_eq!(script_paths(b"/proc/self/fd/3"), None);
    }
}
