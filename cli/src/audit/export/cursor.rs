//! How far the lines of a log were sent to one collector.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use guard_supervisor::audit::chain::Hash;
use guard_supervisor::audit::files::{Files, lock};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

/// It is always as long as this, and so overwritten in place.
const LENGTH: usize = 128;

/// A line that was sent, with all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Its number.
    pub n: u64,
    /// Its name.
    pub id: Hash,
}

/// A file beside the log, held by one export at a time.
#[derive(Debug)]
pub struct Cursor {
    file: File,
}

/// Its name: one for each address, and for denials alone another one.
fn path(files: &Files, to: &str) -> PathBuf {
    files.directory().join(format!("export-{}", Hash::digest(to.as_bytes()).short()))
}

impl Cursor {
    /// Opens the one of this log and of what is sent to where.
    ///
    /// # Errors
    /// The kernel's, and when another export has it.
    pub fn open(files: &Files, to: &str) -> io::Result<Cursor> {
        files.make_directories()?;
        let file = files.open_beside(&path(files, to))?;
        lock(&file, FlockOperation::NonBlockingLockExclusive, Duration::ZERO)?;
        Ok(Cursor { file })
    }

    /// What was sent last; None where nothing was, or that is not known.
    ///
    /// # Errors
    /// The kernel's.
    pub fn last(&self) -> io::Result<Option<Sent>> {
        let mut bytes = [0; LENGTH];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// This was sent.
    ///
    /// # Errors
    /// The kernel's.
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
    fn one_export_at_a_time_knows_what_was_sent() {
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
        // It is no older file of the log.
        assert!(files.olds().unwrap().is_empty());
    }
}
