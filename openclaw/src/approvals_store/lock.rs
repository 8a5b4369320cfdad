//! Lets one guard at a time change a store. OpenClaw up to 2026.7 takes no lock; the hash of the store reveals
//! OpenClaw's changes.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat};
use rustix::io::Errno;

use super::GUARD;
use super::directory::{Directory, StoreKind};

/// The file to lock. It cannot be the store itself, because each change replaces the store's file.
const LOCK: &str = "approvals.lock";

/// The lock, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _held: OwnedFd,
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// The error of the failed system call, or a sentence if the lock is not a regular file.
    pub fn acquire(directory: &Directory) -> io::Result<Lock> {
        let (lock, make) = (Path::new(GUARD).join(LOCK), OFlags::RDWR | OFlags::CREATE);
        let lock = match directory.kind() {
            StoreKind::OpenClaw => {
                directory.make(GUARD)?;
                lock.as_path()
            }
            StoreKind::Guard | StoreKind::Gateway => Path::new(LOCK),
        };
        let file = directory.below(lock, make, Mode::RUSR | Mode::WUSR)?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(format!("{} is not a regular file", lock.display())));
        }
        directory.hand_over(&file)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Lock { _held: file }),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
