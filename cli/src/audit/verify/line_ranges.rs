//! Finds which lines each file of a log holds, and which were removed.

use std::fmt;
use std::path::PathBuf;

use guard_policy::text::shown;
use guard_supervisor::audit::lines::LineBytes;
use guard_supervisor::audit::reader::{AuditEntry, LogFile, OpenPart, ReadError};
use serde::Serialize;

/// The lines that a file holds, from its first to its last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineRange {
    /// The file.
    pub file: PathBuf,
    /// The number of its first line.
    pub from: u64,
    /// The number of its last line.
    pub to: u64,
    /// When these two lines were written.
    pub since: Option<String>,
    pub until: Option<String>,
}

/// The lines that were removed from the beginning of a part of the log. The number of the first kept line tells
/// how many were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// The file that the part is appended to.
    pub log: PathBuf,
    /// The number of the last line that was removed. The first one was 1.
    pub to: u64,
    /// When the line after the removed lines was written: they are older.
    pub before: Option<String>,
}

/// Returns the lines of each file of a part, the oldest first. Files without lines are left out.
///
/// # Errors
/// When a file cannot be read.
pub fn of_part(part: &OpenPart) -> Result<Vec<LineRange>, ReadError> {
    part.files.iter().filter_map(|file| of_file(file).transpose()).collect()
}

fn of_file(file: &LogFile) -> Result<Option<LineRange>, ReadError> {
    let numbered = |line: Result<LineBytes, ReadError>| -> Option<Result<(u64, Option<String>), ReadError>> {
        let entry = line.map(|line| AuditEntry::parse(&line.bytes)).transpose()?;
        entry.map(|entry| Some((entry.n?, entry.time.map(|time| time.to_string())))).transpose()
    };
    let first = file.lines().find_map(numbered).transpose()?;
    let last = file.backward().find_map(numbered).transpose()?;
    let (Some((from, since)), Some((to, until))) = (first, last) else { return Ok(None) };
    Ok(Some(LineRange { file: file.path.clone(), from, to, since, until }))
}

impl Removed {
    /// Returns the lines of a part that were removed before its first file.
    pub fn before(part: &OpenPart, first: &LineRange) -> Option<Removed> {
        let to = first.from.checked_sub(1).filter(|to| *to > 0)?;
        Some(Removed { log: part.names.log().to_owned(), to, before: first.since.clone() })
    }

    /// Returns how many lines were removed.
    pub fn count(&self) -> u64 {
        self.to
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = shown(self.log.as_os_str().as_encoded_bytes());
        let lines =
            if self.to == 1 { "line 1 was".to_owned() } else { format!("lines 1 to {} were", self.to) };
        let before = self.before.as_deref().unwrap_or("the next one");
        write!(f, "{log}: {lines} removed (audit.keep), written before {before}")
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = shown(self.file.as_os_str().as_encoded_bytes());
        let time = |time: &Option<String>| time.clone().unwrap_or_else(|| "?".to_owned());
        let (since, until) = (time(&self.since), time(&self.until));
        write!(f, "{file}: rotated: lines {} to {}, {since} to {until}", self.from, self.to)
    }
}
