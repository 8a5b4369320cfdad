//! The audit log: JSON Lines, one decision each.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use guard_policy::{Outcome, Source};
use serde::Serialize;

use crate::approval::{self, Question, Subject, What};
use crate::faults::Fault;
use crate::kernel::Tid;
use crate::report::{Event, shortened};
use crate::text::shown_json;

/// What is the same in every line of a session.
#[derive(Clone, Debug)]
pub struct Context {
    /// A random name of this run.
    pub session: String,
    /// The agent whose policy is in force.
    pub agent: String,
}

/// A change of the policy while its tree runs.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The policy's file.
    pub path: String,
    /// Whether it is in force; false when it was wrong.
    pub applied: bool,
    /// What is wrong, or what a running tree cannot be given.
    pub text: String,
}

/// What happened to a question, for whoever reads the log.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// `requested`, `joined`, `resolved`, `expired`, `withdrawn`, `refused`, `granted`, `consumed`,
    /// `saved`, `running`, `finished` or `denied`.
    event: &'static str,
    /// The question's; for `joined` there is a `call` of its own.
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    argv: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    /// By what way an answer came.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A panic of the guard's own, for whoever reads the log.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<Tid>,
    /// The call that was refused by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Outcome>,
    thread: String,
    text: String,
}

impl Failed {
    /// Of a panic, and of the call by whom and to what it refused.
    pub fn new(fault: &Fault, call: Option<(Tid, &'static str)>) -> Failed {
        Failed {
            pid: call.map(|(pid, _)| pid),
            call: call.map(|(_, name)| name),
            verdict: call.map(|_| Outcome::Deny),
            thread: fault.thread.clone(),
            text: fault.text.clone(),
        }
    }
}

impl Asked {
    /// Of an event, with its question where that is known.
    pub fn new(event: &approval::Event, question: Option<&Question>) -> Asked {
        let (path, argv) = match question.map(|question| &question.subject) {
            Some(Subject::Exec(exec)) => (Some(&exec.executable.path), shortened(&exec.argv)),
            Some(Subject::File { path, .. }) => (Some(path), Vec::new()),
            None => (None, Vec::new()),
        };
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let mut asked = Asked {
            event: "requested",
            id: event.id.to_string(),
            call: None,
            path: path.map(text),
            argv: argv.iter().map(text).collect(),
            decision: None,
            by: None,
            text: None,
        };
        match &event.what {
            What::Requested { .. } => {}
            What::Joined { call } => (asked.event, asked.call) = ("joined", Some(call.to_string())),
            What::Resolved { decision, by } => {
                asked.event = "resolved";
                (asked.decision, asked.by) = (Some(decision.to_string()), Some(by.as_str()));
            }
            What::Expired => asked.event = "expired",
            What::NoRoute => asked.event = "no-route",
            What::Failed => asked.event = "failed",
            What::Withdrawn => asked.event = "withdrawn",
            What::Refused(refusal) => (asked.event, asked.text) = ("refused", Some(refusal.to_string())),
            What::Granted => asked.event = "granted",
            What::Consumed => asked.event = "consumed",
            What::Told(told) => (asked.event, asked.text) = (told.word(), Some(told.to_string())),
            What::Saved(saved) => {
                asked.event = "saved";
                asked.text = Some(saved.clone().unwrap_or_else(|problem| format!("not saved: {problem}")));
            }
        }
        asked
    }
}

/// An open log.
#[derive(Debug)]
pub struct AuditLog {
    file: BufWriter<File>,
    path: PathBuf,
}

/// One line. Paths and arguments that are no UTF-8 carry U+FFFD: for reading, not for replaying.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    session: &'a str,
    agent: &'a str,
    pid: i32,
    chain: Vec<Parent<'a>>,
    operation: crate::report::Operation,
    path: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    argv: Vec<std::borrow::Cow<'a, str>>,
    verdict: guard_policy::Outcome,
    because: Reason<'a>,
    tier: &'static str,
    micros: u64,
}

/// The line of what is no decision of the policy's.
#[derive(Serialize)]
struct OtherLine<'a, T> {
    time: String,
    session: &'a str,
    agent: &'a str,
    operation: &'static str,
    #[serde(flatten)]
    what: &'a T,
}

#[derive(Serialize)]
struct Parent<'a> {
    pid: i32,
    name: &'a str,
}

#[derive(Serialize)]
struct Reason<'a> {
    source: Source,
    path: &'a str,
    text: &'a str,
}

impl AuditLog {
    /// Opens the log for appending; a new one gets mode 0600, a new directory 0700.
    ///
    /// # Errors
    /// The kernel's; ELOOP when the file is a symbolic link.
    pub fn open(path: &Path) -> std::io::Result<AuditLog> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path)?;
        Ok(AuditLog { file: BufWriter::new(file), path: path.to_owned() })
    }

    /// Closes it, with nothing in it, and leaves its memory as it is: for a process that is forked beside its writer.
    pub fn leave(self) {
        let AuditLog { file, path } = self;
        let (file, buffer) = file.into_parts();
        std::mem::forget((buffer, path));
        drop(file);
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line.
    ///
    /// # Errors
    /// The kernel's, a full disk for instance.
    pub fn write(&mut self, context: &Context, event: &Event) -> std::io::Result<()> {
        let line = Line {
            time: jiff::Timestamp::now().to_string(),
            session: &context.session,
            agent: &context.agent,
            pid: event.pid,
            chain: event.chain.iter().map(|(pid, name)| Parent { pid: *pid, name }).collect(),
            operation: event.operation,
            path: String::from_utf8_lossy(&event.path),
            argv: event.argv.iter().map(|argument| String::from_utf8_lossy(argument)).collect(),
            verdict: event.outcome,
            because: Reason {
                source: event.because.source,
                path: &event.because.path,
                text: &event.because.text,
            },
            tier: "broker",
            micros: event.micros,
        };
        self.append(&line)
    }

    /// Appends the line of a change of the policy.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write_change(&mut self, context: &Context, change: &Change) -> std::io::Result<()> {
        self.write_other(context, "reload", change)
    }

    /// Appends the line of what happened to a question.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write_asked(&mut self, context: &Context, asked: &Asked) -> std::io::Result<()> {
        self.write_other(context, "approval", asked)
    }

    /// Appends the line of a panic.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write_failed(&mut self, context: &Context, failed: &Failed) -> std::io::Result<()> {
        self.write_other(context, "fault", failed)
    }

    fn write_other<T: Serialize>(
        &mut self,
        context: &Context,
        operation: &'static str,
        what: &T,
    ) -> std::io::Result<()> {
        let time = jiff::Timestamp::now().to_string();
        let Context { session, agent } = context;
        self.append(&OtherLine { time, session, agent, operation, what })
    }

    fn append(&mut self, line: &impl Serialize) -> std::io::Result<()> {
        let line = serde_json::to_string(line)?;
        self.file.write_all(shown_json(&line).as_bytes())?;
        self.file.write_all(b"\n")?;
        // A line that is only in our memory is lost when the guard is killed.
        self.file.flush()
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) {
        // An error here was reported when the line was written.
        let _ = self.file.flush();
    }
}
