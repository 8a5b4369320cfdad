//! The steps of replacing a file, such as a store or a policy. A test can stop a writer at each step.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, fsync, renameat, unlinkat};
use rustix::io::Errno;

use super::directory::{Owner, below};

/// The mode of a store, and of every file until it is complete.
pub const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The steps of a writer, in their order. Each one makes its system calls unless a test replaces it.
pub trait Disk {
    /// Creates a file that only its owner can access.
    fn create(&self, directory: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        below(directory, name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, PRIVATE)
    }

    /// Gives the file an owner and a mode: those of the file that it replaces.
    fn own(&self, file: &OwnedFd, owner: Owner, mode: Mode) -> io::Result<()> {
        let stat = fstat(file)?;
        let mut mode = mode;
        if (Owner { uid: stat.st_uid, gid: stat.st_gid }) != owner {
            match fchown(file, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid))) {
                // The group cannot be set, so it gets no rights.
                Err(Errno::PERM) if stat.st_uid == owner.uid => mode -= Mode::RWXG,
                changed => changed?,
            }
        }
        // Sets the bits that the umask removed.
        Ok(fchmod(file, mode)?)
    }

    /// Writes all bytes.
    fn write(&self, file: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
        File::from(file.try_clone()?).write_all(bytes)
    }

    /// Waits until the content would survive a loss of power.
    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        Ok(fsync(file)?)
    }

    /// Renames the file to replace the old one.
    fn rename(&self, directory: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(directory, from, directory, to)?)
    }

    /// Waits until the new name would survive a loss of power.
    fn sync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        Ok(fsync(directory)?)
    }

    /// Removes a file that is not needed.
    fn remove(&self, directory: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        Ok(unlinkat(directory, name, AtFlags::empty())?)
    }
}

/// The real disk.
#[derive(Clone, Copy, Debug)]
pub struct Kernel;

impl Disk for Kernel {}
