//! Remembers how far a log has been sent to one collector.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use guard_supervisor::audit::chain::Hash;
use guard_supervisor::audit::files::{Files, lock};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

/// The file's length in bytes. It is constant, so that the file can be overwritten in place.
const LENGTH: usize = 128;

/// The last line that was sent; all lines before it were sent too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The line's number.
    pub n: u64,
    /// The line's id.
    pub id: Hash,
}

/// The cursor's file, beside the log. One export at a time holds its lock.
#[derive(Debug)]
pub struct Cursor {
    file: File,
}

/// The file's path. Each collector has a file of its own, and another one for denials alone.
fn path(files: &Files, to: &str) -> PathBuf {
    files.directory().join(format!("export-{}", Hash::digest(to.as_bytes()).short()))
}

impl Cursor {
    /// Opens the cursor of this log for this collector.
    ///
    /// # Errors
    /// Returns an I/O error, also when another export holds the lock.
    pub fn open(files: &Files, to: &str) -> io::Result<Cursor> {
        files.make_directories()?;
        let file = files.open_beside(&path(files, to))?;
        lock(&file, FlockOperation::NonBlockingLockExclusive, Duration::ZERO)?;
        Ok(Cursor { file })
    }

    /// The last line that was sent; None when nothing was sent or the file is damaged.
    ///
    /// # Errors
    /// Returns an I/O error when the file cannot be read.
    pub fn last(&self) -> io::Result<Option<Sent>> {
        let mut bytes = [0; LENGTH];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores the last line that was sent.
    ///
    /// # Errors
    /// Returns an I/O error when the file cannot be written.
    pub fn advance(&self, sent: Sent) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(&sent).unwrap_or_default();
        bytes.resize(LENGTH - 1, b' ');
        bytes.push(b'\n');
        self.file.write_all_at(&bytes, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_export_at_a_time_holds_the_cursor() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::new(&directory.path().join("log"));
        let sent = Sent { n: u64::MAX, id: Hash::digest(b"x") };
        let cursor = Cursor::open(&files, "here").unwrap();
        assert_eq!(cursor.last().unwrap(), None);
        cursor.advance(sent).unwrap();
        assert!(Cursor::open(&files, "here").is_err());
        assert_eq!(Cursor::open(&files, "there").unwrap().last().unwrap(), None);
        drop(cursor);
        assert_eq!(Cursor::open(&files, "here").unwrap().last().unwrap(), Some(sent));
        // The cursor's file is not taken for a rotated log.
        assert!(files.olds().unwrap().is_empty());
    }
}
