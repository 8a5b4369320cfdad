//! What lies in a directory that is to be moved. The names in it get new paths, where programs may look for them, and its old
//! place will be free.

use std::os::fd::{AsFd, OwnedFd};

use guard_policy::{Policy, Shape};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::anchored_path::{AnchoredPath, parent_of};
use super::git_look::Look;
use super::listing::names_at_most;
use super::shapes::Shapes;
use crate::caller::PATH_MAX;
use crate::resolve::Object;

/// How many names the guard looks at below a directory that is to be moved. A directory with more names stays. A name with a long
/// path counts as several, because the guard looks at the whole path.
const MAX_NAMES: usize = 200_000;
/// How deep the guard looks into directories.
const MAX_DEPTH: usize = 128;

/// A directory that is to be moved.
struct MovedDirectory<'a, 'p> {
    shapes: &'a Shapes<'p>,
    open: &'a Object,
    old: &'a [u8],
    new: AnchoredPath<'a>,
    must_have_no_link: bool,
    /// What a package ships may be the tree's in a directory of packages, and is protected elsewhere.
    leaves_packages: bool,
    /// How many more names may be looked at.
    left: usize,
}

/// A directory on the way down, whose own directories are still to be looked into.
struct Level {
    /// The length of its path below the moved directory.
    length: usize,
    is_own: bool,
    directories: Vec<Vec<u8>>,
}

impl Shapes<'_> {
    /// Whether a directory contains nothing that is protected, and no link that would lead to something of the
    /// operator's from the directory's new path. With `must_have_no_link`, it may contain no link at all. False if this
    /// cannot be found out.
    pub(super) fn is_free(
        &self,
        top: AnchoredPath<'_>,
        new: AnchoredPath<'_>,
        must_have_no_link: bool,
    ) -> bool {
        let Some(open) = top.object else { return false };
        let leaves_packages = Policy::lies_in_packages(top.path) && !Policy::lies_in_packages(new.path);
        let old = top.path;
        let mut directory = MovedDirectory {
            shapes: self,
            open,
            old,
            new,
            must_have_no_link,
            leaves_packages,
            left: MAX_NAMES,
        };
        directory.is_free()
    }
}

impl MovedDirectory<'_, '_> {
    fn is_free(&mut self) -> bool {
        let mut below = b".".to_vec();
        let Some(top) = self.look_into(&below, &[]) else { return false };
        let mut levels = vec![top];
        while let Some(level) = levels.last_mut() {
            below.truncate(level.length);
            let Some(name) = level.directories.pop() else {
                levels.pop();
                continue;
            };
            below.push(b'/');
            below.extend(name);
            match self.look_into(&below, &levels) {
                Some(level) if levels.len() <= MAX_DEPTH => levels.push(level),
                _ => return false,
            }
        }
        true
    }

    /// Looks at the names in the directory at `below`, which lies in those of the levels above. `None` if one of them keeps the
    /// directory where it is.
    fn look_into(&mut self, below: &[u8], above: &[Level]) -> Option<Level> {
        let open = self.open_below(below).ok()?;
        let longest = self.old.len().max(self.new.path.len()) + below.len();
        let cost = longest.div_ceil(PATH_MAX).max(1);
        let names = names_at_most(open.as_fd(), self.left / cost)?;
        self.left -= names.len() * cost;
        let has = |searched: &[u8]| names.iter().any(|(name, _)| name == searched);
        let look = Look(has);
        let is_own = self.shapes.own_directories().contains_open(open.as_fd());
        if look.is_repository() && look.is_configured() && !is_own {
            return None;
        }
        let mut level = Level { length: below.len(), is_own, directories: Vec::new() };
        for (name, kind) in names {
            let below = [below, b"/", &*name].concat();
            let inside = below.get(1..).unwrap_or_default();
            let path = [self.old, inside].concat();
            let place = AnchoredPath::named(&path, open.as_fd());
            let new = [self.new.path, inside].concat();
            let is_free = self.may_move(place, (&new, &below), kind)
                && (!self.leaves_packages || self.may_leave_packages(&new, kind, above, is_own));
            if !is_free {
                return None;
            }
            if kind == FileType::Directory {
                level.directories.push(name);
            }
        }
        Some(level)
    }

    /// Opens a directory to list it.
    fn open_below(&self, below: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.open.fd, below, flags, Mode::empty(), within)
    }

    /// Whether a name may leave its place for the new path. `below` is its path in the moved directory.
    fn may_move(&self, place: AnchoredPath<'_>, (new, below): (&[u8], &[u8]), kind: FileType) -> bool {
        let policy = self.shapes.policy;
        if self.must_have_no_link && matches!(kind, FileType::Symlink | FileType::Unknown) {
            return false;
        }
        if kind == FileType::Symlink && !self.shapes.may_take_link(self.new.path, below, place) {
            return false;
        }
        if kind == FileType::Socket && !self.may_displace(place) {
            return false;
        }
        let is_directory = kind == FileType::Directory;
        let is_protected = |shape: &Shape<'_>| {
            let is_for_files = is_directory && shape.kind.is_file();
            !is_for_files && !self.shapes.is_the_trees(shape, place)
        };
        self.may_take_file(new, place, kind) && !policy.shapes(place.path).iter().any(is_protected)
    }

    /// Whether a name may be where it would then be protected: only in a directory of the tree's. `is_own` says whether the tree
    /// has made the directory around it.
    fn may_leave_packages(&self, new: &[u8], kind: FileType, above: &[Level], is_own: bool) -> bool {
        let policy = self.shapes.policy;
        let made = self.shapes.own_directories();
        let is_own = |holder: &[u8]| {
            let Some(rest) = holder.strip_prefix(self.new.path) else {
                return made.has_above(self.new, holder);
            };
            let depth = rest.iter().filter(|byte| **byte == b'/').count();
            above.get(depth).map_or(is_own, |level| level.is_own)
        };
        let may_be = |shape: &Shape<'_>| {
            let is_for_files = kind == FileType::Directory && shape.kind.is_file();
            // A link does not hold files itself: its directory counts.
            let holder = if shape.holder == new { parent_of(new) } else { shape.holder };
            is_for_files || is_own(holder)
        };
        let is_link = matches!(kind, FileType::Symlink | FileType::Unknown);
        policy.shapes(new).iter().all(may_be)
            && (!is_link || policy.leads_to_shape(new).as_ref().is_none_or(may_be))
    }

    /// Whether a file may get its new path. A file that also has another name may not get a protected path: the tree
    /// could write the file by the other name later.
    fn may_take_file(&self, new: &[u8], file: AnchoredPath<'_>, kind: FileType) -> bool {
        let is_named = || !self.shapes.policy.shapes(new).is_empty();
        if matches!(kind, FileType::Directory | FileType::Symlink) || !is_named() {
            return true;
        }
        file.stat_in(parent_of(file.path), file.name()).is_ok_and(|stat| stat.st_nlink == 1)
    }

    /// Whether the socket at a place may go away, so that the tree can put its own in its place.
    fn may_displace(&self, place: AnchoredPath<'_>) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let open =
            |parent: OwnedFd| rustix::fs::openat2(parent, place.name(), flags, Mode::empty(), no_links);
        match place.parent().and_then(open) {
            Ok(socket) => Object::from_fd(socket).is_ok_and(|socket| {
                self.shapes.created.sockets.may_displace(self.shapes.policy, &socket, place.path)
            }),
            Err(error) => error == Errno::NOENT,
        }
    }
}
