//! Verifies that a log was not altered.

mod line_ranges;
#[cfg(test)]
mod tests;
mod walk;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use guard_policy::text::{counted, shown, shown_json};
use guard_supervisor::audit::reader::{Log, NoHead, ReadError};
use serde::Serialize;

use line_ranges::{LineRange, Removed};

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// The line was altered.
    Changed,
    /// Lines are missing before this one.
    Cut,
    /// The line was moved, or occurs twice.
    Moved,
    /// The line is incomplete.
    Unfinished,
    /// The first lines are missing.
    CutAtStart,
    /// The last lines are missing.
    CutAtEnd,
    /// A guard noted here that the log had been altered.
    Noted,
    /// The head is missing or invalid.
    Head,
    /// A line that must be in the log is missing.
    Lost,
}

impl FindingKind {
    fn word(self) -> &'static str {
        match self {
            FindingKind::Changed => "changed",
            FindingKind::Cut => "cut",
            FindingKind::Moved => "moved",
            FindingKind::Unfinished => "unfinished",
            FindingKind::CutAtStart => "cut at the start",
            FindingKind::CutAtEnd => "cut at the end",
            FindingKind::Noted => "noted",
            FindingKind::Head => "head",
            FindingKind::Lost => "lost",
        }
    }
}

/// One place where the log was altered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogFinding {
    /// The file.
    pub file: PathBuf,
    /// The line in the file, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub what: FindingKind,
    /// A description for people.
    pub text: String,
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Whether the log is unaltered.
    pub whole: bool,
    /// How many lines were read.
    pub lines: usize,
    /// The files of each part of the log, the oldest first.
    pub files: Vec<PathBuf>,
    /// The lines of each part that were removed under `audit.keep`.
    pub removed: Vec<Removed>,
    /// The lines in each file that was put away.
    pub put_away: Vec<LineRange>,
    /// The findings, in the order of the log.
    pub findings: Vec<LogFinding>,
}

/// Verifies the log at this path. If `known` is given, the log must contain a line whose id begins with it.
///
/// # Errors
/// When the log cannot be read.
pub fn verify(path: &Path, known: Option<&str>) -> Result<Verified, ReadError> {
    let log = Log::open(path)?;
    let (mut lines, mut findings, mut removed, mut put_away) = (0, Vec::new(), Vec::new(), Vec::new());
    for part in &log.parts {
        let (count, found) = walk::walk(part)?;
        lines += count;
        let is_cut = found.iter().any(|finding| finding.what == FindingKind::CutAtStart);
        findings.extend(found);
        if let Err(why) = part.head {
            let text = match why {
                NoHead::Missing => "it is missing, so that a cut at the end of the log cannot be found",
                NoHead::Garbled => {
                    "no guard has written what is in it, so that a cut at the end of the log cannot be found"
                }
            };
            let (file, text) = (part.names.head(), text.to_owned());
            findings.push(LogFinding { file, line: 0, what: FindingKind::Head, text });
        }
        let ranges = line_ranges::of_part(part)?;
        if !is_cut {
            removed.extend(ranges.first().and_then(|first| Removed::before(part, first)));
        }
        put_away.extend(ranges.into_iter().filter(|range| range.file != part.names.log()));
    }
    match known.map(|known| log.find(known)) {
        None | Some(Ok(_)) => {}
        Some(Err(why @ ReadError::NoSuchLine(_))) => {
            let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            findings.push(LogFinding { file, line: 0, what: FindingKind::Lost, text: why.to_string() });
        }
        Some(Err(why)) => return Err(why),
    }
    let files = log.parts.into_iter().flat_map(|part| part.files).map(|file| file.path).collect();
    Ok(Verified { whole: findings.is_empty(), lines, files, removed, put_away, findings })
}

impl Verified {
    /// Writes the result to standard output.
    ///
    /// # Errors
    /// Returns an I/O error when the output cannot be written.
    pub fn print(&self, json: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if json {
            // A path that is not UTF-8 cannot be written as JSON.
            let json = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
            return writeln!(out, "{}", shown_json(&json));
        }
        for LogFinding { file, line, what, text } in &self.findings {
            let file = shown(file.as_os_str().as_encoded_bytes());
            let position = if *line == 0 { file } else { format!("{file}:{line}") };
            writeln!(out, "{position}: {}: {text}", what.word())?;
        }
        for removed in &self.removed {
            writeln!(out, "{removed}")?;
        }
        for file in &self.put_away {
            writeln!(out, "{file}")?;
        }
        let (lines, files) = (counted(self.lines, "line"), counted(self.files.len(), "file"));
        match self.findings.len() {
            0 if self.removed.is_empty() => writeln!(out, "{lines} in {files}: whole, as they were written"),
            0 => {
                let before: u64 = self.removed.iter().map(Removed::count).sum();
                writeln!(out, "{lines} in {files}: as they were written; {before} before them were removed")
            }
            problems => writeln!(out, "{lines} in {files}: {}", counted(problems, "problem")),
        }
    }
}
