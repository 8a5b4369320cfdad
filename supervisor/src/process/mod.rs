//! The guard's own processes.
//!
//! ```text
//! front          started by the operator; returns the command's status
//! └─ supervisor  answers held calls; a session of its own; stays until the tree is gone
//!    └─ reaper   the subreaper that orphans of the tree fall to
//!       └─ the command, and all that it starts
//! ```
//!
//! The reaper is a process of its own so that the supervisor has no child in the tree: its workers wait for what they
//! trace, and a wait for "any child" elsewhere in the same process would take their events.

mod ending;
mod front;
mod reaper;
mod supervisor;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use guard_policy::Policy;
use guard_shim::Plan;
use rustix::io::Errno;

use crate::audit::AuditLog;
use crate::exit::Exit;
use crate::guard::FloorPlan;
use crate::kernel::fork::{Side, split};

/// What is to be run, and how.
pub struct Order {
    /// The command's name, for messages.
    pub name: OsString,
    /// What the child needs.
    pub plan: Plan,
    /// What is allowed.
    pub policy: Policy,
    /// What the floor lets the kernel do by itself.
    pub floor: FloorPlan,
    /// Where decisions are logged.
    pub audit: Option<AuditLog>,
    /// `--observe`
    pub observe: bool,
    /// Lines on stderr for denials.
    pub lines: bool,
    /// `--kill-on-exit`
    pub kill_on_exit: bool,
}

/// Why the guard's processes did not come up.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("cannot start a process: {0}")]
    Fork(Errno),
    #[error("cannot make a pipe: {0}")]
    Pipe(Errno),
    #[error(
        "the supervisor ended before the command did; what is left of the tree can open and start nothing"
    )]
    SupervisorLost,
}

/// Starts the guard's processes and the command; returns in the front process, when the command has ended.
///
/// # Errors
/// When they cannot be started, or the supervisor is lost.
pub fn start(order: Order) -> Result<Exit, ProcessError> {
    let (news, to_front) = pipe()?;
    let front = rustix::process::getpid();
    // Before the fork: a signal that comes in between must not end the front alone.
    let signals = front::hold_signals();
    match split().map_err(ProcessError::Fork)? {
        Side::Parent(_) => {
            drop(to_front);
            front::wait(news, &signals)
        }
        Side::Child => {
            drop(news);
            supervisor::main(order, front, to_front)
        }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), ProcessError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(ProcessError::Pipe)
}

/// What the processes tell each other, downstream to upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// The command's process.
    Started(i32),
    /// The command has ended with this exit status.
    Ended(u8),
}

impl News {
    fn send(self, mut to: impl Write) -> std::io::Result<()> {
        let (tag, value) = match self {
            News::Started(pid) => (b'P', pid),
            News::Ended(status) => (b'E', i32::from(status)),
        };
        let [a, b, c, d] = value.to_ne_bytes();
        to.write_all(&[tag, a, b, c, d])
    }

    /// None at the end.
    fn receive(mut from: impl Read) -> Option<News> {
        let mut message = [0; 5];
        from.read_exact(&mut message).ok()?;
        let [tag, a, b, c, d] = message;
        let value = i32::from_ne_bytes([a, b, c, d]);
        match tag {
            b'P' => Some(News::Started(value)),
            b'E' => Some(News::Ended(value as u8)),
            _ => None,
        }
    }
}

/// The soft and hard limit of descriptors that the command is to have: the operator's.
pub fn descriptor_limit() -> (u64, u64) {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// The signals that were ignored when the guard was started, as nohup(1) does.
///
/// SIGPIPE is not among them: the Rust runtime ignores it before anything of ours runs, so what it was is unknown.
pub fn ignored_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .unwrap_or(0);
    (1..=64).filter(|signal| *signal != libc::SIGPIPE && mask >> (signal - 1) & 1 == 1).collect()
}
