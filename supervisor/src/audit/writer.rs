//! Writes each line to its part of the log, and to the journal.

use std::io;
use std::os::unix::ffi::OsStrExt;

use guard_policy::text::shown;
use guard_policy::{AuditSettings, OnError};

use super::files::LogPart;
use super::journal::Journal;
use super::log::{Appended, AuditLog};

/// The log of denials is divided by this number. One session may fill one such part, so that its flood removes no lines
/// of others.
const SESSION_SHARE: u64 = 16;
/// The least share in bytes: room for a few lines, however small the log is.
const MIN_SESSION_BYTES: u64 = 4096;

/// The destinations of lines, and what to do if one fails.
#[derive(Debug)]
pub struct Writer {
    log: Option<Destination>,
    /// None if all lines go to the log itself.
    denials: Option<Destination>,
    journal: Option<Journal>,
    on_error: OnError,
    session_bytes: u64,
}

/// A part of the log.
#[derive(Debug)]
struct Destination {
    log: AuditLog,
    /// The number of lines that were lost since the last one was logged.
    lost: u64,
}

/// The result of writing a line.
#[derive(Debug)]
pub struct WriteOutcome {
    /// Whether the line is in the log. True if there is no log.
    pub is_logged: bool,
    /// Problems that the operator must see.
    pub problems: Vec<String>,
}

impl Writer {
    /// Creates a writer that discards everything.
    #[cfg(any(test, feature = "fake-kernel"))]
    pub fn none() -> Writer {
        Writer {
            log: None,
            denials: None,
            journal: None,
            on_error: OnError::Continue,
            session_bytes: u64::MAX,
        }
    }

    /// Creates a writer for this log, this log of denials and this journal.
    pub fn new(
        log: Option<AuditLog>,
        denials: Option<AuditLog>,
        journal: Option<Journal>,
        settings: &AuditSettings,
    ) -> Writer {
        let [log, denials] = [log, denials].map(|log| log.map(|log| Destination { log, lost: 0 }));
        let files = u64::try_from(settings.keep).unwrap_or(u64::MAX).saturating_add(1);
        let session_bytes = settings.max_bytes.saturating_mul(files) / SESSION_SHARE;
        let session_bytes = session_bytes.max(MIN_SESSION_BYTES);
        Writer { log, denials, journal, on_error: settings.on_error, session_bytes }
    }

    /// Closes the writer without freeing its memory, for a forked process that does not write.
    pub fn forget(self) {
        let Writer { log, denials, journal, .. } = self;
        [log, denials].into_iter().flatten().for_each(|destination| destination.log.forget());
        drop(journal);
    }

    /// Returns whether a call that cannot be logged is denied.
    pub fn must_log(&self) -> bool {
        self.on_error == OnError::Deny && self.log.is_some()
    }

    /// Returns whether anything is written at all.
    pub fn writes(&self) -> bool {
        self.log.is_some() || self.journal.is_some()
    }

    /// Returns how many bytes of denials one session may write.
    pub fn session_bytes(&self) -> u64 {
        self.session_bytes
    }

    /// Writes the line with this body, a JSON object, to this part of the log, and to the journal.
    pub fn write(&mut self, part: LogPart, body: &str) -> WriteOutcome {
        let mut problems = Vec::new();
        let destination = match part {
            LogPart::Denials if self.denials.is_some() => &mut self.denials,
            LogPart::Programs | LogPart::Denials => &mut self.log,
        };
        let line = match destination.as_mut().map(|destination| destination.append(body)).transpose() {
            Ok(appended) => appended.map(|Appended { line, trouble }| {
                problems.extend(trouble);
                line
            }),
            Err((path, error)) => {
                let so = match (self.on_error, part) {
                    (OnError::Deny, LogPart::Programs) => {
                        "until it can be written, no program starts: make room, or set audit.onError to \"continue\""
                    }
                    _ => "lines are missing in it",
                };
                problems.push(format!("cannot write the audit log {path}: {error}; {so}"));
                None
            }
        };
        let is_logged = line.is_some() || destination.is_none();
        if let Some(journal) = &mut self.journal {
            problems.extend(journal.send(line.as_deref().unwrap_or(body)));
        }
        WriteOutcome { is_logged, problems }
    }
}

impl Destination {
    /// Appends a line. The error has the path for the operator.
    fn append(&mut self, body: &str) -> Result<Appended, (String, io::Error)> {
        match self.log.append(body, self.lost) {
            Ok(appended) => {
                self.lost = 0;
                Ok(appended)
            }
            Err(error) => {
                self.lost += 1;
                Err((shown(self.log.path().as_os_str().as_bytes()), error))
            }
        }
    }
}
