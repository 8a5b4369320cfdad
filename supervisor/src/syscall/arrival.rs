//! Moves what was judged, and looks at what has arrived. The kernel moves what has the name, and processes outside the tree may
//! give the name to something else between judgement and call: `rename` puts a directory in the place of an empty one.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, RenameFlags, Stat, statat};
use rustix::io::Errno;

use super::{Request, socket_names};
use crate::resolve::{DirEntry, Identity, Object, real_path};

/// A judged move of `old` to the name of `new`.
pub struct Move<'e> {
    old: &'e DirEntry,
    new: &'e DirEntry,
    flags: RenameFlags,
    judged: [Option<FileType>; 2],
    /// Whether both names lead to one file: then the kernel does nothing.
    is_same: bool,
}

impl<'e> Move<'e> {
    /// Closes what is replaced: NFS would rename an open file. What is moved stays open: by that the move finds out whether it
    /// has arrived.
    pub fn new(old: &'e DirEntry, new: &'e mut DirEntry, flags: RenameFlags) -> Move<'e> {
        let kind = |entry: &DirEntry| entry.object.as_ref().map(Object::kind);
        let judged = [kind(old), kind(new)];
        let identity =
            |entry: &DirEntry| entry.object.as_ref().map(|object| Identity::from_stat(&object.stat));
        let is_same = identity(old) == identity(new);
        if !flags.contains(RenameFlags::EXCHANGE) {
            new.object = None;
        }
        Move { old, new, flags, judged, is_same }
    }

    /// Moves it.
    ///
    /// # Errors
    /// The kernel's; ENOENT if something else had the name, as if what was judged had been removed before.
    pub fn run(&self, request: &Request<'_, '_>) -> Result<(), Errno> {
        let Move { old, new, flags, .. } = *self;
        if self.may_meet_socket() {
            socket_names::replace(request, old, new)?;
        } else {
            rustix::fs::renameat_with(&old.parent, old.written(), &new.parent, new.written(), flags)?;
        }
        let is_exchange = flags.contains(RenameFlags::EXCHANGE);
        let has_arrived =
            arrived(old, new, self.judged[0]) && (!is_exchange || arrived(new, old, self.judged[1]));
        if has_arrived { Ok(()) } else { self.undo() }
    }

    /// Whether a socket may be what loses its name. A directory takes none away.
    fn may_meet_socket(&self) -> bool {
        let [moved, replaced] = self.judged;
        self.flags.is_empty()
            && !self.is_same
            && moved != Some(FileType::Directory)
            && replaced.is_none_or(|kind| kind == FileType::Socket)
    }

    /// Moves back what was not judged, also if the tree has made a file in its place meanwhile, which takes no lock. Nothing that
    /// was not judged is kept under the new name, except a directory that cannot go back.
    fn undo(&self) -> Result<(), Errno> {
        let Move { old, new, flags, .. } = *self;
        let back =
            |flags| rustix::fs::renameat_with(&new.parent, &new.name[..], &old.parent, &old.name[..], flags);
        let is_exchange = flags.contains(RenameFlags::EXCHANGE);
        let undone = back(if is_exchange { flags } else { RenameFlags::NOREPLACE });
        if undone.is_err() {
            let _ = back(RenameFlags::EXCHANGE);
            // It removes no directory.
            let _ = rustix::fs::unlinkat(&new.parent, &new.name[..], AtFlags::empty());
        }
        Err(Errno::NOENT)
    }
}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Whether what has the name `to` now is what was judged at `from`: of that kind, since a link is judged by more, and the same
/// directory or socket, which are judged by what they contain and by who serves them. What another call has moved or removed
/// since has arrived.
fn arrived(from: &DirEntry, to: &DirEntry, judged: Option<FileType>) -> bool {
    let Ok(there) = statat(&to.parent, &to.name[..], AtFlags::SYMLINK_NOFOLLOW) else { return true };
    let kind = kind_of(&there);
    if Some(kind) != judged {
        return false;
    }
    match (&from.object, kind) {
        (Some(moved), FileType::Directory | FileType::Socket) => is_it(moved, &there) || was_at(moved, to),
        _ => true,
    }
}

/// Whether the file that was found is this one. Both are asked for now: some file systems give another inode number to what
/// they move (overlayfs, FUSE).
fn is_it(moved: &Object, there: &Stat) -> bool {
    let now = rustix::fs::fstat(&moved.fd);
    now.is_ok_and(|now| Identity::from_stat(&now) == Identity::from_stat(there))
}

/// Whether this is the last name that it had: then it did arrive, and something has replaced it since.
fn was_at(moved: &Object, to: &DirEntry) -> bool {
    real_path(moved.fd.as_fd()).is_ok_and(|path| path == to.path)
}
