//! Follows a log's new lines across rotations.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use guard_supervisor::audit::chain::ChainFields;
use guard_supervisor::audit::files::{Files, identity};
use guard_supervisor::audit::lines::Forward;
use guard_supervisor::audit::reader::{AuditEntry, ReadError};

/// How often the log is checked for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Reads what is appended to a log.
#[derive(Debug)]
pub struct Follow {
    files: Files,
    /// The file being read, and the offset reached in it.
    file: File,
    at: u64,
    /// The number of the last line that was read.
    n: u64,
}

impl Follow {
    /// Starts after the line of this number; 0 starts at the oldest line.
    ///
    /// # Errors
    /// When there is no log, or it cannot be read.
    pub fn after(log: &Path, n: u64) -> Result<Follow, ReadError> {
        let log = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
        let files = Files::new(&log);
        let unreadable = |error| ReadError::Unreadable { path: log.clone(), error };
        // The file with the next line, or the oldest that there is behind it.
        let olds = files.olds().map_err(unreadable)?;
        let ended_before =
            |path: &&std::path::PathBuf| Files::first_of(path).is_some_and(|first| first > n + 1);
        let at = olds.iter().position(|path| ended_before(&path));
        let file = match (at, olds.as_slice()) {
            (Some(0), [first, ..]) => File::open(first),
            (Some(at), olds) => File::open(&olds[at - 1]),
            (None, [.., last]) => File::open(last),
            (None, []) => File::open(&log),
        };
        match file {
            Ok(file) => Ok(Follow { files, file, at: 0, n }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ReadError::NoLog(log)),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// Reads the lines that have come since.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn more(&mut self) -> Result<Vec<AuditEntry>, ReadError> {
        self.read().map_err(|error| ReadError::Unreadable { path: self.files.log().to_owned(), error })
    }

    /// Like [`Follow::more`], but waits until there is at least one.
    ///
    /// # Errors
    /// As [`Follow::more`].
    pub fn wait(&mut self) -> Result<Vec<AuditEntry>, ReadError> {
        loop {
            let more = self.more()?;
            if !more.is_empty() {
                return Ok(more);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn read(&mut self) -> io::Result<Vec<AuditEntry>> {
        let mut entries = Vec::new();
        loop {
            // A rotated file does not grow. Checking this before reading makes sure that no line is missed.
            let is_last = self.is_last()?;
            self.drain(&mut entries)?;
            if is_last {
                return Ok(entries);
            }
            let Some(next) = self.next()? else { return Ok(entries) };
            (self.file, self.at) = (next, 0);
        }
    }

    /// Whether this is the file that lines are appended to.
    fn is_last(&self) -> io::Result<bool> {
        match self.files.log().symlink_metadata() {
            Ok(found) => Ok((found.dev(), found.ino()) == identity(&self.file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The file that follows the one just read; None during a rotation.
    fn next(&self) -> io::Result<Option<File>> {
        let next = self
            .files
            .olds()?
            .into_iter()
            .find(|path| Files::first_of(path).is_some_and(|first| first > self.n));
        match File::open(next.as_deref().unwrap_or(self.files.log())) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn drain(&mut self, entries: &mut Vec<AuditEntry>) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        if end < self.at {
            // The file was truncated: `audit verify` reports it.
            self.at = end;
        }
        for line in Forward::new(&self.file, self.at, end) {
            let line = line?;
            if !line.is_whole {
                break;
            }
            self.at = line.at + line.bytes.len() as u64 + 1;
            let n = ChainFields::parse(&line.bytes).map_or(self.n + 1, |joint| joint.n);
            if n > self.n {
                self.n = n;
                entries.extend(AuditEntry::parse(&line.bytes));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard_supervisor::audit::{AuditLog, Limits};

    fn numbers(entries: &[AuditEntry]) -> Vec<u64> {
        entries.iter().filter_map(|entry| entry.n).collect()
    }

    #[test]
    fn nothing_is_missed_over_rotations() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        assert!(Follow::after(&path, 0).is_err());
        let mut log = AuditLog::open(&path, Limits { max_bytes: 700, keep: 100 }).unwrap();
        let mut write = |count: usize| {
            for _ in 0..count {
                log.append(r#"{"operation":"test"}"#, 0).unwrap();
            }
        };
        let mut follow = Follow::after(&path, 0).unwrap();
        let mut seen = Vec::new();
        for count in [1, 0, 3, 12, 1, 30, 0] {
            write(count);
            seen.extend(numbers(&follow.more().unwrap()));
        }
        assert_eq!(seen, (1..=47).collect::<Vec<_>>());
        for after in [0, 1, 4, 5, 6, 20, 46, 47, 99] {
            let more = Follow::after(&path, after).unwrap().more().unwrap();
            assert_eq!(numbers(&more), (after + 1..=47).collect::<Vec<_>>(), "{after}");
        }
    }

    #[test]
    fn a_line_is_read_when_it_is_whole() {
        use std::io::Write;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut file = File::create(&path).unwrap();
        let mut follow = Follow::after(&path, 0).unwrap();
        file.write_all(b"{\"operation\":").unwrap();
        assert!(follow.more().unwrap().is_empty());
        file.write_all(b"\"test\"}\n").unwrap();
        assert_eq!(follow.more().unwrap().len(), 1);
    }
}
