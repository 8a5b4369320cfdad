//! Writes each line to the log and the journal.

use std::os::unix::ffi::OsStrExt;

use guard_policy::text::shown;
use guard_policy::{AuditSettings, OnError};

use super::journal::Journal;
use super::log::AuditLog;
use super::record::{Context, Record};

/// The destinations of lines, and what to do if one fails.
#[derive(Debug)]
pub struct Writer {
    log: Option<AuditLog>,
    journal: Option<Journal>,
    on_error: OnError,
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
        Writer { log: None, journal: None, on_error: OnError::Continue, lost: 0 }
    }

    /// Creates a writer for this log and this journal.
    pub fn new(log: Option<AuditLog>, journal: Option<Journal>, settings: &AuditSettings) -> Writer {
        Writer { log, journal, on_error: settings.on_error, lost: 0 }
    }

    /// Closes the writer without freeing its memory, for a forked process that does not write.
    pub fn forget(self) {
        let Writer { log, journal, .. } = self;
        if let Some(log) = log {
            log.forget();
        }
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

    /// Writes a record to the log and the journal.
    pub fn write(&mut self, context: &Context, record: &Record) -> WriteOutcome {
        let mut problems = Vec::new();
        let body = record.body(context);
        let line = match &mut self.log {
            Some(log) => log.append(&body, self.lost).map(|appended| {
                self.lost = 0;
                problems.extend(appended.trouble);
                Some(appended.line)
            }),
            None => Ok(None),
        };
        let is_logged = line.is_ok();
        let line = line.unwrap_or_else(|error| {
            self.lost += 1;
            problems.push(self.unwritten(&error));
            None
        });
        if let Some(journal) = &mut self.journal {
            problems.extend(journal.send(line.as_deref().unwrap_or(&body)));
        }
        WriteOutcome { is_logged, problems }
    }

    fn unwritten(&self, error: &std::io::Error) -> String {
        let path = self.log.as_ref().map(|log| shown(log.path().as_os_str().as_bytes())).unwrap_or_default();
        let so = match self.on_error {
            OnError::Deny => {
                "until it can be written, no program starts: make room, or set audit.onError to \"continue\""
            }
            OnError::Continue => "lines are missing in it",
        };
        format!("cannot write the audit log {path}: {error}; {so}")
    }
}
