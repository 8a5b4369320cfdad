//! The operator's commands for a running session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_approvals::protocol::Approval;
use guard_openclaw::clock::now_ms;
use guard_openclaw::peer::proc::Tid;
use guard_policy::ElevatedLevel;

use super::protocol::{Method, SessionInfo, SessionMode, SessionReply, SessionSecurity};
use crate::audit::{SessionChange, SessionEvent};
use crate::judge::active::Current;

/// What does not change while a session runs.
#[derive(Clone, Debug)]
pub struct Started {
    /// OpenClaw's key of the session that started the guard.
    pub session_key: Option<String>,
    /// The command, for display.
    pub command: Vec<String>,
    /// The directory in which it was started.
    pub directory: String,
    /// The file of its policy.
    pub policy: String,
    /// The limits in force, in words.
    pub limits: String,
    /// What becomes of the verdicts.
    pub mode: SessionMode,
}

/// Ends the tree, and returns when nothing of it is left.
pub type EndTree = Arc<dyn Fn() + Send + Sync>;

/// A running session.
pub struct Control {
    started: Started,
    started_at_ms: u64,
    current: Arc<Current>,
    end: EndTree,
    is_ending: AtomicBool,
}

impl Control {
    /// Controls the session whose guard is in `current`, which starts now.
    pub fn new(started: Started, current: Arc<Current>, end: EndTree) -> Control {
        Control { started, started_at_ms: now_ms(), current, end, is_ending: AtomicBool::new(false) }
    }

    /// Does what the process `by` asks.
    pub fn answer(&self, method: &Method, by: Tid) -> SessionReply {
        match method {
            Method::Show => self.session(),
            Method::Set { id, .. } | Method::End { id } if *id != self.id() => {
                refused("this is another session by now")
            }
            Method::Set { security, elevated, .. } => self.set(*security, *elevated, by),
            Method::End { .. } => self.end(by),
        }
    }

    fn id(&self) -> String {
        self.current.guard().session.name.to_owned()
    }

    fn set(
        &self,
        security: Option<SessionSecurity>,
        elevated: Option<ElevatedLevel>,
        by: Tid,
    ) -> SessionReply {
        if self.started.mode == SessionMode::Observe {
            return refused("it only observes, so nothing would be denied: end it instead");
        }
        // The line is written first: a setting in force without a line in the log would be worse than a line without
        // the setting.
        self.record(SessionEvent::Set { security, elevated }, by);
        if let Some(security) = security {
            self.current.update(|before| before.with_security(security));
        }
        if let Some(level) = elevated {
            self.current.guard().starts.outside.set_level(level);
        }
        self.session()
    }

    fn end(&self, by: Tid) -> SessionReply {
        if !self.is_ending.swap(true, Ordering::AcqRel) {
            self.record(SessionEvent::End, by);
            self.current.guard().reporter.flush();
            let end = Arc::clone(&self.end);
            if let Err(error) = std::thread::Builder::new().name("end".into()).spawn(move || end()) {
                self.is_ending.store(false, Ordering::Release);
                return refused(&format!("cannot start a thread: {error}"));
            }
        }
        self.session()
    }

    fn record(&self, event: SessionEvent, by: Tid) {
        self.current.guard().reporter.session_changed(SessionChange { event, by: Some(by) });
    }

    fn session(&self) -> SessionReply {
        let guard = self.current.guard();
        let Started { session_key, command, directory, policy, limits, mode } = self.started.clone();
        let pending =
            guard.approvals().map_or(0, |approvals| Approval::all(&approvals.manager().snapshot()).len());
        SessionReply::Session(Box::new(SessionInfo {
            id: guard.session.name.to_owned(),
            pid: std::process::id(),
            agent: guard.policy().agent().to_owned(),
            session_key,
            command,
            directory,
            policy,
            limits,
            started_at_ms: self.started_at_ms,
            mode,
            security: guard.policy().security().as_str().to_owned(),
            set: guard.security(),
            elevated: guard.starts.outside.level(guard.policy()),
            pending,
            denials: guard.reporter.denials(),
            is_ending: self.is_ending.load(Ordering::Acquire),
        }))
    }
}

fn refused(message: &str) -> SessionReply {
    SessionReply::Error { message: message.to_owned() }
}
