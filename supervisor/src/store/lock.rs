//! One guard at a time changes the store. OpenClaw up to 2026.7 takes no lock: its changes are noticed by the hash.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, fchown, flock, fstat, mkdirat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::directory::Directory;

/// The guard's own directory in the state directory.
const GUARD: &str = "guard";

/// Not the store itself: that is replaced by each change.
const LOCK: &str = "guard/approvals.lock";

/// Held until it is dropped, or the process ends.
#[derive(Debug)]
pub struct Lock {
    _held: OwnedFd,
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take(directory: &Directory) -> io::Result<Lock> {
        match mkdirat(directory, GUARD, Mode::RWXU) {
            Ok(()) => {
                let made = directory.below(GUARD, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
                hand_over(directory, &made)?;
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let file = directory.below(LOCK, OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR)?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(format!("{LOCK} is no plain file")));
        }
        hand_over(directory, &file)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Lock { _held: file }),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What root makes in a user's state directory is the user's, whose guards would be locked out.
fn hand_over(directory: &Directory, made: &OwnedFd) -> io::Result<()> {
    let owner = directory.owner()?;
    if geteuid().is_root() && fstat(made)?.st_uid != owner.uid {
        fchown(made, Some(rustix::fs::Uid::from_raw(owner.uid)), Some(rustix::fs::Gid::from_raw(owner.gid)))?;
    }
    Ok(())
}
