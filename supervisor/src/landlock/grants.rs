//! The hierarchies that the floor grants, and whether each is still in its place.
//!
//! A Landlock grant belongs to a directory, not to its name: a directory that is moved takes its grant along, and a new
//! one under the old name has none. So the tree may move a granted directory only to where the policy allows what the
//! grant gives, and the new place counts when the policy changes. The floor would refuse a recreated directory although
//! the policy allows it, so calls for it go to the broker.
//!
//! Others may move a granted directory anywhere. So each object is kept open, and its descriptor tells where it is now.
//!
//! Why: docs/decisions.md, "Each granted object is kept open, and its descriptor says where it is."

use std::path::PathBuf;
use std::sync::Arc;

use guard_policy::{Access, Hierarchy, HierarchyKind};
use guard_shim::landlock;
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};

use super::hierarchy_grant::{HierarchyGrant, PlacedGrant, kind_of, open};
use super::listing::Names;
use super::location::{Location, locate};
use crate::resolve::Identity;

/// Everything that the floor lets the kernel open.
#[derive(Debug, Default)]
pub struct Grants {
    /// What the policy allows as a whole, sorted by path.
    hierarchies: Vec<HierarchyGrant>,
    /// The roots of programs. The kernel opens programs for reading, so the floor allows reading below them.
    roots: Vec<HierarchyGrant>,
    /// Whether one of the hierarchies is a directory in which everything may be written.
    writes_in_directories: bool,
    /// The mounts, if they have changed since the start.
    mounts: Mutex<Option<Names>>,
}

/// The target of an access: an object, or an entry in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The object at the path, or one that may appear there.
    Object,
    /// The name itself, which belongs to the directory that contains it.
    Entry,
}

fn right(access: Access) -> Option<landlock::KernelAccess> {
    match (access.contains(Access::READ), access.contains(Access::WRITE)) {
        (true, true) => Some(landlock::KernelAccess::ReadWrite),
        (true, false) => Some(landlock::KernelAccess::Read),
        (false, true) => Some(landlock::KernelAccess::Write),
        (false, false) => None,
    }
}

impl Grants {
    /// Opens the hierarchies for the floor, at most `most` of them. Those that no longer exist, or have changed their
    /// type, are left out.
    pub fn open(hierarchies: Vec<Hierarchy>, most: usize) -> (Grants, Vec<landlock::PathGrant>) {
        let (mut grants, mut beneath) = (Vec::new(), Vec::new());
        for Hierarchy { path, access, kind } in hierarchies.into_iter().take(most) {
            let Some(right) = right(access) else { continue };
            let Ok((object, stat)) = open(&path) else { continue };
            if kind_of(&stat) != kind {
                continue;
            }
            let object = Arc::new(object);
            let is_directory = kind == HierarchyKind::Directory;
            beneath.push(landlock::PathGrant { beneath: Arc::clone(&object), is_directory, access: right });
            grants.push(HierarchyGrant::new(path, access, object, &stat));
        }
        grants.sort_by(|a, b| a.path.cmp(&b.path));
        let is_written = |grant: &HierarchyGrant| {
            grant.kind == HierarchyKind::Directory && grant.access.contains(Access::WRITE)
        };
        let writes_in_directories = grants.iter().any(is_written);
        (Grants { hierarchies: grants, writes_in_directories, ..Grants::default() }, beneath)
    }

    /// Adds the roots of programs. Those that do not exist are left out: no program can start below them.
    pub fn with_roots(self, roots: &[PathBuf]) -> Grants {
        let root = |path: &PathBuf| {
            // The floor follows links here.
            let object = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
            let stat = rustix::fs::fstat(&object).ok()?;
            let Location::At(path) = locate(&object, Identity::from_stat(&stat)) else { return None };
            Some(HierarchyGrant::new(path, Access::READ, Arc::new(object), &stat))
        };
        Grants { roots: roots.iter().filter_map(root).collect(), ..self }
    }

    /// Whether there are no hierarchies that the kernel may open by itself.
    pub fn is_empty(&self) -> bool {
        self.hierarchies.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &HierarchyGrant> {
        self.hierarchies.iter().chain(&self.roots)
    }

    /// Whether the floor lets the kernel write anything but single files, such as /dev/null.
    pub fn write_in_directories(&self) -> bool {
        self.writes_in_directories
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
        self.made_at(path).filter(|grant| !grant.is_lost())
    }

    /// The root of programs around a path, if only roots are around it of which another directory has the path by now: the
    /// kernel starts nothing there.
    pub fn lost_root(&self, path: &[u8]) -> Option<&[u8]> {
        let mut lost = None;
        for root in self.roots.iter().filter(|root| moved(path, &root.path, &root.path).is_some()) {
            // It may have come back.
            let stays_lost = root.is_lost() && {
                root.recheck();
                root.is_lost()
            };
            if !stays_lost {
                return None;
            }
            lost = Some(&root.path[..]);
        }
        lost
    }

    /// The grant that was made for exactly this path.
    fn made_at(&self, path: &[u8]) -> Option<&HierarchyGrant> {
        let at = self.hierarchies.binary_search_by(|grant| grant.path.as_slice().cmp(path)).ok()?;
        Some(&self.hierarchies[at])
    }

    /// Whether a grant was made for exactly this path.
    pub fn begin_at(&self, path: &[u8]) -> bool {
        self.made_at(path).is_some()
    }

    /// How many hierarchies are granted.
    pub fn len(&self) -> usize {
        self.hierarchies.len()
    }

    /// All grants, and the roots of programs.
    pub fn iter(&self) -> impl Iterator<Item = PlacedGrant<'_>> {
        let is_mounted_over = |location: &Location| match (&*self.mounts.lock(), location) {
            (Some(mounts), Location::At(path)) => mounts.are_below(path),
            _ => false,
        };
        let hierarchies = self.hierarchies.iter().map(HierarchyGrant::granted).map(move |granted| {
            PlacedGrant { is_mounted_over: is_mounted_over(&granted.location), ..granted }
        });
        let roots = self.roots.iter().map(HierarchyGrant::granted);
        hierarchies.chain(roots.map(|root| PlacedGrant { is_root: true, ..root }))
    }

    /// Looks at what is mounted now.
    pub fn look_at_mounts(&self) {
        *self.mounts.lock() = Some(Names::read());
    }

    /// The grants that move along if the tree moves `old` to `new`, each with its new path.
    pub fn along<'g>(
        &'g self,
        old: &'g [u8],
        new: &'g [u8],
    ) -> impl Iterator<Item = (Vec<u8>, PlacedGrant<'g>)> {
        self.iter().filter_map(move |granted| match &granted.location {
            Location::At(path) => Some((moved(path, old, new)?, granted)),
            Location::Gone | Location::Unknown => None,
        })
    }

    /// Checks the grants again, after something at or below `path` was moved or removed.
    pub fn recheck_below(&self, path: &[u8]) {
        let is_below = |place: &[u8]| moved(place, path, path).is_some();
        for grant in self.all() {
            let is_elsewhere = matches!(&*grant.location.lock(), Location::At(now) if !is_below(now));
            if is_below(&grant.path) || !is_elsewhere {
                grant.recheck();
            }
        }
    }

    /// Checks whether each grant is still in place, and where its object is. Returns whether one is elsewhere than
    /// before.
    pub fn recheck(&self) -> bool {
        self.all().fold(false, |is_changed, grant| grant.recheck() | is_changed)
    }

    /// Closes the objects in a process that does not watch them: they would keep file systems busy.
    pub fn close(&self) {
        self.all().for_each(HierarchyGrant::close);
    }
}

/// The new name of `path` after `old` is renamed to `new`; `None` if `path` is neither `old` nor below it.
fn moved(path: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(old).filter(|rest| rest.is_empty() || rest[0] == b'/')?;
    Some([new, rest].concat())
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
        Grants::open(all.iter().map(hierarchy).collect(), 10).0
    }

    fn covers(grants: &Grants, path: &Path, access: Access, reach: Target) -> bool {
        grants.cover(path.as_os_str().as_bytes(), access, reach)
    }

    #[test]
    fn a_root_is_lost_when_another_directory_has_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (work, inner) = (root.join("work"), root.join("work/inner"));
        std::fs::create_dir_all(&inner).unwrap();
        let program = inner.join("x");
        let lost = |grants: &Grants| grants.lost_root(program.as_os_str().as_bytes()).map(<[u8]>::to_vec);
        let grants = Grants::default().with_roots(std::slice::from_ref(&work));
        let both = Grants::default().with_roots(&[work.clone(), root.clone()]);
        assert_eq!(lost(&grants), None);
        std::fs::rename(&work, root.join("old")).unwrap();
        std::fs::create_dir_all(&inner).unwrap();
        grants.recheck();
        assert_eq!(lost(&grants), Some(work.clone().into_os_string().into_encoded_bytes()));
        both.recheck();
        assert_eq!(lost(&both), None, "the root around it is in place");
        std::fs::rename(&work, root.join("new")).unwrap();
        std::fs::rename(root.join("old"), &work).unwrap();
        assert_eq!(lost(&grants), None, "it has come back");
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
        let (grants, beneath) = Grants::open(vec![everything], 1);
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
        let places = || {
            grants
                .iter()
                .map(|granted| match granted.location {
                    Location::At(path) => path,
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(along("a", "x"), [path("x/deep")]);
        assert_eq!(places(), [path("a/deep"), path("ab")], "nothing has moved yet");
        std::fs::rename(root.join("a"), root.join("x")).unwrap();
        grants.recheck_below(&path("a"));
        assert_eq!(places(), [path("x/deep"), path("ab")]);
        assert_eq!(along("a", "y"), Vec::<Vec<u8>>::new());
        assert_eq!(along("x/deep", "y"), [path("y")]);
        // Calls are left to the kernel by the names for which the grants were made.
        assert!(covers(&grants, &root.join("ab/f"), Access::WRITE, Target::Object));
        assert!(!covers(&grants, &root.join("x/deep/f"), Access::READ, Target::Object));
    }

    #[test]
    fn what_others_move_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["a/deep", "b", "root"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let path = |name: &str| root.join(name).as_os_str().as_bytes().to_vec();
        let kind = HierarchyKind::Directory;
        let all = [("a/deep", Access::READ, kind), ("b", Access::WRITE, kind)];
        let grants = grants(&root, &all).with_roots(&[root.join("root"), root.join("none")]);
        let locations = || grants.iter().map(|granted| granted.location).collect::<Vec<_>>();
        let at = |name: &str| Location::At(path(name));
        assert_eq!(locations(), [at("a/deep"), at("b"), at("root")]);
        assert!(!grants.recheck());
        std::fs::rename(root.join("a"), root.join("c")).unwrap();
        std::fs::rename(root.join("root"), root.join("a")).unwrap();
        std::fs::remove_dir(root.join("b")).unwrap();
        assert!(grants.recheck() && !grants.recheck());
        assert_eq!(locations(), [at("c/deep"), Location::Gone, at("a")]);
        // An exchange.
        std::fs::rename(root.join("a"), root.join("x")).unwrap();
        std::fs::rename(root.join("c"), root.join("a")).unwrap();
        std::fs::rename(root.join("x"), root.join("c")).unwrap();
        grants.recheck_below(&path("a"));
        grants.recheck_below(&path("c"));
        assert_eq!(locations(), [at("a/deep"), Location::Gone, at("c")]);
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
