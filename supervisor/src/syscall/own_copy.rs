//! Puts the bytes that were judged in place of a file, whatever becomes of the file that they were read from.
//!
//! The tree may still hold that file open, mapped or under another name. So that file never takes the place of the
//! other: the guard writes the bytes to a file of its own, under a name that the tree can neither make nor write, and
//! renames that.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Timespec, Timestamps, UTIME_OMIT, Uid,
};
use rustix::io::Errno;

use super::Request;
use crate::kernel::errno::from_io;
use crate::resolve::{DirEntry, Identity, Object, link_to};

/// Reads a file to its end, once, but at most `max` + 1 bytes: the extra byte shows that there is more.
pub fn read(object: &Object, max: usize) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(link_to(object.fd.as_fd()), flags, Mode::empty())?);
    let mut bytes = Vec::new();
    let read = file.take(max as u64 + 1).read_to_end(&mut bytes);
    read.map_err(from_io)?;
    Ok(bytes)
}

/// The guard's own file in a directory.
pub struct OwnCopy<'d> {
    /// The directory.
    pub parent: &'d rustix::fd::OwnedFd,
    /// The name of the guard's file there, which the tree can neither make nor write.
    pub name: &'d [u8],
    /// How it is renamed.
    pub flags: RenameFlags,
    /// The time of change that the file gets, if not now.
    pub modified: Option<Timespec>,
}

impl OwnCopy<'_> {
    /// Writes the bytes with this mode, and gives the file the name `target`, in place of what has it. With `owner`,
    /// the file gets the owner and group of that object.
    ///
    /// # Errors
    /// The kernel's; nothing has changed then.
    pub fn put(&self, bytes: &[u8], mode: u32, owner: Option<&Object>, target: &[u8]) -> Result<(), Errno> {
        let put = self.write(bytes, Mode::from_raw_mode(mode), owner);
        let put = put.and_then(|()| {
            rustix::fs::renameat_with(self.parent, self.name, self.parent, target, self.flags)
        });
        if put.is_err() {
            let _ = rustix::fs::unlinkat(self.parent, self.name, AtFlags::empty());
        }
        put
    }

    fn write(&self, bytes: &[u8], mode: Mode, owner: Option<&Object>) -> Result<(), Errno> {
        let made = match self.make() {
            // A guard that was killed left it.
            Err(Errno::EXIST) => {
                rustix::fs::unlinkat(self.parent, self.name, AtFlags::empty())?;
                self.make()
            }
            made => made,
        };
        let mut file = File::from(made?);
        file.write_all(bytes).map_err(from_io)?;
        owner.map_or(Ok(()), |owner| chown_like(file.as_fd(), owner))?;
        rustix::fs::fchmod(&file, mode)?;
        let Some(last_modification) = self.modified else { return Ok(()) };
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        rustix::fs::futimens(&file, &Timestamps { last_access, last_modification })
    }

    fn make(&self) -> Result<rustix::fd::OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(self.parent, self.name, flags, Mode::RUSR | Mode::WUSR, links)
    }
}

/// Gives a new file the owner and group of another.
fn chown_like(file: BorrowedFd<'_>, owner: &Object) -> Result<(), Errno> {
    let (new, old) = (rustix::fs::fstat(file)?, &owner.stat);
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid) {
        return Ok(());
    }
    rustix::fs::fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)))
}

/// Removes the tree's file, if it is still the one that was judged.
pub fn remove_judged(request: &Request<'_, '_>, entry: &DirEntry) -> Result<(), Errno> {
    let there = rustix::fs::statat(&entry.parent, &entry.name[..], AtFlags::SYMLINK_NOFOLLOW);
    let judged = Identity::from_stat(&entry.there()?.stat);
    if there.is_ok_and(|stat| Identity::from_stat(&stat) == judged) {
        rustix::fs::unlinkat(&entry.parent, &entry.name[..], AtFlags::empty())?;
    }
    request.guard.floor.grants().recheck_below(&entry.path);
    Ok(())
}
