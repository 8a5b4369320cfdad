//! Follows a log's new lines across rotations.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use guard_supervisor::audit::chain::ChainFields;
use guard_supervisor::audit::files::{Files, LogPart, identity};
use guard_supervisor::audit::lines::Forward;
use guard_supervisor::audit::reader::{AuditEntry, ReadError};

/// How often the log is checked for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Reads what is appended to a log.
#[derive(Debug)]
pub struct Follow {
    parts: [FollowPart; LogPart::ALL.len()],
}

impl Follow {
    /// Starts in each part after the line of this number; 0 starts at the oldest line.
    ///
    /// # Errors
    /// When there is no log, or it cannot be read.
    pub fn after(log: &Path, ends: [u64; LogPart::ALL.len()]) -> Result<Follow, ReadError> {
        let log = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
        let [programs, denials] = LogPart::ALL.map(|part| FollowPart::after(part, &log, ends[part as usize]));
        let parts = [programs?, denials?];
        if parts.iter().all(|part| part.file.is_none()) {
            return Err(ReadError::NoLog(log));
        }
        Ok(Follow { parts })
    }

    /// Reads the lines that have come since the last call, in the order of their times.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn more(&mut self) -> Result<Vec<(LogPart, AuditEntry)>, ReadError> {
        let mut more = Vec::new();
        for part in &mut self.parts {
            let mut latest = None;
            for entry in part.more()? {
                // Lines of one part keep their order, even if the clock was set back.
                latest = latest.max(entry.time);
                more.push((latest, part.part, entry));
            }
        }
        more.sort_by_key(|(time, ..)| *time);
        Ok(more.into_iter().map(|(_, part, entry)| (part, entry)).collect())
    }

    /// Like [`Follow::more`], but waits until there is at least one line.
    ///
    /// # Errors
    /// The errors of [`Follow::more`].
    pub fn wait(&mut self) -> Result<Vec<(LogPart, AuditEntry)>, ReadError> {
        loop {
            let more = self.more()?;
            if !more.is_empty() {
                return Ok(more);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Reads what is appended to one part of a log.
#[derive(Debug)]
pub struct FollowPart {
    part: LogPart,
    files: Files,
    /// The file being read, if there is one yet, and the offset reached in it.
    file: Option<File>,
    at: u64,
    /// The number of the last line that was read.
    n: u64,
}

impl FollowPart {
    /// Starts after the line of this number; 0 starts at the oldest line.
    ///
    /// # Errors
    /// When the files cannot be read. A missing file is no error: it may come.
    pub fn after(part: LogPart, log: &Path, n: u64) -> Result<FollowPart, ReadError> {
        let files = part.files(log);
        let unreadable = |error| ReadError::Unreadable { path: files.log().to_owned(), error };
        // The file with the next line. If that line is gone, the oldest file.
        let olds = files.olds().map_err(unreadable)?;
        let ended_before =
            |path: &&std::path::PathBuf| Files::first_of(path).is_some_and(|first| first > n + 1);
        let at = olds.iter().position(|path| ended_before(&path));
        let path = match (at, olds.as_slice()) {
            (Some(0), [first, ..]) => first,
            (Some(at), olds) => &olds[at - 1],
            (None, [.., last]) => last,
            (None, []) => files.log(),
        };
        let file = existing(path).map_err(unreadable)?;
        Ok(FollowPart { part, files, file, at: 0, n })
    }

    /// Reads the lines that have come since the last call.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn more(&mut self) -> Result<Vec<AuditEntry>, ReadError> {
        self.read().map_err(|error| ReadError::Unreadable { path: self.files.log().to_owned(), error })
    }

    fn read(&mut self) -> io::Result<Vec<AuditEntry>> {
        let mut entries = Vec::new();
        loop {
            // A rotated file does not grow. So if it was rotated before this read, the read misses no line.
            let is_last = self.is_last()?;
            self.drain(&mut entries)?;
            if is_last {
                return Ok(entries);
            }
            let Some(next) = self.next()? else { return Ok(entries) };
            (self.file, self.at) = (Some(next), 0);
        }
    }

    /// Whether this is the file that lines are appended to.
    fn is_last(&self) -> io::Result<bool> {
        let Some(file) = &self.file else { return Ok(false) };
        match self.files.log().symlink_metadata() {
            Ok(found) => Ok((found.dev(), found.ino()) == identity(file)?),
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
        existing(next.as_deref().unwrap_or(self.files.log()))
    }

    fn drain(&mut self, entries: &mut Vec<AuditEntry>) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let end = file.metadata()?.len();
        if end < self.at {
            // The file was truncated: `audit verify` reports it.
            self.at = end;
        }
        for line in Forward::new(file, self.at, end) {
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

/// Opens a file, if it exists.
fn existing(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard_supervisor::audit::{AuditLog, Limits};

    fn numbers(entries: &[(LogPart, AuditEntry)]) -> Vec<u64> {
        entries.iter().filter_map(|(_, entry)| entry.n).collect()
    }

    #[test]
    fn nothing_is_missed_over_rotations() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        assert!(Follow::after(&path, [0; 2]).is_err());
        let mut log = AuditLog::open(&path, Limits { max_bytes: 700, keep: 100 }).unwrap();
        let mut write = |count: usize| {
            for _ in 0..count {
                log.append(r#"{"operation":"test"}"#, 0).unwrap();
            }
        };
        let mut follow = Follow::after(&path, [0; 2]).unwrap();
        let mut seen = Vec::new();
        for count in [1, 0, 3, 12, 1, 30, 0] {
            write(count);
            seen.extend(numbers(&follow.more().unwrap()));
        }
        assert_eq!(seen, (1..=47).collect::<Vec<_>>());
        for after in [0, 1, 4, 5, 6, 20, 46, 47, 99] {
            let more = Follow::after(&path, [after, 0]).unwrap().more().unwrap();
            assert_eq!(numbers(&more), (after + 1..=47).collect::<Vec<_>>(), "{after}");
        }
    }

    #[test]
    fn the_lines_of_both_parts_come_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut programs = AuditLog::open(&path, Limits { max_bytes: 700, keep: 100 }).unwrap();
        // Until now the log was written by a guard without a separate log of denials.
        let mut follow = Follow::after(&path, [0; 2]).unwrap();
        let write = |log: &mut AuditLog, second: usize| {
            let time = format!("2026-11-22T02:00:{second:02}Z");
            log.append(&format!(r#"{{"operation":"test","time":"{time}","second":{second}}}"#), 0).unwrap();
        };
        let seconds = |entries: &[(LogPart, AuditEntry)]| -> Vec<_> {
            entries.iter().map(|(_, entry)| entry.time.unwrap().as_second() % 60).collect()
        };
        write(&mut programs, 1);
        assert_eq!(seconds(&follow.more().unwrap()), [1]);
        let mut denials = programs.open_denials().unwrap().unwrap();
        for second in 2..40 {
            write(if second % 3 == 0 { &mut programs } else { &mut denials }, second);
        }
        assert_eq!(seconds(&follow.more().unwrap()), (2..40).collect::<Vec<_>>());
        assert_eq!(seconds(&Follow::after(&path, [0; 2]).unwrap().more().unwrap()).len(), 39);
        let more = Follow::after(&path, [99, 23]).unwrap().more().unwrap();
        assert_eq!((numbers(&more), more[0].0), (vec![24, 25], LogPart::Denials));
        // The reader returns the same order, forwards and backwards.
        let log = guard_supervisor::audit::reader::Log::open(&path).unwrap();
        assert_eq!(log.ends().unwrap(), [14, 25]);
        let second = |entry: Result<AuditEntry, ReadError>| entry.unwrap().time.unwrap().as_second() % 60;
        assert_eq!(log.entries().map(second).collect::<Vec<_>>(), (1..40).collect::<Vec<_>>());
        assert_eq!(log.latest().map(second).collect::<Vec<_>>(), (1..40).rev().collect::<Vec<_>>());
    }

    #[test]
    fn a_line_is_read_when_it_is_whole() {
        use std::io::Write;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut file = File::create(&path).unwrap();
        let mut follow = Follow::after(&path, [0; 2]).unwrap();
        file.write_all(b"{\"operation\":").unwrap();
        assert!(follow.more().unwrap().is_empty());
        file.write_all(b"\"test\"}\n").unwrap();
        assert_eq!(follow.more().unwrap().len(), 1);
    }
}
