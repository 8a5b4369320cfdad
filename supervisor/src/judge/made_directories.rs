//! The directories that the tree has made in this session, and the files with the name `.git`.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, fstat, makedev, statx};

use super::anchored_path::{AnchoredPath, open_directory};
use crate::resolve::Identity;

/// How many directories the guard remembers, about 3 MiB. Directories that the tree makes later count as the
/// operator's, which protects more.
const MAX_DIRECTORIES: usize = 1 << 16;
/// How many it holds open where the file system does not record when they were made: several repositories' git directories.
const MAX_HELD: usize = 256;
/// Twice the longest tick: times of files have that precision.
const TICK: Duration = Duration::from_millis(20);

/// What identifies a directory, so that the guard takes no later one for it. The kernel gives inode numbers out again,
/// but not with the same time of birth, unless it is within one tick (10 ms at most). So a directory that the tree removes is
/// forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Born {
    device: (u32, u32),
    inode: u64,
    seconds: i64,
    nanoseconds: u32,
}

impl Born {
    /// Returns `None` where the file system does not record when a file was made (NFS before Linux 6.16).
    fn read(directory: BorrowedFd<'_>) -> Option<Born> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let stat = statx(directory, "", flags, StatxFlags::INO | StatxFlags::BTIME).ok()?;
        Born::from_statx(&stat)
    }

    fn from_statx(stat: &Statx) -> Option<Born> {
        (stat.stx_mask & StatxFlags::BTIME.bits() != 0).then_some(Born {
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            seconds: stat.stx_btime.tv_sec,
            nanoseconds: stat.stx_btime.tv_nsec,
        })
    }

    /// When the directory was made, in nanoseconds since 1970, by the clock of the file system.
    fn time(self) -> i128 {
        nanoseconds(self.seconds, self.nanoseconds)
    }
}

fn nanoseconds(seconds: i64, rest: u32) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}

/// A directory without a time of birth. While it exists, no other one has its inode number.
#[derive(Debug)]
struct Held {
    object: OwnedFd,
    identity: Identity,
}

impl Held {
    fn exists(&self) -> bool {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        statx(&self.object, "", flags, StatxFlags::NLINK).is_ok_and(|stat| stat.stx_nlink > 0)
    }
}

/// The directories that the tree has made in this session, as far as they are remembered.
#[derive(Debug, Default)]
pub struct MadeDirectories {
    born: Mutex<HashSet<Born>>,
    held: Mutex<Vec<Held>>,
}

impl MadeDirectories {
    /// Remembers the directory that was just made under a name, by a call that began at `since`. The caller holds the
    /// lock that every call of the tree needs to remove the directory, and to make or move another one there. A
    /// directory that the operator has put in its place counts as the operator's: that directory is older than the
    /// call, or another directory is in it. Where the time of birth is unknown, it is the time of the last change of a name
    /// in it: whoever moves a directory does not change that.
    ///
    /// The guard opens and lists nothing where births are recorded, because programs that watch the directory would see that
    /// (inotify(7)).
    pub fn record(&self, parent: BorrowedFd<'_>, name: &[u8], since: Instant) {
        let what = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let Ok(made) = statx(parent, name, AtFlags::SYMLINK_NOFOLLOW, what) else { return };
        let Ok(around) = statx(parent, "", AtFlags::EMPTY_PATH, StatxFlags::CTIME) else { return };
        let born = Born::from_statx(&made);
        // Both are times of the file system, which may have another clock.
        let changed = nanoseconds(around.stx_ctime.tv_sec, around.stx_ctime.tv_nsec);
        let made_at = born.map_or(nanoseconds(made.stx_mtime.tv_sec, made.stx_mtime.tv_nsec), Born::time);
        let is_new = changed - made_at <= (since.elapsed() + TICK).as_nanos() as i128;
        if !is_new || !is_without_directories(&made) {
            return;
        }
        match born {
            Some(born) => self.insert(born),
            None => self.hold(parent, name, &made),
        }
    }

    /// Holds a directory open that was just made under a name.
    fn hold(&self, parent: BorrowedFd<'_>, name: &[u8], made: &Statx) {
        let Ok(object) = open_directory(parent, name) else { return };
        let Ok(stat) = fstat(&object) else { return };
        let identity = Identity::from_stat(&stat);
        let is_same = identity.device == makedev(made.stx_dev_major, made.stx_dev_minor)
            && identity.inode == made.stx_ino;
        let mut held = self.held.lock();
        if is_same && (held.len() < MAX_HELD || has_forgotten_one(&mut held)) {
            held.push(Held { object, identity });
        }
    }

    /// Remembers an object that was just made and is open.
    pub fn record_open(&self, made: BorrowedFd<'_>) {
        if let Some(born) = Born::read(made) {
            self.insert(born);
        }
    }

    fn insert(&self, born: Born) {
        let mut directories = self.born.lock();
        if directories.len() < MAX_DIRECTORIES {
            directories.insert(born);
        }
    }

    /// Forgets a directory, or file, that the tree is about to remove. Returns it if it is one of them: if it stays, it is
    /// to be remembered again.
    pub fn forget(&self, directory: BorrowedFd<'_>) -> Option<Born> {
        let born = Born::read(directory)?;
        self.born.lock().remove(&born).then_some(born)
    }

    /// Remembers what has not been removed.
    pub fn remember(&self, born: Option<Born>) {
        born.into_iter().for_each(|born| self.insert(born));
    }

    fn is_empty(&self) -> bool {
        self.born.lock().is_empty() && self.held.lock().is_empty()
    }

    /// Returns whether the directory at a real path is one of them. A directory that cannot be opened is not.
    pub fn contains(&self, path: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        open_directory(CWD, path).is_ok_and(|directory| self.contains_open(directory.as_fd()))
    }

    /// Returns whether a directory around a place is one of them. A directory that cannot be opened is not.
    pub fn has_above(&self, place: AnchoredPath<'_>, directory: &[u8]) -> bool {
        !self.is_empty()
            && place.above(directory).is_ok_and(|directory| self.contains_open(directory.as_fd()))
    }

    /// Returns whether an open directory, or file, is one of them.
    pub fn contains_open(&self, directory: BorrowedFd<'_>) -> bool {
        match Born::read(directory) {
            Some(born) => self.born.lock().contains(&born),
            None => self.is_held(directory),
        }
    }

    fn is_held(&self, directory: BorrowedFd<'_>) -> bool {
        let Ok(stat) = fstat(directory) else { return false };
        let identity = Identity::from_stat(&stat);
        self.held.lock().iter().any(|held| held.identity == identity && held.exists())
    }
}

/// Forgets the directories that exist no longer. Returns whether there was one.
fn has_forgotten_one(held: &mut Vec<Held>) -> bool {
    let before = held.len();
    held.retain(Held::exists);
    held.len() < before
}

/// Whether this is a directory without others in it, as far as its link count says: each directory in it adds a link by
/// its `..`. Where links are not counted (btrfs), the directory must be empty.
fn is_without_directories(stat: &Statx) -> bool {
    let is_directory = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Directory;
    is_directory && (stat.stx_nlink == 2 || stat.stx_nlink == 1 && stat.stx_size == 0)
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
        let before = Instant::now();
        for name in ["own", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        made.record(parent.as_fd(), b"own", before);
        assert!(contains(&made, &root.join("own")) && !contains(&made, &root.join("other")));
        std::fs::rename(root.join("own"), root.join("moved")).unwrap();
        assert!(contains(&made, &root.join("moved")) && !contains(&made, &root.join("own")));
        std::os::unix::fs::symlink("moved", root.join("link")).unwrap();
        assert!(!contains(&made, &root.join("link")));
        // One that is about to be removed counts again only if it stays.
        let moved = open_directory(CWD, root.join("moved").as_os_str().as_bytes()).unwrap();
        let forgotten = made.forget(moved.as_fd());
        assert!(!contains(&made, &root.join("moved")) && made.forget(moved.as_fd()).is_none());
        made.remember(forgotten);
        assert!(contains(&made, &root.join("moved")));
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
            let before = Instant::now();
            std::fs::create_dir(&there).unwrap();
            what();
            made.record(parent.as_fd(), b"made", before);
            let counts = contains(&made, &there);
            std::fs::remove_dir_all(&there).unwrap();
            counts
        };
        assert!(make(&|| {}));
        assert!(!make(&|| std::fs::create_dir(there.join("project")).unwrap()), "a directory is in it");
        std::fs::create_dir(root.join("older")).unwrap();
        std::thread::sleep(Duration::from_secs(1));
        assert!(!make(&|| std::fs::rename(root.join("older"), &there).unwrap()), "it is older than the call");
        let link = || {
            std::fs::remove_dir(&there).unwrap();
            std::os::unix::fs::symlink(".", &there).unwrap();
        };
        let before = Instant::now();
        std::fs::create_dir(&there).unwrap();
        link();
        made.record(parent.as_fd(), b"made", before);
        assert!(!made.contains_open(parent.as_fd()));
    }
}
