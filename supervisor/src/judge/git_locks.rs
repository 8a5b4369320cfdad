//! The locks of git configurations that the tree has made in this session.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::resolve::{Identity, link_to};

/// How many locks there may be at a time. git makes one lock, and removes it within the same command.
const MAX_LOCKS: usize = 64;

/// A lock. The guard holds it open with O_PATH, so that no other file gets its inode number.
#[derive(Debug)]
struct OwnLock {
    file: OwnedFd,
    identity: Identity,
}

impl OwnLock {
    fn is_removed(&self) -> bool {
        rustix::fs::fstat(&self.file).map_or(true, |stat| stat.st_nlink == 0)
    }
}

/// The locks that the tree made. Any other lock belongs to a git of the operator's that is running or has died. The
/// tree must not put another file in the place of such a lock: the operator's git would rename that file to the
/// configuration.
#[derive(Debug, Default)]
pub struct GitLocks(Mutex<Vec<OwnLock>>);

impl GitLocks {
    /// Checks that the tree may make one more lock.
    ///
    /// # Errors
    /// ENOLCK if there are too many locks.
    pub fn need_room(&self) -> Result<(), Errno> {
        let mut locks = self.0.lock();
        locks.retain(|lock| !lock.is_removed());
        if locks.len() < MAX_LOCKS { Ok(()) } else { Err(Errno::NOLCK) }
    }

    /// Remembers the file that was just made.
    ///
    /// # Errors
    /// If it cannot be held open.
    pub fn record(&self, made: BorrowedFd<'_>) -> Result<(), Errno> {
        let file = rustix::fs::open(link_to(made), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let identity = Identity::from_stat(&rustix::fs::fstat(file.as_fd())?);
        self.0.lock().push(OwnLock { file, identity });
        Ok(())
    }

    /// Whether a file is one of these locks.
    pub fn contains(&self, file: Identity) -> bool {
        self.0.lock().iter().any(|lock| lock.identity == file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_recorded_counts_and_there_is_a_bound() {
        let directory = tempfile::tempdir().unwrap();
        let locks = GitLocks::default();
        let make = |name: &str| std::fs::File::create(directory.path().join(name)).unwrap();
        let identity = |file: &std::fs::File| Identity::from_stat(&rustix::fs::fstat(file).unwrap());
        let (own, other) = (make("own"), make("other"));
        locks.record(own.as_fd()).unwrap();
        assert!(locks.contains(identity(&own)) && !locks.contains(identity(&other)));
        for number in 1..MAX_LOCKS {
            locks.need_room().unwrap();
            locks.record(make(&format!("{number}")).as_fd()).unwrap();
        }
        assert_eq!(locks.need_room(), Err(Errno::NOLCK));
        // A lock that is gone makes room for another, and its inode number is free again.
        let gone = identity(&own);
        drop(own);
        std::fs::remove_file(directory.path().join("own")).unwrap();
        locks.need_room().unwrap();
        assert!(!locks.contains(gone));
    }
}
