//! The guard's own processes.
//!
//! ```text
//! front             started by the operator; relays input and output; returns the command's status
//! ├─ outside        starts approved commands outside the guard, if elevated.enabled is set
//! └─ supervisor     answers held calls; has its own session; stays until the tree is gone
//!    └─ reaper      the subreaper that inherits the tree's orphans; has its own session
//!       └─ leader   leads the session on the guard's terminal, if the operator has a terminal
//!          └─ the command, and everything that it starts
//! ```
//!
//! Without a terminal there is no leader, and the command is in the operator's session and process group. The
//! reaper is a separate process so that the supervisor has no child in the tree: its workers wait for the
//! processes that they trace, and a wait for "any child" elsewhere in the same process would take their
//! events.

mod console;
mod ending;
mod front;
mod front_signals;
mod guarded_tree;
mod hardening;
mod leader;
mod limits;
mod message;
mod outside;
mod reaper;
mod running_command;
mod session_socket;
mod supervisor;

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use guard_policy::{ElevatedSender, Limits, Policy};
use guard_shim::LaunchPlan;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::audit::Writer;
use crate::config::node_run::RunApproval;
use crate::config::reload::PolicySource;
use crate::exit::Exit;
use crate::judge::recorder::Recorder;
use crate::kernel::fork::{Side, split};
use crate::kernel::signals;
use crate::landlock;
use crate::outside::Unavailable;
use crate::terminal::Tty;
use crate::web::ProxySockets;
use console::{Console, Far};

/// The command to run, and how to guard it.
pub struct Spawn {
    /// The command's name, for messages.
    pub name: OsString,
    /// What the child needs to start the command.
    pub plan: LaunchPlan,
    /// The operator's terminal.
    pub terminal: Option<Tty>,
    /// Whether commands may run outside the guard at all.
    pub outside: Result<(), Unavailable>,
    /// `--kill-on-exit`
    pub kill_on_exit: bool,
    /// The socket to the node that wants this run. All of the guard's processes hold it open, and the tree never does.
    pub lifeline: Option<OwnedFd>,
    /// How the supervisor guards it.
    pub session: SessionSettings,
}

/// How the supervisor guards a command.
pub struct SessionSettings {
    /// The policy at the start.
    pub policy: Policy,
    /// The files and options that the policy comes from.
    pub source: PolicySource,
    /// The Landlock floor: what the kernel may decide without the supervisor.
    pub floor: landlock::LandlockPlan,
    /// Where decisions are logged.
    pub audit: Writer,
    /// With `network.web`, the sockets of the proxy to start.
    pub proxy: Option<ProxySockets>,
    /// `--observe`
    pub observe: bool,
    /// Whether a human is available for the policy's questions.
    pub is_attended: bool,
    /// Who the session is with.
    pub sender: ElevatedSender,
    /// Records what the tree does. If set, changes of the policy's files are not watched.
    pub recorder: Option<Recorder>,
    /// Whether denials are printed on stderr.
    pub lines: bool,
    /// What somebody has approved of a node's run.
    pub approval: Option<RunApproval>,
    /// How much the session may take.
    pub limits: Limits,
}

impl Spawn {
    /// Closes its descriptors without freeing its memory: after a fork, freeing would first copy the pages.
    fn forget(self) {
        let Spawn { name, plan, terminal, session, .. } = self;
        let SessionSettings { policy, source, floor, audit, approval, sender, .. } = session;
        floor.grants().close();
        std::mem::forget((name, policy, source, floor, approval, sender));
        drop(terminal);
        plan.forget();
        audit.forget();
    }
}

/// Why the guard's processes could not start or go on.
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
        "the guard's supervisor or reaper was killed before the command ended; the guard ends the command and what it started"
    )]
    SupervisorLost,
}

/// Starts the guard's processes and the command. Returns in the front process, after the command has ended.
///
/// # Errors
/// If the processes cannot be started, or the supervisor is lost.
pub fn start(mut order: Spawn) -> Result<Exit, ProcessError> {
    let others = front::OtherChildren::now();
    // The process outside is forked first: this process still has all that the operator's commands have, and nothing
    // that they must not have.
    let outside = match order.outside {
        Ok(()) => {
            let (ours, theirs) = guard_shim::channel().map_err(ProcessError::Link)?;
            match split().map_err(ProcessError::Fork)? {
                Side::Parent(_) => Ok(ours),
                Side::Child => {
                    drop(ours);
                    order.forget();
                    outside::main(theirs)
                }
            }
        }
        Err(why) => Err(why),
    };
    let (from_supervisor, to_front) = pipe()?;
    let (from_front, to_supervisor) = pipe()?;
    let front = rustix::process::getpid();
    let opened = order.terminal.take().map(Console::open).transpose().map_err(ProcessError::Terminal)?;
    let (console, far) = opened.unzip();
    // The standard library opens sockets with SOCK_CLOEXEC.
    let link = console.as_ref().map(|_| UnixStream::pair()).transpose().map_err(ProcessError::Link)?;
    let (prompt, link) = link.unzip();
    let jobs = far.map(|Far { terminal, jobs }| {
        order.plan.terminal = Some(terminal);
        jobs
    });
    let screen = console.as_ref().map(|console| console.relay.screen_state());
    // Signals are blocked before the fork: a signal in between must not end the front alone.
    let signals = front_signals::block_signals(console.is_some());
    match split().map_err(ProcessError::Fork)? {
        Side::Parent(supervisor) => {
            drop((to_front, from_front, jobs, link, screen, outside));
            let lifeline = order.lifeline.take();
            order.forget();
            let below = front::Below { supervisor, from_supervisor, to_supervisor, others, lifeline };
            front::wait(below, &signals, console, prompt)
        }
        Side::Child => {
            drop((from_supervisor, console, to_supervisor, prompt));
            let links = guarded_tree::FrontLinks {
                front,
                from_front,
                jobs,
                prompt: link,
                screen: screen.flatten(),
                outside,
            };
            supervisor::main(order, to_front, links)
        }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), ProcessError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(ProcessError::Pipe)
}

/// Redirects the given ones of descriptors 0, 1 and 2 to /dev/null, so that the operator's pipes see EOF.
pub fn detach_stdio(which: [bool; 3]) {
    let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    replace_stdio(&null, which);
}

/// Replaces the given ones of descriptors 0, 1 and 2 by a file. A descriptor that cannot be replaced stays
/// unchanged.
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

/// Returns the soft and hard limit of descriptors for the command: the operator's, or less.
pub fn descriptor_limit(limits: &Limits) -> (u64, u64) {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = limits.open_files.unwrap_or(u64::MAX);
    (limit.current.unwrap_or(u64::MAX).min(most), limit.maximum.unwrap_or(u64::MAX).min(most))
}

pub use limits::process_limit;

/// Returns the signals that were ignored when the guard was started, for instance by nohup(1).
///
/// SIGPIPE is left out: the Rust runtime ignores it before `main`, so its original state is unknown.
pub fn ignored_signals() -> Vec<i32> {
    signals::ignored().filter(|&signal| signal != libc::SIGPIPE).collect()
}
