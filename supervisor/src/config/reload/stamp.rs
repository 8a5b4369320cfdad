//! Detects whether a file has changed since it was read, without reading it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Stat, lstat, stat};

/// The stat(2) fields that change with a file; `None` if it does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(Option<Inode>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
    size: i64,
    changed: (i64, u64),
    modified: (i64, u64),
}

impl Stamp {
    /// Reads the stamp of the file at this path. A link is not followed.
    pub fn read(path: &Path) -> Stamp {
        Stamp::from_stat(lstat(path))
    }

    fn from_stat(stat: rustix::io::Result<Stat>) -> Stamp {
        Stamp(stat.ok().map(|stat| Inode {
            device: stat.st_dev,
            number: stat.st_ino,
            size: stat.st_size,
            changed: (stat.st_ctime, stat.st_ctime_nsec),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        }))
    }

    /// Whether the last change, whose time no program can set, is longer ago than this; true of a file that does not exist.
    /// A file that changed more recently may change again without another stamp, where the file system's clock is coarse.
    pub fn is_older_than(&self, age: Duration, now: SystemTime) -> bool {
        self.0.is_none_or(|Inode { changed: (seconds, nanoseconds), .. }| {
            let [seconds, nanoseconds] = [u64::try_from(seconds).unwrap_or_default(), nanoseconds];
            let changed = Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds);
            now.duration_since(UNIX_EPOCH).is_ok_and(|now| changed + age < now)
        })
    }
}

/// Files with two stamps each: of the path itself, and of the file to which a link at the path leads.
#[derive(Clone, Debug)]
pub struct Stamps {
    files: Vec<(PathBuf, [Stamp; 2])>,
    read: Instant,
}

impl Stamps {
    /// Reads the stamps of these files.
    pub fn read(files: Vec<PathBuf>) -> Stamps {
        let read = Instant::now();
        let stamped = |file: PathBuf| {
            let stamps = both(&file);
            (file, stamps)
        };
        Stamps { files: files.into_iter().map(stamped).collect(), read }
    }

    /// Whether none of the files has changed.
    pub fn are_current(&self) -> bool {
        self.files.iter().all(|(file, stamps)| both(file) == *stamps)
    }

    /// How long ago the stamps were read.
    pub fn age(&self) -> Duration {
        self.read.elapsed()
    }
}

fn both(file: &Path) -> [Stamp; 2] {
    [Stamp::read(file), Stamp::from_stat(stat(file))]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_link_changes_with_what_it_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, other] = ["file", "link", "other"].map(|name| directory.path().join(name));
        fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        let read = || Stamps::read(vec![link.clone()]);
        let before = read();
        assert!(before.are_current());
        fs::write(&file, "xy").unwrap();
        assert!(!before.are_current());
        let before = read();
        fs::write(&other, "xy").unwrap();
        std::os::unix::fs::symlink("other", directory.path().join("new")).unwrap();
        fs::rename(directory.path().join("new"), &link).unwrap();
        assert!(!before.are_current());
    }

    #[test]
    fn a_file_that_is_made_written_replaced_or_removed_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let (file, other) = (directory.path().join("store"), directory.path().join("other"));
        let mut seen = vec![Stamp::read(&file)];
        let mut look = |is_other: bool| {
            let stamp = Stamp::read(&file);
            assert_eq!(stamp != *seen.last().unwrap(), is_other);
            seen.push(stamp);
        };
        fs::write(&file, "x").unwrap();
        look(true);
        look(false);
        fs::write(&file, "xy").unwrap();
        look(true);
        fs::write(&other, "zz").unwrap();
        fs::rename(&other, &file).unwrap();
        look(true);
        fs::remove_file(&file).unwrap();
        look(true);
        look(false);
    }
}
