//! Moves what was judged, and looks at what has arrived. The kernel moves whatever has the name, and processes outside
//! the tree may give the name to something else between judgement and call.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, RenameFlags, statat};
use rustix::io::Errno;

use crate::resolve::{DirEntry, Object, real_path};

/// A judged move of `old` to the name of `new`.
pub struct Move<'e> {
    old: &'e DirEntry,
    new: &'e DirEntry,
    flags: RenameFlags,
    judged: Option<FileType>,
}

impl<'e> Move<'e> {
    /// Closes what is replaced: NFS would rename an open file. What is moved stays open, so that the move can find out
    /// whether it has arrived.
    pub fn new(old: &'e DirEntry, new: &'e mut DirEntry, flags: RenameFlags) -> Move<'e> {
        if !flags.contains(RenameFlags::EXCHANGE) {
            new.object = None;
        }
        Move { old, new, flags, judged: old.object.as_ref().map(Object::kind) }
    }

    /// The old path and the new one.
    pub fn paths(&self) -> [&'e [u8]; 2] {
        [&self.old.path, &self.new.path]
    }

    /// Performs the move.
    ///
    /// # Errors
    /// The kernel's; ENOENT if something of another kind had the name, as if what was judged had been removed before.
    pub fn run(&self) -> Result<(), Errno> {
        let Move { old, new, flags, .. } = *self;
        rustix::fs::renameat_with(&old.parent, old.written(), &new.parent, new.written(), flags)?;
        if self.has_arrived() { Ok(()) } else { self.undo() }
    }

    /// Whether what has the new name is of the kind that was judged: a link would have needed more checks. The inode is
    /// not compared, because some file systems give another one to what they move (overlayfs, FUSE). An object that
    /// another call has moved, removed or replaced since counts as arrived, too: what is there now may be the
    /// operator's, and stays there.
    fn has_arrived(&self) -> bool {
        let Ok(there) = statat(&self.new.parent, &self.new.name[..], AtFlags::SYMLINK_NOFOLLOW) else {
            return true;
        };
        Some(FileType::from_raw_mode(there.st_mode)) == self.judged
            || self.old.object.as_ref().is_some_and(|moved| was_at(moved, self.new))
    }

    /// Moves back what was not judged. If that fails, removes it from the new name, unless it is a directory.
    fn undo(&self) -> Result<(), Errno> {
        let Move { old, new, flags, .. } = *self;
        let back = if flags.contains(RenameFlags::EXCHANGE) { flags } else { RenameFlags::NOREPLACE };
        let undone = rustix::fs::renameat_with(&new.parent, &new.name[..], &old.parent, &old.name[..], back);
        if undone.is_err() {
            // This call removes no directory.
            let _ = rustix::fs::unlinkat(&new.parent, &new.name[..], AtFlags::empty());
        }
        Err(Errno::NOENT)
    }
}

/// Whether `to` is the last name that the moved object had. If so, the object did arrive there, and something has replaced
/// it since.
fn was_at(moved: &Object, to: &DirEntry) -> bool {
    real_path(moved.fd.as_fd()).is_ok_and(|path| path == to.path)
}
