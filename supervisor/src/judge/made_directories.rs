//! The directories that the tree has made in this session, and the files with the name `.git`.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, Dir, DirEntry, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

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

/// When a directory had changed last, before something was made in it: what the call makes is born no earlier, by the clock of
/// that file system.
#[derive(Clone, Copy, Debug)]
pub struct LastChange(Option<(i64, u32)>);

impl LastChange {
    /// Looks at the directory.
    pub fn read(directory: BorrowedFd<'_>) -> LastChange {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let stat = rustix::fs::statx(directory, "", flags, StatxFlags::CTIME);
        LastChange(stat.ok().map(|stat| (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec)))
    }

    fn is_before(self, born: Born) -> bool {
        self.0.is_some_and(|change| change <= (born.seconds, born.nanoseconds))
    }
}

/// The directories that the tree has made in this session, as far as they are remembered.
#[derive(Debug, Default)]
pub struct MadeDirectories(Mutex<HashSet<Born>>);

impl MadeDirectories {
    /// Remembers the directory that was just made under a name. The caller holds the lock that every call of the tree
    /// needs to remove it, and to make another one or move it there. What the operator has put in its place counts as his:
    /// it is older than the call, or something is in it. So does a directory that cannot be listed.
    pub fn record(&self, parent: BorrowedFd<'_>, name: &[u8], before: LastChange) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(made) = rustix::fs::openat(parent, name, flags, Mode::empty()) else { return };
        let Some(born) = Born::read(made.as_fd()) else { return };
        if before.is_before(born) && is_empty(made) {
            self.insert(born);
        }
    }

    /// Remembers what was just made and is open.
    pub fn record_open(&self, made: BorrowedFd<'_>) {
        if let Some(born) = Born::read(made) {
            self.insert(born);
        }
    }

    fn insert(&self, born: Born) {
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

fn is_empty(directory: OwnedFd) -> bool {
    let is_dots = |entry: Result<DirEntry, Errno>| {
        entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b".."))
    };
    Dir::new(directory).is_ok_and(|mut names| names.all(is_dots))
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
        let before = LastChange::read(parent.as_fd());
        for name in ["own", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        made.record(parent.as_fd(), b"own", before);
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

    #[test]
    fn what_the_operator_has_put_in_its_place_is_his() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let parent = open_directory(CWD, root.as_os_str().as_bytes()).unwrap();
        let made = MadeDirectories::default();
        let there = root.join("made");
        let make = |what: &dyn Fn()| {
            let before = LastChange::read(parent.as_fd());
            std::fs::create_dir(&there).unwrap();
            what();
            made.record(parent.as_fd(), b"made", before);
            let counts = contains(&made, &there);
            std::fs::remove_dir_all(&there).unwrap();
            counts
        };
        assert!(make(&|| {}));
        assert!(!make(&|| std::fs::create_dir(there.join("project")).unwrap()), "something is in it");
        // Birth is recorded by the tick.
        std::fs::create_dir(root.join("older")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        std::fs::write(root.join("file"), "").unwrap();
        assert!(!make(&|| std::fs::rename(root.join("older"), &there).unwrap()), "it is older than the call");
        let link = || {
            std::fs::remove_dir(&there).unwrap();
            std::os::unix::fs::symlink(".", &there).unwrap();
        };
        let before = LastChange::read(parent.as_fd());
        std::fs::create_dir(&there).unwrap();
        link();
        made.record(parent.as_fd(), b"made", before);
        assert!(!made.contains_open(parent.as_fd()));
    }
}
