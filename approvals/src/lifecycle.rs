//! How programs that were asked for go on, in OpenClaw's words (2026.4.12, src/agents/bash-tools.exec-host-gateway.ts):
//! `Exec running`, `Exec finished`, `Exec denied`.

use std::fmt;
use std::pin::Pin;

use super::question::Id;

/// One thing that is told of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifecycle {
    /// The question.
    pub id: Id,
    /// What it is told of.
    pub command: String,
    /// What.
    pub going: Going,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this status.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// Its parent had taken the status, and the kernel is older than Linux 6.15.
    Unknown,
}

/// The end of a process that runs.
pub type RunningProcess = Pin<Box<dyn Future<Output = Ending> + Send>>;

/// How a program goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Going {
    /// It runs for `exec.runningNoticeMs` already.
    Running,
    /// It has ended.
    Finished(Ending),
    /// It may not start, for this reason.
    Denied(DenyReason),
}

/// Why a program may not start: OpenClaw's words where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenyReason {
    /// Somebody said no, now or a moment ago.
    User,
    /// Nobody answered in time.
    Timeout,
    /// Nobody could be asked.
    NoRoute,
    /// It was not asked, or could not be.
    Failed,
    /// It is not what was approved any more.
    Changed,
}

impl DenyReason {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            DenyReason::User => "user-denied",
            DenyReason::Timeout => "approval-timeout",
            DenyReason::NoRoute => "no-approval-route",
            DenyReason::Failed => "approval-request-failed",
            DenyReason::Changed => "changed-while-waiting",
        }
    }
}

impl Lifecycle {
    /// `running`, `finished` or `denied`.
    pub fn word(&self) -> &'static str {
        match self.going {
            Going::Running => "running",
            Going::Finished(_) => "finished",
            Going::Denied(_) => "denied",
        }
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lifecycle { id, command, going } = self;
        match going {
            Going::Running => write!(f, "Exec running (guard id={id}): {command}"),
            Going::Finished(Ending::Code(code)) => {
                write!(f, "Exec finished (guard id={id}, code {code}): {command}")
            }
            Going::Finished(Ending::Signal(signal)) => {
                write!(f, "Exec finished (guard id={id}, signal {signal}): {command}")
            }
            Going::Finished(Ending::Unknown) => write!(f, "Exec finished (guard id={id}): {command}"),
            Going::Denied(reason) => {
                write!(f, "Exec denied (guard id={id}, {}): {command}", reason.as_str())
            }
        }
    }
}
