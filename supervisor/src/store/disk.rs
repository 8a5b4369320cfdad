//! The steps in which a store is replaced. A test stops at each of them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, fsync, renameat, unlinkat};
use rustix::io::Errno;

use super::directory::{Directory, Owner};

/// What a writer asks of the disk, in this order; by default of the kernel.
pub trait Disk {
    /// A new file for its owner alone.
    fn create(&self, directory: &Directory, name: &str) -> io::Result<OwnedFd> {
        directory.below(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR)
    }

    /// Gives it the owner and mode of a store.
    fn own(&self, file: &OwnedFd, owner: Owner) -> io::Result<()> {
        let stat = fstat(file)?;
        if (Owner { uid: stat.st_uid, gid: stat.st_gid }) != owner {
            match fchown(file, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid))) {
                // The group has no rights to the file.
                Err(Errno::PERM) if stat.st_uid == owner.uid => {}
                changed => changed?,
            }
        }
        // Whatever the mask took away.
        Ok(fchmod(file, Mode::RUSR | Mode::WUSR)?)
    }

    /// Writes all of it.
    fn write(&self, file: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
        File::from(file.try_clone()?).write_all(bytes)
    }

    /// Waits until it would survive the loss of power.
    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        Ok(fsync(file)?)
    }

    /// Puts it in place of the store.
    fn rename(&self, directory: &Directory, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(directory, from, directory, to)?)
    }

    /// Waits until the new name would survive the loss of power.
    fn sync_directory(&self, directory: &Directory) -> io::Result<()> {
        Ok(fsync(directory)?)
    }

    /// Takes a file away that is not needed.
    fn remove(&self, directory: &Directory, name: &str) -> io::Result<()> {
        Ok(unlinkat(directory, name, AtFlags::empty())?)
    }
}

/// The disk as it is.
#[derive(Clone, Copy, Debug)]
pub struct Kernel;

impl Disk for Kernel {}
