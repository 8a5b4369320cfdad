//! One object that the floor grants, and whether it is still in its place.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_policy::{Access, HierarchyKind};
use parking_lot::Mutex;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::location::{Location, locate};
use crate::resolve::Identity;

/// A granted hierarchy or file.
#[derive(Debug)]
pub(super) struct HierarchyGrant {
    pub(super) path: Vec<u8>,
    pub(super) access: Access,
    pub(super) kind: HierarchyKind,
    identity: Identity,
    /// The object; `None` in the guard's other processes.
    object: Mutex<Option<Arc<OwnedFd>>>,
    /// Where the object is, as far as it is known.
    pub(super) location: Mutex<Location>,
    /// Whether something else, or nothing, is at its path now.
    is_lost: AtomicBool,
}

/// A grant, and where its object is now.
#[derive(Clone, Debug)]
pub struct PlacedGrant<'g> {
    /// The path for which the grant was made.
    pub path: &'g [u8],
    /// What it grants.
    pub access: Access,
    /// Whether it is a directory.
    pub kind: HierarchyKind,
    /// Where it is now.
    pub location: Location,
    /// Whether it is a root of programs. Calls are not left to the kernel because of it.
    pub is_root: bool,
    /// Whether a file system of the kernel was mounted there since. A grant covers what is mounted below it, too.
    pub is_mounted_over: bool,
}

/// Opens the object at a real path; fails if the path contains a link.
pub(super) fn open(path: &[u8]) -> Result<(OwnedFd, rustix::fs::Stat), Errno> {
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), no_links)?;
    let stat = rustix::fs::fstat(&file)?;
    Ok((file, stat))
}

pub(super) fn kind_of(stat: &rustix::fs::Stat) -> HierarchyKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => HierarchyKind::Directory,
        _ => HierarchyKind::File,
    }
}

impl HierarchyGrant {
    pub(super) fn new(
        path: Vec<u8>,
        access: Access,
        object: Arc<OwnedFd>,
        stat: &rustix::fs::Stat,
    ) -> HierarchyGrant {
        HierarchyGrant {
            location: Mutex::new(Location::At(path.clone())),
            path,
            access,
            kind: kind_of(stat),
            identity: Identity::from_stat(stat),
            object: Mutex::new(Some(object)),
            is_lost: AtomicBool::new(false),
        }
    }

    pub(super) fn granted(&self) -> PlacedGrant<'_> {
        let HierarchyGrant { path, access, kind, .. } = self;
        let location = self.location.lock().clone();
        PlacedGrant { path, access: *access, kind: *kind, location, is_root: false, is_mounted_over: false }
    }

    /// Whether something else, or nothing, was at its path at the last check.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Closes the object.
    pub(super) fn close(&self) {
        drop(self.object.lock().take());
    }

    /// Checks where the object is, and whether it is still at its path. Returns whether it is elsewhere than before.
    pub(super) fn recheck(&self) -> bool {
        let is_changed = self.relocate();
        let is_held = self.object.lock().is_some();
        // The path may be on a network file system: nobody waits for the location meanwhile.
        let location = self.location.lock().clone();
        let stands = match location {
            // Nothing else can be where the kernel has just said that the object is.
            Location::At(now) if is_held && now == self.path => true,
            // What is at the path may have the same number: a server gives it out again at once.
            Location::Gone if is_held => false,
            _ => open(&self.path).is_ok_and(|(_, stat)| Identity::from_stat(&stat) == self.identity),
        };
        self.is_lost.store(!stands, Ordering::Relaxed);
        is_changed
    }

    /// Asks the kernel where the object is. Returns whether that has changed.
    fn relocate(&self) -> bool {
        // Locked throughout: of two threads that ask at once, the later answer stays.
        let object = self.object.lock();
        let Some(object) = &*object else { return false };
        let now = locate(object, self.identity);
        std::mem::replace(&mut *self.location.lock(), now.clone()) != now
    }
}
