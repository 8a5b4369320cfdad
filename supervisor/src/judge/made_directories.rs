//! The directories that the tree has made in this session, and the files with the name `.git`.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};

use super::anchored_path::{AnchoredPath, open_directory};

/// How many are remembered, about 3 MiB. Those made later count as the operator's, which protects more.
const MAX_DIRECTORIES: usize = 1 << 16;

/// A directory that no later one is taken for: the kernel gives inode numbers out again, but not with the same time
/// of birth, unless it is within one tick (10 ms at most).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Born {
    device: (u32, u32),
    inode: u64,
    seconds: i64,
    nanoseconds: u32,
}

impl Born {
    /// Returns `None` where the file system does not record when a file was made.
    fn read(directory: BorrowedFd<'_>) -> Option<Born> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let stat = rustix::fs::statx(directory, "", flags, StatxFlags::INO | StatxFlags::BTIME).ok()?;
        (stat.stx_mask & StatxFlags::BTIME.bits() != 0).then_some(Born {
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            seconds: stat.stx_btime.tv_sec,
            nanoseconds: stat.stx_btime.tv_nsec,
        })
    }
}

/// The directories that the tree has made in this session, as far as they are remembered.
#[derive(Debug, Default)]
pub struct MadeDirectories(Mutex<HashSet<Born>>);

impl MadeDirectories {
    /// Remembers the directory that was just made under a name. The caller holds the lock that every call of the tree
    /// needs to move another one there.
    pub fn record(&self, parent: BorrowedFd<'_>, name: &[u8]) {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(made) = rustix::fs::openat(parent, name, flags, Mode::empty()) {
            self.record_open(made.as_fd());
        }
    }

    /// Remembers what was just made and is open.
    pub fn record_open(&self, made: BorrowedFd<'_>) {
        let Some(born) = Born::read(made) else { return };
        let mut directories = self.0.lock();
        if directories.len() < MAX_DIRECTORIES {
            directories.insert(born);
        }
    }

    /// Returns whether the directory at a real path is one of them. One that cannot be opened is not.
    pub fn contains(&self, path: &[u8]) -> bool {
        if self.0.lock().is_empty() {
            return false;
        }
        open_directory(CWD, path).is_ok_and(|directory| self.contains_open(directory.as_fd()))
    }

    /// Returns whether a directory that a place is in is one of them. One that cannot be opened is not.
    pub fn has_above(&self, place: AnchoredPath<'_>, directory: &[u8]) -> bool {
        !self.0.lock().is_empty()
            && place.above(directory).is_ok_and(|directory| self.contains_open(directory.as_fd()))
    }

    /// Returns whether an open directory, or file, is one of them.
    pub fn contains_open(&self, directory: BorrowedFd<'_>) -> bool {
        Born::read(directory).is_some_and(|born| self.0.lock().contains(&born))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::*;

    fn contains(made: &MadeDirectories, path: &Path) -> bool {
        made.contains(path.as_os_str().as_bytes())
    }

    #[test]
    fn a_directory_counts_wherever_it_is_moved_and_no_other_does() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let parent = open_directory(CWD, root.as_os_str().as_bytes()).unwrap();
        let made = MadeDirectories::default();
        for name in ["own", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        made.record(parent.as_fd(), b"own");
        assert!(contains(&made, &root.join("own")) && !contains(&made, &root.join("other")));
        std::fs::rename(root.join("own"), root.join("moved")).unwrap();
        assert!(contains(&made, &root.join("moved")) && !contains(&made, &root.join("own")));
        std::os::unix::fs::symlink("moved", root.join("link")).unwrap();
        assert!(!contains(&made, &root.join("link")));
        // The inode number may come again, at once. Times of birth are as coarse as the kernel's tick, 10 ms at most.
        std::fs::remove_dir(root.join("moved")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        for number in 0..100 {
            let again = root.join(format!("again{number}"));
            std::fs::create_dir(&again).unwrap();
            assert!(!contains(&made, &again));
        }
    }
}
