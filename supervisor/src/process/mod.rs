//! The guard's own processes.
//!
//! ```text
//! front             started by the operator; carries what is typed and shown; returns the command's status
//! └─ supervisor     answers held calls; a session of its own; stays until the tree is gone
//!    └─ reaper      the subreaper that orphans of the tree fall to; a session of its own
//!       └─ leader   leads the session on the guard's terminal, where the operator has a terminal
//!          └─ the command, and all that it starts
//! ```
//!
//! Without a terminal there is no leader, and the command is in the operator's session and process group.
//! The reaper is a process of its own so that the supervisor has no child in the tree: its workers wait for what they
//! trace, and a wait for "any child" elsewhere in the same process would take their events.

mod console;
mod ending;
mod front;
mod front_signals;
mod leader;
mod message;
mod reaper;
mod supervisor;

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use guard_policy::Policy;
use guard_shim::LaunchPlan;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::audit::Writer;
use crate::config::reload::PolicySource;
use crate::exit::Exit;
use crate::judge::recorder::Recorder;
use crate::kernel::fork::{Side, split};
use crate::kernel::signals;
use crate::landlock;
use crate::terminal::Tty;
use console::{Console, Far};

/// What is to be run, and how.
pub struct Spawn {
    /// The command's name, for messages.
    pub name: OsString,
    /// What the child needs.
    pub plan: LaunchPlan,
    /// The operator's terminal.
    pub terminal: Option<Tty>,
    /// What is allowed.
    pub policy: Policy,
    /// Where that comes from.
    pub source: PolicySource,
    /// What the floor lets the kernel do by itself.
    pub floor: landlock::LandlockPlan,
    /// Where decisions are logged.
    pub audit: Writer,
    /// `--observe`
    pub observe: bool,
    /// Whether a human is asked where the policy says so.
    pub is_attended: bool,
    /// Where what the tree does is recorded. The policy then stays what it is.
    pub recorder: Option<Recorder>,
    /// Lines on stderr for denials.
    pub lines: bool,
    /// `--kill-on-exit`
    pub kill_on_exit: bool,
}

impl Spawn {
    /// Closes its descriptors and leaves its memory as it is: after a fork, what is freed would be copied first.
    fn forget(self) {
        let Spawn { name, plan, terminal, policy, source, floor, audit, .. } = self;
        std::mem::forget((name, policy, source, floor));
        drop(terminal);
        plan.forget();
        audit.forget();
    }
}

/// Why the guard's processes did not come up.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("cannot start a process: {0}")]
    Fork(Errno),
    #[error("cannot make a pipe: {0}")]
    Pipe(Errno),
    #[error("cannot make a terminal for the command: {0}")]
    Terminal(Errno),
    #[error("cannot make a socket for approvals: {0}")]
    Link(std::io::Error),
    #[error(
        "the supervisor ended before the command did; what is left of the tree can open and start nothing"
    )]
    SupervisorLost,
}

/// Starts the guard's processes and the command; returns in the front process, when the command has ended.
///
/// # Errors
/// When they cannot be started, or the supervisor is lost.
pub fn start(mut order: Spawn) -> Result<Exit, ProcessError> {
    let (news, to_front) = pipe()?;
    let front = rustix::process::getpid();
    let opened = order.terminal.take().map(Console::open).transpose().map_err(ProcessError::Terminal)?;
    let (console, far) = opened.unzip();
    // Standard library sockets are closed on exec.
    let link = console.as_ref().map(|_| UnixStream::pair()).transpose().map_err(ProcessError::Link)?;
    let (to_supervisor, link) = link.unzip();
    let jobs = far.map(|Far { terminal, jobs }| {
        order.plan.terminal = Some(terminal);
        jobs
    });
    // Before the fork: a signal that comes in between must not end the front alone.
    let signals = front_signals::block_signals(console.is_some());
    match split().map_err(ProcessError::Fork)? {
        Side::Parent(_) => {
            drop((to_front, jobs, link));
            order.forget();
            front::wait(news, &signals, console, to_supervisor)
        }
        Side::Child => {
            drop((news, console, to_supervisor));
            supervisor::main(order, front, to_front, jobs, link)
        }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), ProcessError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(ProcessError::Pipe)
}

/// Replaces descriptors 0, 1 and 2 by /dev/null: held open they would keep pipes of the operator from ending.
pub fn detach_stdio(which: [bool; 3]) {
    let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    replace_stdio(&null, which);
}

/// Puts a file on some of the descriptors 0, 1 and 2. One that cannot be replaced stays what it is.
fn replace_stdio(file: impl AsFd, [input, output, error]: [bool; 3]) {
    if input {
        let _ = rustix::stdio::dup2_stdin(&file);
    }
    if output {
        let _ = rustix::stdio::dup2_stdout(&file);
    }
    if error {
        let _ = rustix::stdio::dup2_stderr(&file);
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
    signals::ignored().filter(|&signal| signal != libc::SIGPIPE).collect()
}
