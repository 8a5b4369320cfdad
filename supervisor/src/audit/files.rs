//! The files of a log: the log itself, and beside it a directory with the older files and the head.
//!
//! ```text
//! audit.jsonl                       the current file, appended to
//! audit.jsonl.d/head                the end of the chain; also the lock
//! audit.jsonl.d/000000000001.jsonl  older files, named by the number of their first line
//! audit.jsonl.d/denials.jsonl       the log of denials, with a directory of its own beside it
//! ```

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;

/// How long to wait for the lock. A writer holds the lock only while it writes one line.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between attempts to take the lock.
const RETRY_INTERVAL: Duration = Duration::from_micros(200);

/// A part of a log. Each has its own files, chain and limits, so that filling one removes no line of the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPart {
    /// The programs that ran, the answers to questions, and lines about the guard itself.
    Programs,
    /// What the tree can write without end: denials, and questions that nobody answered.
    Denials,
}

impl LogPart {
    /// Every part.
    pub const ALL: [LogPart; 2] = [LogPart::Programs, LogPart::Denials];

    /// Returns the names of this part's files, for the log at this path.
    pub fn files(self, log: &Path) -> Files {
        match self {
            LogPart::Programs => Files::new(log),
            LogPart::Denials => Files::new(&beside(log).join("denials.jsonl")),
        }
    }
}

/// The names of one log's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    log: PathBuf,
    directory: PathBuf,
}

impl Files {
    /// Returns the names for the log at this path.
    pub fn new(log: &Path) -> Files {
        Files { log: log.to_owned(), directory: beside(log) }
    }

    /// Returns the file that lines are appended to.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Returns the directory of the other files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the head, which records the end of the chain.
    pub fn head(&self) -> PathBuf {
        self.directory.join("head")
    }

    /// Returns the path of an older file whose first line has this number.
    pub fn old(&self, first: u64) -> PathBuf {
        self.directory.join(format!("{first:012}.jsonl"))
    }

    /// Returns the number of an older file's first line, which the file's name tells.
    pub fn first_of(old: &Path) -> Option<u64> {
        old.file_name()?.to_str()?.strip_suffix(".jsonl")?.parse().ok()
    }

    /// Returns the older files, oldest first.
    ///
    /// # Errors
    /// The kernel's; a missing directory is no error.
    pub fn olds(&self) -> io::Result<Vec<PathBuf>> {
        let listing = match self.directory.read_dir() {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut olds = Vec::new();
        for entry in listing {
            let path = entry?.path();
            olds.extend(Files::first_of(&path).map(|first| (first, path)));
        }
        olds.sort();
        Ok(olds.into_iter().map(|(_, path)| path).collect())
    }

    /// Creates the directories, accessible to their owner only.
    ///
    /// # Errors
    /// The kernel's.
    pub fn make_directories(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)
    }

    /// Opens the log for appending. A new one is accessible to its owner only.
    ///
    /// # Errors
    /// The kernel's; ELOOP when it is a symbolic link.
    pub fn open_log(&self) -> io::Result<File> {
        own(OpenOptions::new().read(true).append(true).create(true), &self.log)
    }

    /// Opens the head. A missing head is created empty.
    ///
    /// # Errors
    /// As [`Files::open_log`].
    pub fn open_head(&self) -> io::Result<File> {
        self.open_beside(&self.head())
    }

    /// Opens a file of the directory. A missing file is created empty.
    ///
    /// # Errors
    /// As [`Files::open_log`].
    pub fn open_beside(&self, path: &Path) -> io::Result<File> {
        own(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
    }
}

/// Returns the directory that belongs to a log.
pub fn beside(log: &Path) -> PathBuf {
    let mut name = OsString::from(log);
    name.push(".d");
    name.into()
}

fn own(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK).open(path)
}

/// Returns the device and inode numbers of a file.
///
/// # Errors
/// The kernel's.
pub fn identity(file: &File) -> io::Result<(u64, u64)> {
    let stat = fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Locks a file. The wait is bounded, so that a stopped writer cannot block all others for good.
///
/// # Errors
/// The kernel's, and if another process holds the lock for longer than `patience`.
pub fn lock(file: &File, how: FlockOperation, patience: Duration) -> io::Result<()> {
    let until = Instant::now() + patience;
    loop {
        match flock(file, how) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(RETRY_INTERVAL),
            Err(Errno::WOULDBLOCK) => {
                return Err(io::Error::other("another process keeps it locked"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_files_are_in_the_order_of_their_lines() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::new(&directory.path().join("log"));
        assert_eq!(files.olds().unwrap(), Vec::<PathBuf>::new());
        files.make_directories().unwrap();
        for name in ["000000000020.jsonl", "000000000003.jsonl", "head", "1000000000000.jsonl", "x.jsonl"] {
            std::fs::write(files.directory().join(name), "").unwrap();
        }
        let expected = [3, 20, 1_000_000_000_000].map(|first| files.old(first));
        assert_eq!(files.olds().unwrap(), expected);
    }
}
