//! Everywhere that a line goes: the log, and the journal.

use std::os::unix::ffi::OsStrExt;

use guard_policy::text::shown;
use guard_policy::{AuditSettings, OnError};

use super::journal::Journal;
use super::log::AuditLog;
use super::record::{Context, Record};

/// Writes lines.
#[derive(Debug)]
pub struct Writer {
    log: Option<AuditLog>,
    journal: Option<Journal>,
    on_error: OnError,
    /// How many lines did not get into the log since one did.
    lost: u64,
}

/// What became of a line.
#[derive(Debug)]
pub struct WriteOutcome {
    /// Whether it is in the log, where there is one.
    pub is_logged: bool,
    /// What the operator must know.
    pub problems: Vec<String>,
}

impl Writer {
    /// Nobody wants to know.
    #[cfg(any(test, feature = "fake-kernel"))]
    pub fn none() -> Writer {
        Writer { log: None, journal: None, on_error: OnError::Continue, lost: 0 }
    }

    /// Into these.
    pub fn new(log: Option<AuditLog>, journal: Option<Journal>, settings: &AuditSettings) -> Writer {
        Writer { log, journal, on_error: settings.on_error, lost: 0 }
    }

    /// Closes it, and leaves its memory as it is: for a process that is forked beside its writer.
    pub fn forget(self) {
        let Writer { log, journal, .. } = self;
        if let Some(log) = log {
            log.forget();
        }
        drop(journal);
    }

    /// Whether what cannot be logged may not be done.
    pub fn must_log(&self) -> bool {
        self.on_error == OnError::Deny && self.log.is_some()
    }

    /// Whether anything is written at all.
    pub fn writes(&self) -> bool {
        self.log.is_some() || self.journal.is_some()
    }

    /// Writes a record.
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
