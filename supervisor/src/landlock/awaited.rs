//! Names that may not be read. As long as none of them exists, reads may be left to the kernel.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use foldhash::HashSet;
use guard_policy::Unreadable;
use rustix::fs::{AtFlags, CWD, statat};
use rustix::io::Errno;

/// Whether something is, or may be, at a path.
pub(super) fn exists(path: &[u8]) -> bool {
    !matches!(statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT | Errno::NOTDIR))
}

/// Returns a path at which something that may not be read exists, or may exist.
pub(super) fn existing(unreadable: &Unreadable) -> Option<Vec<u8>> {
    let prefix = match unreadable {
        Unreadable::Path(path) => return exists(path).then(|| path.clone()),
        Unreadable::Prefix(prefix) => prefix,
    };
    let (directory, start) = split(prefix);
    let names = match std::fs::read_dir(OsStr::from_bytes(directory)) {
        Ok(names) => names,
        Err(error) => {
            let is_missing = matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR));
            return (!is_missing).then(|| directory.to_vec());
        }
    };
    for name in names {
        let Ok(name) = name else { return Some(directory.to_vec()) };
        if name.file_name().as_bytes().starts_with(start) {
            return Some(name.path().into_os_string().into_encoded_bytes());
        }
    }
    None
}

/// A directory, and the name in it that would be the first to appear on the way to what is awaited.
pub(super) struct NextName<'p> {
    pub(super) directory: &'p [u8],
    name: &'p [u8],
    /// Whether each name that begins with `name` counts.
    is_prefix: bool,
}

impl<'p> NextName<'p> {
    pub(super) fn new(unreadable: &'p Unreadable) -> NextName<'p> {
        let (path, is_prefix) = match unreadable {
            Unreadable::Path(path) => (path, false),
            Unreadable::Prefix(prefix) => (prefix, true),
        };
        let mut end = path.len();
        while let Some(parent) =
            path[..end].iter().rposition(|&byte| byte == b'/').filter(|&parent| parent > 0)
        {
            if exists(&path[..parent]) {
                break;
            }
            end = parent;
        }
        let (directory, name) = split(&path[..end]);
        NextName { directory, name, is_prefix: is_prefix && end == path.len() }
    }
}

/// The names whose coming or going matters.
#[derive(Default)]
pub(super) struct WatchedNames {
    names: HashSet<Vec<u8>>,
    prefixes: Vec<Vec<u8>>,
}

impl WatchedNames {
    pub(super) fn new<'p>(paths: impl Iterator<Item = &'p [u8]>, awaited: &[Unreadable]) -> WatchedNames {
        let mut watched =
            WatchedNames { names: paths.map(|path| split(path).1.to_vec()).collect(), prefixes: Vec::new() };
        for next in awaited.iter().map(NextName::new) {
            match next.is_prefix {
                true => watched.prefixes.push(next.name.to_vec()),
                false => drop(watched.names.insert(next.name.to_vec())),
            }
        }
        watched
    }

    pub(super) fn contains(&self, name: &[u8]) -> bool {
        self.names.contains(name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}

/// The directory and the last name of an absolute path.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    (&path[..slash.max(1)], &path[slash + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_a_prefix_is_found_and_watched() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name).into_os_string().into_encoded_bytes();
        let (keys, deep) = (Unreadable::Prefix(path("key")), Unreadable::Prefix(path("new/key")));
        assert_eq!((existing(&keys), existing(&deep)), (None, None));
        std::fs::write(root.join("ke"), "").unwrap();
        assert_eq!(existing(&keys), None);
        let watched = WatchedNames::new([&b"/srv/granted"[..]].into_iter(), &[keys.clone(), deep.clone()]);
        for (name, expected) in
            [("key", true), ("keys", true), ("new", true), ("granted", true), ("ke", false), ("newer", false)]
        {
            assert_eq!(watched.contains(name.as_bytes()), expected, "{name}");
        }
        std::os::unix::fs::symlink("nowhere", root.join("keys")).unwrap();
        std::fs::create_dir(root.join("new")).unwrap();
        std::fs::write(root.join("new/key.pem"), "").unwrap();
        assert_eq!((existing(&keys), existing(&deep)), (Some(path("keys")), Some(path("new/key.pem"))));
    }
}
