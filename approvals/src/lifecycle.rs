//! How an approved program goes on, in OpenClaw's words (2026.4.12, src/agents/bash-tools.exec-host-gateway.ts): `Exec
//! running`, `Exec finished`, `Exec denied`.

use std::fmt;
use std::pin::Pin;

use super::question::Id;

/// One report about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifecycle {
    /// The question.
    pub id: Id,
    /// The command line of the program.
    pub command: String,
    /// What the report says.
    pub going: Going,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this status.
    Code(i32),
    /// A signal killed it.
    Signal(i32),
    /// Not known: the parent had already reaped the process, and the kernel is older than Linux 6.15.
    Unknown,
}

/// Resolves when a running process ends.
pub type RunningProcess = Pin<Box<dyn Future<Output = Ending> + Send>>;

/// How a program goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Going {
    /// It has been running for `exec.runningNoticeMs`.
    Running,
    /// It has ended.
    Finished(Ending),
    /// It was not started, for this reason.
    Denied(DenyReason),
}

/// Why a program was not started; OpenClaw's word where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenyReason {
    /// Somebody denied it, now or a moment ago.
    User,
    /// Nobody answered in time.
    Timeout,
    /// Nobody could be asked.
    NoRoute,
    /// The question was refused or could not be asked.
    Failed,
    /// The program has changed since it was approved.
    Changed,
}

impl DenyReason {
    /// The reason as a word.
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
