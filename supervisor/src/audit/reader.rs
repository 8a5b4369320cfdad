//! Reads the log: lines of every kind, also those of a newer guard.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use guard_openclaw::peer::proc::Tid;
use guard_policy::text::{quoted, shown};
use guard_policy::{Outcome, Source};
use jiff::Timestamp;
use rustix::fs::FlockOperation;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::chain::Hash;
use super::files::{Files, LOCK_TIMEOUT, LogPart, lock};
use super::head::Head;
use super::lines::{Backward, Forward, LineBytes};
use super::record::{FLOOD, OF_LOG};
use crate::audit::Operation;

/// The identifier of a line: its SHA-256. It is shown as its first 8 digits, and any prefix finds it.
pub type Id = Hash;

/// Why a log cannot be read, or a line cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There are neither files of the log nor a head; holds the log's path.
    #[error("there is no audit log {path}: run something first (`openclaw-guard -- bash`), or name it with --audit", path = shown(.0.as_os_str().as_bytes()))]
    NoLog(PathBuf),
    /// A file of the log cannot be read.
    #[error("cannot read the audit log {path}: {error}", path = shown(path.as_os_str().as_bytes()))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error from the kernel.
        error: io::Error,
    },
    /// No line has a hash with this prefix; holds the prefix.
    #[error("no id in the audit log begins with {0}: `openclaw-guard audit tail` shows the last ones")]
    NoSuchLine(String),
    /// Several lines have a hash with this prefix; holds the prefix.
    #[error("more than one id in the audit log begins with {0}: give more digits")]
    Ambiguous(String),
    /// The prefix is empty or not hexadecimal; holds the prefix.
    #[error("{0} is not an id: ids are hexadecimal (`openclaw-guard audit tail`)")]
    NoId(String),
}

/// A parsed line.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// The identifier of the line.
    pub id: Id,
    /// The number of the line in the log.
    pub n: Option<u64>,
    /// When it was written.
    pub time: Option<Timestamp>,
    /// The name of the run; empty in a line about the log itself.
    pub session: String,
    /// The agent whose policy was in force.
    pub agent: String,
    /// `read`, `exec`, `reload`, …
    pub operation: String,
    /// The rest of the line.
    pub what: EntryBody,
    /// The unparsed line.
    pub text: String,
}

/// The content of a line.
#[derive(Clone, Debug)]
pub enum EntryBody {
    /// A decision about a call.
    Decision(LoggedDecision),
    /// Something else: a question, a change of the policy, a fault. Holds the fields that are not in every
    /// line.
    Other(Map<String, Value>),
}

/// A decision about a call.
#[derive(Clone, Debug, Deserialize)]
pub struct LoggedDecision {
    /// The process.
    pub pid: Tid,
    /// The process and its ancestors up to the first command.
    #[serde(default)]
    pub chain: Vec<Parent>,
    /// What the process wanted to do.
    pub operation: Operation,
    /// The real path, or the address.
    pub path: String,
    /// The arguments of the program to start, or of the calling process.
    #[serde(default)]
    pub argv: Vec<String>,
    /// What was decided.
    pub verdict: Outcome,
    /// The reason for the decision.
    #[serde(rename = "because")]
    pub reason: LoggedReason,
    /// For a call of a tool: what the call does with `path`.
    #[serde(default)]
    pub access: Option<Operation>,
    /// For a call of a tool: whether `path` is only how another release may read the same text, and not what the call means.
    #[serde(default, rename = "reading")]
    pub is_reading: bool,
    /// For a call of a tool: whether the call went on regardless of the decision.
    #[serde(default, rename = "observed")]
    pub is_observed: bool,
    /// The number of repeats, in a line that counts the repeats of a denial.
    #[serde(default)]
    pub count: Option<u64>,
}

/// A process of a chain.
#[derive(Clone, Debug, Deserialize)]
pub struct Parent {
    /// Its number.
    pub pid: Tid,
    /// Its name (comm).
    pub name: String,
}

/// The reason for a decision.
#[derive(Clone, Debug, Deserialize)]
pub struct LoggedReason {
    /// Who wrote the rule that decided.
    pub source: Source,
    /// The place of the rule: `permissions.filesystem.rules["~/work/**"]`; empty if no rule of a policy
    /// decided.
    pub path: String,
    /// One sentence.
    pub text: String,
    /// Whether the policy lists the path as quiet.
    #[serde(default, rename = "quiet")]
    pub is_quiet: bool,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    n: Option<u64>,
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    session: String,
    #[serde(default)]
    agent: String,
    operation: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl LoggedReason {
    /// Returns the place of the rule, or the sentence if no rule of a policy decided.
    pub fn rule(&self) -> &str {
        if self.path.is_empty() { &self.text } else { &self.path }
    }
}

impl AuditEntry {
    /// Parses a line. Returns None if it is not a line of a log.
    pub fn parse(line: &[u8]) -> Option<AuditEntry> {
        let text = str::from_utf8(line).ok()?;
        let Raw { n, time, session, agent, operation, mut rest } = serde_json::from_str(text).ok()?;
        rest.shift_remove("prev");
        let what = match serde_json::from_str(text) {
            Ok(decision) => EntryBody::Decision(decision),
            Err(_) => EntryBody::Other(rest),
        };
        let time = time.and_then(|time| time.parse().ok());
        let (id, text) = (Hash::digest(line), text.to_owned());
        Some(AuditEntry { id, n, time, session, agent, operation, what, text })
    }

    /// Returns the decision, if the entry is one.
    pub fn decision(&self) -> Option<&LoggedDecision> {
        match &self.what {
            EntryBody::Decision(decision) => Some(decision),
            EntryBody::Other(_) => None,
        }
    }

    /// Returns whether the line is a denial, or counts denials that have no line.
    pub fn is_of_denials(&self) -> bool {
        self.denial().is_some() || self.operation == FLOOD
    }

    /// Returns how many unwritten lines this line counts. `None` if it is a line of another kind.
    pub fn counted(&self) -> Option<u64> {
        match &self.what {
            EntryBody::Other(fields) if self.operation == FLOOD => fields.get("count")?.as_u64(),
            _ => None,
        }
    }

    /// Returns whether the line needs attention: a denial, a fault, or something about the log itself.
    pub fn is_warning(&self) -> bool {
        self.is_of_denials() || matches!(self.operation.as_str(), "fault" | OF_LOG)
    }

    /// Returns the decision, if it was not to allow the call.
    pub fn denial(&self) -> Option<&LoggedDecision> {
        self.decision().filter(|decision| decision.verdict != Outcome::Allow)
    }
}

/// One file of a log.
#[derive(Debug)]
pub struct LogFile {
    /// Its path.
    pub path: PathBuf,
    file: File,
    /// The length of the file when the log was opened.
    length: u64,
}

impl LogFile {
    /// Returns the lines of the file, the first one first.
    pub fn lines(&self) -> impl Iterator<Item = Result<LineBytes, ReadError>> {
        Forward::new(&self.file, 0, self.length).map(|line| line.map_err(|error| self.unreadable(error)))
    }

    /// Returns the lines of the file, the last one first.
    pub fn backward(&self) -> impl Iterator<Item = Result<LineBytes, ReadError>> {
        Backward::new(&self.file, self.length).map(|line| line.map_err(|error| self.unreadable(error)))
    }

    fn unreadable(&self, error: io::Error) -> ReadError {
        ReadError::Unreadable { path: self.path.clone(), error }
    }
}

/// A snapshot of a log: lines written after it was opened are not read.
#[derive(Debug)]
pub struct Log {
    /// The parts of the log. A log without denials may lack the part for denials.
    pub parts: Vec<OpenPart>,
}

/// A snapshot of one part of a log.
#[derive(Debug)]
pub struct OpenPart {
    /// Which part it is.
    pub part: LogPart,
    /// The names of its files.
    pub names: Files,
    /// The files, the oldest first.
    pub files: Vec<LogFile>,
    /// The head, or why there is no valid one.
    pub head: Result<Head, NoHead>,
}

/// Why it is unknown where the log should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHead {
    /// There is no head.
    Missing,
    /// The content of the head was not written by a guard.
    Garbled,
}

impl OpenPart {
    fn open(part: LogPart, names: Files) -> Result<OpenPart, ReadError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| ReadError::Unreadable { path, error }
        };
        let head = open(&names.head()).map_err(at(&names.head()))?;
        if let Some(head) = &head {
            // The lock keeps guards from writing and rotating while the files are opened. Closing the
            // descriptor releases it.
            lock(head, FlockOperation::NonBlockingLockShared, LOCK_TIMEOUT).map_err(at(&names.head()))?;
        }
        let mut files = Vec::new();
        let mut paths = names.olds().map_err(at(names.directory()))?;
        paths.push(names.log().to_owned());
        for path in paths {
            let Some(file) = open(&path).map_err(at(&path))? else { continue };
            let length = file.metadata().map_err(at(&path))?.len();
            files.push(LogFile { path, file, length });
        }
        let head = match head.as_ref().map(Head::read) {
            None | Some(Ok(None)) => Err(NoHead::Missing),
            Some(Ok(Some(head))) => Ok(head),
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => Err(NoHead::Garbled),
            Some(Err(error)) => return Err(at(&names.head())(error)),
        };
        Ok(OpenPart { part, names, files, head })
    }

    /// Returns whether this part was never written: it has neither a line nor a head.
    fn is_unwritten(&self) -> bool {
        self.head == Err(NoHead::Missing) && self.files.iter().all(|file| file.length == 0)
    }

    fn entries(&self) -> Entries<'_> {
        Box::new(self.files.iter().flat_map(LogFile::lines).filter_map(understood))
    }

    /// Returns the lines that can be parsed, the last one first.
    pub fn latest(&self) -> Entries<'_> {
        Box::new(self.files.iter().rev().flat_map(LogFile::backward).filter_map(understood))
    }
}

impl Log {
    /// Opens the files of the log at this path.
    ///
    /// # Errors
    /// If there is no log, or a file cannot be opened.
    pub fn open(log: &Path) -> Result<Log, ReadError> {
        let log = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
        let parts = LogPart::ALL.map(|part| OpenPart::open(part, part.files(&log)));
        let mut parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
        parts.retain(|part| part.part == LogPart::Programs || !part.is_unwritten());
        if parts.iter().all(|part| part.files.is_empty() && part.head == Err(NoHead::Missing)) {
            return Err(ReadError::NoLog(log));
        }
        Ok(Log { parts })
    }

    /// Returns the lines that can be parsed, the first one first.
    pub fn entries(&self) -> Entries<'_> {
        merged(self.parts.iter().map(OpenPart::entries), |one, other| one.time <= other.time)
    }

    /// Returns the lines that can be parsed, the last one first.
    pub fn latest(&self) -> Entries<'_> {
        merged(self.parts.iter().map(OpenPart::latest), |one, other| one.time >= other.time)
    }

    /// Returns the number of the last line of each part; 0 for a part without lines.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn ends(&self) -> Result<[u64; LogPart::ALL.len()], ReadError> {
        let mut ends = [0; LogPart::ALL.len()];
        for part in &self.parts {
            let last = part.latest().next().transpose()?;
            ends[part.part as usize] = last.and_then(|entry| entry.n).unwrap_or_default();
        }
        Ok(ends)
    }

    /// Returns the line whose identifier has this prefix.
    ///
    /// # Errors
    /// If there is no such line, or more than one.
    pub fn find(&self, prefix: &str) -> Result<AuditEntry, ReadError> {
        let shown = || shown(prefix.as_bytes());
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ReadError::NoId(shown()));
        }
        let mut found = None;
        for line in self.parts.iter().flat_map(|part| &part.files).flat_map(LogFile::lines) {
            let line = line?;
            if Hash::digest(&line.bytes).begins_with(prefix)
                && let Some(entry) = AuditEntry::parse(&line.bytes)
                && found.replace(entry).is_some()
            {
                return Err(ReadError::Ambiguous(shown()));
            }
        }
        found.ok_or_else(|| ReadError::NoSuchLine(shown()))
    }
}

/// Lines of a log.
pub type Entries<'l> = Box<dyn Iterator<Item = Result<AuditEntry, ReadError>> + 'l>;

fn understood(line: Result<LineBytes, ReadError>) -> Option<Result<AuditEntry, ReadError>> {
    line.map(|line| AuditEntry::parse(&line.bytes)).transpose()
}

/// Merges the lines of parts, each of which keeps its own order. `is_first` says whether the first of two entries
/// precedes the second.
fn merged<'l>(
    parts: impl Iterator<Item = Entries<'l>>,
    is_first: fn(&AuditEntry, &AuditEntry) -> bool,
) -> Entries<'l> {
    let merge = |one: Entries<'l>, other: Entries<'l>| -> Entries<'l> {
        let (mut one, mut other) = (one.peekable(), other.peekable());
        Box::new(std::iter::from_fn(move || match (one.peek(), other.peek()) {
            (Some(Ok(first)), Some(Ok(second))) if !is_first(first, second) => other.next(),
            (Some(_), _) => one.next(),
            (None, _) => other.next(),
        }))
    };
    parts.reduce(merge).unwrap_or_else(|| Box::new(std::iter::empty()))
}

/// Opens a plain file. Returns None if the file does not exist.
fn open(path: &Path) -> io::Result<Option<File>> {
    // Opening a FIFO would block, and reading a device might never end.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK).open(path);
    match file {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Formats an entry: `deny  read /home/u/.ssh/id_rsa  (permissions.filesystem.deny["~/.ssh/**"])  cat
/// /home/…`
pub fn summary(entry: &AuditEntry) -> String {
    let mut line = String::new();
    match &entry.what {
        EntryBody::Decision(decision) => {
            let verdict = decision.verdict.as_str();
            let _ =
                write!(line, "{verdict:5} {} {}", decision.operation.word(), shown(decision.path.as_bytes()));
            let _ = write!(line, "  ({})", shown(decision.reason.rule().as_bytes()));
            if !decision.argv.is_empty() {
                let argv = decision.argv.iter().map(|argument| quoted(argument));
                let _ = write!(line, "  {}", argv.collect::<Vec<_>>().join(" "));
            }
            if let Some(count) = decision.count {
                let _ = write!(line, "  [{count} more {}]", if count == 1 { "time" } else { "times" });
            }
        }
        EntryBody::Other(members) => {
            let _ = write!(line, "{:5} ", shown(entry.operation.as_bytes()));
            let fields = members.iter().map(|(key, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("{}={}", shown(key.as_bytes()), quoted(&value))
            });
            line.push_str(&fields.collect::<Vec<_>>().join(" "));
        }
    }
    line
}
