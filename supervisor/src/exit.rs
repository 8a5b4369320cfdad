//! Exit statuses, as used by env(1), timeout(1) and the shell.

use std::process::ExitCode;

/// How the guard itself exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0
    Success,
    /// 1: `check` reports deny.
    Denied,
    /// 1: `policy` found an error.
    Wrong,
    /// 1: a decision of `approvals` was not accepted.
    Unanswered,
    /// 2: `check` reports ask.
    Ask,
    /// 125: the guard failed; the command may not have run.
    Failure,
    /// The status of the command: 126 if it was denied, 127 if it was not found.
    Command(u8),
    /// The signal that ended the command. The guard ends itself by the same signal, which a shell shows as 128 + n.
    Signal(i32),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::Denied | Exit::Wrong | Exit::Unanswered => 1,
            Exit::Ask => 2,
            Exit::Failure => 125,
            Exit::Command(status) => status,
            Exit::Signal(signal) => {
                crate::kernel::requests::end_by(signal);
                128 + signal as u8
            }
        })
    }
}
