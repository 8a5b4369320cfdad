//! The steps in which a file is replaced: a store, a policy. A test stops at each of them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, fsync, renameat, unlinkat};
use rustix::io::Errno;

use super::directory::{Owner, below};

/// The mode of a store, and of every file until it is whole.
pub const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// What a writer asks of the disk, in this order; by default of the kernel.
pub trait Disk {
    /// A new file for its owner alone.
    fn create(&self, directory: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        below(directory, name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, PRIVATE)
    }

    /// Gives it the owner and mode of what it replaces.
    fn own(&self, file: &OwnedFd, owner: Owner, mode: Mode) -> io::Result<()> {
        let stat = fstat(file)?;
        let mut mode = mode;
        if (Owner { uid: stat.st_uid, gid: stat.st_gid }) != owner {
            match fchown(file, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid))) {
                // Then no group has rights to the file.
                Err(Errno::PERM) if stat.st_uid == owner.uid => mode -= Mode::RWXG,
                changed => changed?,
            }
        }
        // Whatever the mask took away.
        Ok(fchmod(file, mode)?)
    }

    /// Writes all of it.
    fn write(&self, file: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
        File::from(file.try_clone()?).write_all(bytes)
    }

    /// Waits until it would survive the loss of power.
    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        Ok(fsync(file)?)
    }

    /// Puts it in place of the old one.
    fn rename(&self, directory: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(directory, from, directory, to)?)
    }

    /// Waits until the new name would survive the loss of power.
    fn sync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        Ok(fsync(directory)?)
    }

    /// Takes a file away that is not needed.
    fn remove(&self, directory: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        Ok(unlinkat(directory, name, AtFlags::empty())?)
    }
}

/// The disk as it is.
#[derive(Clone, Copy, Debug)]
pub struct Kernel;

impl Disk for Kernel {}
