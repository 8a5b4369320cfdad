//! Real paths by one look at each name.
//!
//! A policy asks for the real paths of its patterns several times: to follow a link, and to see whether the guarded tree
//! could replace it. Where the tree runs meanwhile, two looks could find two things.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows (include/linux/namei.h, MAXSYMLINKS).
const MOST: usize = 40;

#[derive(Clone, Debug)]
enum Name {
    Missing,
    /// No link.
    Itself,
    Link(PathBuf),
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Links {
    seen: RefCell<HashMap<PathBuf, Name>>,
}

impl Links {
    /// The real path of what exists; None otherwise.
    pub fn real(&self, path: &[u8]) -> Option<Vec<u8>> {
        let path = Path::new(OsStr::from_bytes(path));
        if !path.is_absolute() {
            return None;
        }
        let mut followed = 0;
        let mut real = PathBuf::from("/");
        // The next component last.
        let mut left: Vec<PathBuf> = components(path).collect();
        while let Some(component) = left.pop() {
            match component.components().next() {
                Some(Component::ParentDir) => drop(real.pop()),
                Some(Component::Normal(name)) => {
                    let entry = real.join(name);
                    match self.look(&entry) {
                        Name::Missing => return None,
                        Name::Itself => real = entry,
                        Name::Link(target) => {
                            followed += 1;
                            if followed > MOST {
                                return None;
                            }
                            if target.is_absolute() {
                                real = PathBuf::from("/");
                            }
                            left.extend(components(&target));
                        }
                    }
                }
                _ => {}
            }
        }
        Some(real.into_os_string().into_vec())
    }

    fn look(&self, entry: &Path) -> Name {
        let mut seen = self.seen.borrow_mut();
        let look = || match std::fs::symlink_metadata(entry) {
            Err(_) => Name::Missing,
            Ok(meta) if meta.is_symlink() => std::fs::read_link(entry).map_or(Name::Missing, Name::Link),
            Ok(_) => Name::Itself,
        };
        seen.entry(entry.to_owned()).or_insert_with(look).clone()
    }
}

/// The components of a path, the last one first.
fn components(path: &Path) -> impl Iterator<Item = PathBuf> {
    path.components().rev().map(|component| PathBuf::from(component.as_os_str()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn as_the_kernel_resolves() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        for (target, link) in
            [("a", "to-a"), ("../to-a/b/..", "a/up"), ("/", "top"), ("loop", "loop"), ("none", "broken")]
        {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("to-a"), root.join("absolute")).unwrap();
        for path in [
            "",
            "a",
            "to-a",
            "to-a/b",
            "a/up",
            "a/up/b",
            "absolute/file",
            "loop",
            "broken",
            "none",
            "a/file/x",
            "top",
        ] {
            let path = root.join(path);
            let expected = path.canonicalize().ok().map(|real| real.into_os_string().into_vec());
            assert_eq!(Links::default().real(path.as_os_str().as_bytes()), expected, "{}", path.display());
        }
        assert_eq!(Links::default().real(b"relative"), None);
    }

    #[test]
    fn a_name_that_changes_is_what_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("d")).unwrap();
        symlink("d", root.join("x")).unwrap();
        let links = Links::default();
        let x = root.join("x").into_os_string().into_vec();
        let first = links.real(&x);
        fs::remove_file(root.join("x")).unwrap();
        fs::create_dir(root.join("x")).unwrap();
        assert_eq!(links.real(&x), first);
        assert_eq!(Links::default().real(&x), Some(x));
    }
}
