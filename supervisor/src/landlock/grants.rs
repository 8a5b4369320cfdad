//! The hierarchies that the floor grants, and whether each is still in its place.
//!
//! A Landlock grant belongs to a directory, not to its name: a directory that is moved takes its grant along, and a new
//! one under the old name has none. So the tree may move one only to where the policy allows what it grants, and its
//! new place counts when the policy changes. The floor would refuse a recreated directory although the policy allows
//! it, so calls for it go to the broker.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_policy::{Access, Hierarchy, HierarchyKind};
use guard_shim::floor;
use parking_lot::Mutex;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::resolve::Identity;

/// A granted hierarchy or file.
#[derive(Debug)]
struct HierarchyGrant {
    path: Vec<u8>,
    access: Access,
    kind: HierarchyKind,
    identity: Identity,
    /// Its current path, as far as the tree moved it.
    place: Mutex<Vec<u8>>,
    /// Whether something else, or nothing, is at its path now.
    is_lost: AtomicBool,
}

/// All grants, sorted by path.
#[derive(Debug, Default)]
pub struct Grants(Vec<HierarchyGrant>);

/// The target of an access: an object, or an entry in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The object at the path, or one that may appear there.
    Object,
    /// The name itself, which belongs to the directory that contains it.
    Entry,
}

/// Opens the object at a real path; fails if the path contains a link.
fn open(path: &[u8]) -> Result<(OwnedFd, rustix::fs::Stat), Errno> {
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), no_links)?;
    let stat = rustix::fs::fstat(&file)?;
    Ok((file, stat))
}

/// The Landlock right for an access.
fn right(access: Access) -> Option<floor::KernelAccess> {
    match (access.contains(Access::READ), access.contains(Access::WRITE)) {
        (true, true) => Some(floor::KernelAccess::ReadWrite),
        (true, false) => Some(floor::KernelAccess::Read),
        (false, true) => Some(floor::KernelAccess::Write),
        (false, false) => None,
    }
}

impl Grants {
    /// Opens the hierarchies for the floor. Those that no longer exist, or have changed their type, are left out.
    pub fn open(hierarchies: Vec<Hierarchy>) -> (Grants, Vec<floor::PathGrant>) {
        let (mut grants, mut beneath) = (Vec::new(), Vec::new());
        for Hierarchy { path, access, kind } in hierarchies {
            let Some(right) = right(access) else { continue };
            let Ok((file, stat)) = open(&path) else { continue };
            let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if is_directory != (kind == HierarchyKind::Directory) {
                continue;
            }
            beneath.push(floor::PathGrant { beneath: file, is_directory, access: right });
            let is_lost = AtomicBool::new(false);
            let place = Mutex::new(path.clone());
            grants.push(HierarchyGrant {
                path,
                access,
                kind,
                identity: Identity::from_stat(&stat),
                place,
                is_lost,
            });
        }
        grants.sort_by(|a, b| a.path.cmp(&b.path));
        (Grants(grants), beneath)
    }

    /// Whether there are no grants.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the floor lets the kernel perform this access at a real path.
    pub fn cover(&self, path: &[u8], access: Access, reach: Target) -> bool {
        // Each right may come from another hierarchy.
        [Access::READ, Access::WRITE]
            .into_iter()
            .all(|one| !access.contains(one) || self.cover_one(path, one, reach))
    }

    fn cover_one(&self, path: &[u8], access: Access, reach: Target) -> bool {
        let mut end = path.len();
        loop {
            let is_whole = end == path.len();
            let grant = self.at(&path[..end.max(1)]).filter(|grant| grant.access.contains(access));
            let holds = grant.is_some_and(|grant| match (is_whole, grant.kind) {
                (true, _) => reach == Target::Object,
                (false, HierarchyKind::Directory) => true,
                (false, HierarchyKind::File) => false,
            });
            if holds {
                return true;
            }
            if end <= 1 {
                return false;
            }
            // The containing directory; `/` for `/x`.
            end = path[..end].iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        }
    }

    /// The grant for exactly this path, if it is still in place.
    fn at(&self, path: &[u8]) -> Option<&HierarchyGrant> {
        self.made_at(path).filter(|grant| !grant.is_lost.load(Ordering::Relaxed))
    }

    /// The grant that was made for exactly this path.
    fn made_at(&self, path: &[u8]) -> Option<&HierarchyGrant> {
        let at = self.0.binary_search_by(|grant| grant.path.as_slice().cmp(path)).ok()?;
        Some(&self.0[at])
    }

    /// Whether a grant was made for exactly this path.
    pub fn begin_at(&self, path: &[u8]) -> bool {
        self.made_at(path).is_some()
    }

    /// All grants, with their original paths.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Access)> {
        self.0.iter().map(|grant| (grant.path.as_slice(), grant.access))
    }

    /// All grants, with their current paths, as far as the tree moved them.
    pub fn places(&self) -> impl Iterator<Item = (Vec<u8>, Access, HierarchyKind)> {
        self.0.iter().map(|grant| (grant.place.lock().clone(), grant.access, grant.kind))
    }

    /// The grants that move along if the tree moves `old` to `new`, each with its new path.
    pub fn along(&self, old: &[u8], new: &[u8]) -> impl Iterator<Item = (Vec<u8>, Access, HierarchyKind)> {
        self.places().filter_map(move |(place, access, kind)| Some((moved(&place, old, new)?, access, kind)))
    }

    /// Records moves that the tree has made, each from one path to another, all at once.
    pub fn moved(&self, moves: &[(&[u8], &[u8])]) {
        for grant in &self.0 {
            let mut place = grant.place.lock();
            if let Some(new) = moves.iter().find_map(|(old, new)| moved(&place, old, new)) {
                *place = new;
            }
        }
    }

    /// Checks the grants again, after something at or below `path` was moved or removed.
    pub fn recheck_below(&self, path: &[u8]) {
        let is_below = |grant: &&HierarchyGrant| moved(&grant.path, path, path).is_some();
        self.0.iter().filter(is_below).for_each(HierarchyGrant::recheck);
    }

    /// Checks whether each grant is still in place.
    pub fn recheck(&self) {
        self.0.iter().for_each(HierarchyGrant::recheck);
    }
}

/// The new name of `path` after `old`, which it is or lies below, is renamed to `new`.
fn moved(path: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(old).filter(|rest| rest.is_empty() || rest[0] == b'/')?;
    Some([new, rest].concat())
}

impl HierarchyGrant {
    fn recheck(&self) {
        let stands = open(&self.path).is_ok_and(|(_, stat)| Identity::from_stat(&stat) == self.identity);
        self.is_lost.store(!stands, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::*;

    fn grants(root: &Path, all: &[(&str, Access, HierarchyKind)]) -> Grants {
        let hierarchy = |(name, access, kind): &(&str, Access, HierarchyKind)| Hierarchy {
            path: root.join(name).as_os_str().as_bytes().to_vec(),
            access: *access,
            kind: *kind,
        };
        Grants::open(all.iter().map(hierarchy).collect()).0
    }

    fn covers(grants: &Grants, path: &Path, access: Access, reach: Target) -> bool {
        grants.cover(path.as_os_str().as_bytes(), access, reach)
    }

    #[test]
    fn a_hierarchy_covers_what_is_below_it_and_no_sibling() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("work/deep")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        let both = Access::READ | Access::WRITE;
        let held = [
            ("work", Access::READ, HierarchyKind::Directory),
            ("work/deep", both, HierarchyKind::Directory),
            ("file", both, HierarchyKind::File),
            ("missing", both, HierarchyKind::Directory),
        ];
        let grants = grants(&root, &held);
        assert_eq!(grants.iter().count(), 3);
        for path in ["work", "work/x", "work/x/y", "work/deep", "work/deep/x", "file"] {
            assert!(covers(&grants, &root.join(path), Access::READ, Target::Object), "{path}");
        }
        for path in ["", "working", "works/x", "file/x", "missing", "missing/x", "x"] {
            assert!(!covers(&grants, &root.join(path), Access::READ, Target::Object), "{path}");
        }
        assert!(covers(&grants, &root.join("work/deep/x"), both, Target::Object));
        assert!(!covers(&grants, &root.join("work/x"), Access::WRITE, Target::Object));
        // A name belongs to its directory: the grant does not allow removing the granted directory itself.
        assert!(covers(&grants, &root.join("work/deep/x"), Access::WRITE, Target::Entry));
        assert!(!covers(&grants, &root.join("work/deep"), Access::WRITE, Target::Entry));
        assert!(!covers(&grants, &root.join("file"), Access::WRITE, Target::Entry));
    }

    #[test]
    fn the_root_covers_everything() {
        let everything =
            Hierarchy { path: b"/".to_vec(), access: Access::READ, kind: HierarchyKind::Directory };
        let (grants, beneath) = Grants::open(vec![everything]);
        assert_eq!(beneath.len(), 1);
        for path in ["/", "/a", "/a/b"] {
            assert!(grants.cover(path.as_bytes(), Access::READ, Target::Object), "{path}");
        }
        assert!(!grants.cover(b"/", Access::READ, Target::Entry));
        assert!(grants.cover(b"/a", Access::READ, Target::Entry));
    }

    #[test]
    fn what_was_made_anew_is_not_covered() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let work = root.join("work");
        std::fs::create_dir(&work).unwrap();
        let grants = grants(&root, &[("work", Access::READ, HierarchyKind::Directory)]);
        std::fs::rename(&work, root.join("away")).unwrap();
        std::fs::create_dir(&work).unwrap();
        assert!(covers(&grants, &work, Access::READ, Target::Object), "nobody has looked yet");
        grants.recheck_below(root.join("wor").as_os_str().as_bytes());
        assert!(covers(&grants, &work, Access::READ, Target::Object), "that was another one");
        grants.recheck_below(work.as_os_str().as_bytes());
        assert!(!covers(&grants, &work.join("x"), Access::READ, Target::Object));
        // Back in its place, it counts again.
        std::fs::remove_dir(&work).unwrap();
        std::fs::rename(root.join("away"), &work).unwrap();
        grants.recheck();
        assert!(covers(&grants, &work.join("x"), Access::READ, Target::Object));
    }

    #[test]
    fn a_grant_goes_where_it_is_moved() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/deep")).unwrap();
        std::fs::create_dir_all(root.join("ab")).unwrap();
        let kind = HierarchyKind::Directory;
        let grants = grants(&root, &[("a/deep", Access::READ, kind), ("ab", Access::WRITE, kind)]);
        let path = |name: &str| root.join(name).as_os_str().as_bytes().to_vec();
        let along =
            |old: &str, new: &str| grants.along(&path(old), &path(new)).map(|it| it.0).collect::<Vec<_>>();
        let places = || grants.places().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(along("a", "x"), [path("x/deep")]);
        assert_eq!(places(), [path("a/deep"), path("ab")], "nothing has moved yet");
        grants.moved(&[(&path("a"), &path("x"))]);
        assert_eq!(places(), [path("x/deep"), path("ab")]);
        assert_eq!(along("a", "y"), Vec::<Vec<u8>>::new());
        assert_eq!(along("x/deep", "y"), [path("y")]);
        grants.moved(&[(&path("x"), &path("ab")), (&path("ab"), &path("x"))]);
        assert_eq!(places(), [path("ab/deep"), path("x")]);
        // Calls are left to the kernel by the names for which the grants were made.
        assert!(covers(&grants, &root.join("a/deep/f"), Access::READ, Target::Object));
        assert!(!covers(&grants, &root.join("x/f"), Access::WRITE, Target::Object));
    }

    #[test]
    fn a_link_is_no_hierarchy() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let held = [("link", Access::READ, HierarchyKind::Directory)];
        assert!(grants(&root, &held).is_empty());
    }
}
