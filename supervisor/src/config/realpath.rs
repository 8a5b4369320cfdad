//! Resolves real paths, looking up each name only once.
//!
//! A policy asks for the real paths of its patterns several times: to follow a link, and to see whether the
//! guarded tree could replace it. If the tree runs meanwhile, two lookups could give two answers.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::HashMap;

use super::listed_directory::{EarlierNames, ListedDirectories, Name};

/// The number of links that the kernel follows (include/linux/namei.h, MAXSYMLINKS).
const MAX_LINKS: usize = 40;

/// How to treat a name that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// The path does not resolve.
    Ends,
    /// Resolution continues as if the name were a directory or file: it may be created later.
    Continues,
}

/// The links that were followed, and where they lead.
#[derive(Debug)]
struct LinkTrail {
    links: Vec<Vec<u8>>,
    end: Vec<u8>,
    exists: bool,
}

impl LinkTrail {
    /// The trail of a path that does not resolve: no links, and the path itself.
    fn straight(path: &[u8]) -> LinkTrail {
        LinkTrail { links: Vec::new(), end: path.to_vec(), exists: false }
    }
}

/// Whether the tree may replace what is at a path.
type IsTrees = Box<dyn Fn(&[u8]) -> bool>;

/// A cache of what each name was when it was first looked up.
#[derive(Default)]
pub struct Links {
    /// While a tree runs: which links it may have made.
    is_trees: Option<IsTrees>,
    directories: RefCell<ListedDirectories>,
    /// The resolved directories, for lookups of several names in the same one.
    ways: RefCell<HashMap<Vec<u8>, LinkTrail>>,
    /// The first file or directory that could not be read.
    unread: RefCell<Option<Shut>>,
}

/// What kept something from being found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shut {
    /// The file or directory.
    pub path: PathBuf,
    /// The errno of a reason that may pass; `None` if its mode is the reason.
    pub passing: Option<i32>,
}

impl Links {
    /// Creates a cache for a policy that is compiled while its tree runs. See [`ListedDirectories::after`]. `is_trees` says which
    /// links the tree may have made.
    pub(super) fn after(earlier: Arc<EarlierNames>, is_trees: impl Fn(&[u8]) -> bool + 'static) -> Links {
        let directories = RefCell::new(ListedDirectories::after(earlier));
        Links { directories, is_trees: Some(Box::new(is_trees)), ..Links::default() }
    }

    fn has_link_of_tree(&self, links: &[Vec<u8>]) -> bool {
        self.is_trees.as_ref().is_some_and(|is_trees| links.iter().any(|link| is_trees(link)))
    }

    /// Returns the real path, or None if the path does not exist.
    pub fn real(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.resolve(path, Missing::Ends).map(|trail| trail.end)
    }

    /// Returns the names that were looked up.
    pub(super) fn into_directories(self) -> ListedDirectories {
        self.directories.into_inner()
    }

    /// Returns the first directory or file that kept something from being found, by its mode if it is this user's, or for a
    /// reason that may pass. A guarded program may have changed the mode, and another may change it back during the next run.
    pub fn shut(&self) -> Option<Shut> {
        let by_mode = |path: &[u8]| Shut { path: OsStr::from_bytes(path).into(), passing: None };
        let directory = || self.directories.borrow().shut().map(by_mode);
        self.unread.borrow().clone().or_else(directory)
    }

    /// Takes note of a file or directory that could not be read.
    pub fn unreadable(&self, path: &Path, error: &io::Error) {
        let is_shut = || {
            // A directory on the way may be the one that cannot be searched.
            self.trail(path.as_os_str().as_bytes());
            let user = rustix::process::geteuid().as_raw();
            path.metadata().is_ok_and(|meta| meta.uid() == user)
        };
        let passing = error.raw_os_error().filter(|errno| may_pass(*errno));
        let counts = passing.is_some() || error.kind() == io::ErrorKind::PermissionDenied && is_shut();
        if counts && self.shut().is_none() {
            *self.unread.borrow_mut() = Some(Shut { path: path.to_owned(), passing });
        }
    }

    /// Returns the real path of each link on a path, followed by the path's target, whether or not the target
    /// exists. A path that cannot be resolved, a loop for instance, is returned as it is.
    pub fn trail(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let LinkTrail { links, end, .. } = self.resolve_dir_cached(path);
        links.into_iter().chain([end]).collect()
    }

    /// Resolves a path through the cached trail of its directory: many names are in few directories.
    fn resolve_dir_cached(&self, path: &[u8]) -> LinkTrail {
        let whole = || self.resolve(path, Missing::Continues).unwrap_or_else(|| LinkTrail::straight(path));
        let at = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let (directory, name) = (&path[..at], &path[(at + 1).min(path.len())..]);
        if directory.is_empty() || matches!(name, b"" | b"." | b"..") {
            return whole();
        }
        let mut ways = self.ways.borrow_mut();
        if !ways.contains_key(directory) {
            let Some(way) = self.resolve(directory, Missing::Continues) else {
                return LinkTrail::straight(path);
            };
            ways.insert(directory.to_vec(), way);
        }
        let LinkTrail { links, end, exists } = &ways[directory];
        let end = end.strip_suffix(b"/").unwrap_or(end);
        let by_trees_link = || self.has_link_of_tree(links);
        let read = || self.directories.borrow_mut().read(end, name, by_trees_link);
        if *exists && matches!(read(), Name::Link(_)) {
            return whole();
        }
        let entry = [end, name].join(&b'/');
        LinkTrail { links: links.clone(), end: entry, exists: *exists }
    }

    fn resolve(&self, path: &[u8], missing: Missing) -> Option<LinkTrail> {
        if path.first() != Some(&b'/') {
            return None;
        }
        let mut links = Vec::new();
        // The path never ends with a slash, so `/` is empty.
        let mut real: Vec<u8> = Vec::new();
        let mut exists = true;
        let (mut left, mut at) = (path.to_vec(), 0);
        while at < left.len() {
            let end =
                left[at..].iter().position(|&byte| byte == b'/').map_or(left.len(), |length| at + length);
            let before = real.len();
            match &left[at..end] {
                b"" | b"." => {}
                b".." => real.truncate(real.iter().rposition(|&byte| byte == b'/').unwrap_or(0)),
                name => {
                    let by_trees_link = || self.has_link_of_tree(&links);
                    let found = match exists {
                        true => self.directories.borrow_mut().read(&real, name, by_trees_link),
                        false => Name::Itself,
                    };
                    real.push(b'/');
                    real.extend_from_slice(name);
                    match found {
                        Name::Missing if missing == Missing::Ends => return None,
                        Name::Missing => exists = false,
                        Name::Itself => {}
                        Name::Link(target) => {
                            links.push(real.clone());
                            if links.len() > MAX_LINKS {
                                return None;
                            }
                            real.truncate(if target.starts_with(b"/") { 0 } else { before });
                            (left, at) = ([&target, &left[end..]].concat(), 0);
                            continue;
                        }
                    }
                }
            }
            at = end + 1;
        }
        if real.is_empty() {
            real.push(b'/');
        }
        Some(LinkTrail { links, end: real, exists })
    }
}

/// Whether what failed with this errno may succeed a moment later. A guarded program can arrange that: by a lease on the
/// file (fcntl(2), F_SETLEASE), or by so many calls that the guard has no descriptor left.
pub fn may_pass(errno: i32) -> bool {
    matches!(errno, libc::EAGAIN | libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EINTR)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStringExt;
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
    fn a_trail_has_every_link_and_ends_where_nothing_is_yet() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("dotfiles/v1")).unwrap();
        fs::write(root.join("dotfiles/v1/rc"), "").unwrap();
        for (target, link) in [
            ("v1", "dotfiles/now"),
            ("dotfiles/now/rc", "rc"),
            ("dotfiles/now/none/x", "none"),
            ("loop", "loop"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let links = Links::default();
        let of = |path: &str| {
            let trail = links.trail(root.join(path).as_os_str().as_bytes());
            let shown =
                |path: Vec<u8>| String::from_utf8(path).unwrap()[root.as_os_str().len() + 1..].to_owned();
            trail.into_iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(of("dotfiles/v1/rc"), ["dotfiles/v1/rc"]);
        assert_eq!(of("rc"), ["rc", "dotfiles/now", "dotfiles/v1/rc"]);
        assert_eq!(of("none"), ["none", "dotfiles/now", "dotfiles/v1/none/x"]);
        assert_eq!(of("dotfiles/now/new/deep"), ["dotfiles/now", "dotfiles/v1/new/deep"]);
        assert_eq!(of("missing/deep"), ["missing/deep"]);
        assert_eq!(of("loop/x"), ["loop/x"]);
        assert_eq!(links.trail(b"relative"), [b"relative".to_vec()]);
    }

    #[test]
    fn what_may_be_read_later_is_not_taken_for_nothing() {
        let unread = |error: io::Error| {
            let links = Links::default();
            links.unreadable(Path::new("/usr/x"), &error);
            links.shut()
        };
        for errno in [libc::EAGAIN, libc::EMFILE, libc::ENFILE, libc::ENOMEM] {
            let shut = Shut { path: "/usr/x".into(), passing: Some(errno) };
            assert_eq!(unread(io::Error::from_raw_os_error(errno)), Some(shut), "{errno}");
        }
        for errno in [libc::ENOENT, libc::ENOTDIR, libc::ELOOP, libc::EIO] {
            assert_eq!(unread(io::Error::from_raw_os_error(errno)), None, "{errno}");
        }
        assert_eq!(unread(io::Error::other("it is not a regular file")), None);
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
