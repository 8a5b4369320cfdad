//! The leader of the session on the guard's terminal. It manages the command as an interactive shell manages
//! a job.
//!
//! The reaper cannot be the leader: the process group of an orphan whose new parent is in its own session
//! does not count as orphaned, so a stopped orphan would stay stopped for ever (setpgid(2), orphaned process
//! groups).
//!
//! Why: docs/decisions.md, "The leader is neither the command nor the reaper."

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use guard_approvals::Ending;
use guard_shim::{JobTerminal, LaunchPlan};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::message::{CommandEnd, Job, Message, ProcessMessage, Stopped, ToldToEnd};
use crate::kernel::errno;
use crate::kernel::fork::{Side, quit, split};
use crate::kernel::pidfd::ProcessHandle;

/// The leader's connections to the other processes.
pub struct LeaderLinks {
    /// Messages for the supervisor.
    pub to_supervisor: OwnedFd,
    /// The process that the operator started.
    pub front: ProcessHandle,
    /// Orders from the front.
    pub jobs: OwnedFd,
}

/// Starts the command as a job on the terminal, and manages it until it ends.
///
/// The caller has blocked every signal. `leading` is a pipe to the reaper, which is closed when the command has ended.
/// Never returns: the kernel kills this process when the reaper ends.
pub fn main(plan: LaunchPlan, channel: OwnedFd, links: LeaderLinks, leading: OwnedFd) -> ! {
    let LeaderLinks { to_supervisor, front, jobs } = links;
    let led = lead(&plan).and_then(|slave| Ok((slave, ended_children().map_err(errno::from_nix)?)));
    // The supervisor sees the end of the pipe, and reports the failure.
    let Ok((slave, children)) = led else { quit() };
    let mut to_supervisor = File::from(to_supervisor);
    // Fails only if the supervisor is gone.
    let _ = ProcessMessage::Leads(rustix::process::getpid().as_raw_nonzero().get()).send(&mut to_supervisor);
    let command = match split() {
        Ok(Side::Child) => {
            drop((to_supervisor, leading, jobs, front, children, slave));
            run(plan, channel)
        }
        Ok(Side::Parent(command)) => command,
        Err(_) => quit(),
    };
    drop(channel);
    plan.forget();
    let _ = nix::sys::prctl::set_dumpable(false);
    super::detach_stdio([true, true, true]);
    let Some(command) = Pid::from_raw(command.as_raw()) else { quit() };
    // The command does this as well, whichever comes first: the group must exist before it is signalled.
    let _ = rustix::process::setpgid(Some(command), Some(command));
    let _ = ProcessMessage::Started(command.as_raw_nonzero().get()).send(&mut to_supervisor);
    let leader = Leader { slave, command, front, jobs: File::from(jobs), to_supervisor: &to_supervisor };
    let end = leader.wait(&children);
    // The supervisor and the front wait for this message. By then the terminal is taken from the command.
    let _ = ProcessMessage::Ended(end).send(&mut to_supervisor);
    drop((to_supervisor, leading));
    loop {
        // The remaining processes of the session keep their terminal as long as it has a leader.
        nix::unistd::pause();
    }
}

/// Makes the kernel report ended children by a descriptor.
pub fn ended_children() -> nix::Result<SignalFd> {
    let sigchld = SigSet::from_iter([Signal::SIGCHLD]);
    SignalFd::with_flags(&sigchld, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// The signal that ends the command after the front was killed: the one that killed the front. Without the guard, it
/// would have killed the command itself.
pub fn deadly_signal(front: &ProcessHandle) -> Signal {
    match front.ending() {
        Ending::Signal(signal) => Signal::try_from(signal).unwrap_or(Signal::SIGKILL),
        _ => Signal::SIGKILL,
    }
}

/// Becomes the leader of a new session on the plan's terminal. Returns a descriptor of the terminal.
fn lead(plan: &LaunchPlan) -> Result<OwnedFd, Errno> {
    let JobTerminal { slave, .. } = plan.terminal.as_ref().ok_or(Errno::NOTTY)?;
    // SIGKILL is the only signal that is not blocked.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    rustix::process::setsid()?;
    rustix::process::ioctl_tiocsctty(slave)?;
    rustix::io::fcntl_dupfd_cloexec(slave, 3)
}

/// Becomes the command. If all of the guard's processes are killed at once, only the kernel can end the command.
pub fn run(plan: LaunchPlan, channel: OwnedFd) -> ! {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    guard_shim::run(plan, channel)
}

/// A change in the command's state.
enum CommandChange {
    Stopped(i32),
    Ended(CommandEnd),
}

struct Leader<'a> {
    slave: OwnedFd,
    command: Pid,
    front: ProcessHandle,
    jobs: File,
    to_supervisor: &'a File,
}

impl Leader<'_> {
    fn wait(mut self, children: &SignalFd) -> CommandEnd {
        let mut front_is_there = true;
        let mut wait = PollTimeout::NONE;
        loop {
            let mut ready = vec![PollFd::new(children.as_fd(), PollFlags::POLLIN)];
            if front_is_there {
                ready.push(PollFd::new(self.jobs.as_fd(), PollFlags::POLLIN));
            }
            if poll(&mut ready, wait).is_err() {
                continue;
            }
            let asked = ready.get(1).is_some_and(|jobs| jobs.any().unwrap_or(false));
            while let Ok(Some(_)) = children.read_signal() {}
            // Handles one change and one order in turn, so that a command that keeps stopping cannot delay
            // orders.
            let change = self.change();
            wait = if change.is_some() { PollTimeout::ZERO } else { PollTimeout::NONE };
            if let Some(change) = change {
                // Takes the terminal back as a shell does. When a leader ends, the kernel sends SIGHUP to the
                // foreground group.
                self.give_terminal(rustix::process::getpid());
                match change {
                    CommandChange::Ended(end) => return end,
                    CommandChange::Stopped(signal) => self.report(Stopped(signal)),
                }
            }
            if asked {
                match Job::receive(&mut self.jobs) {
                    Some(job) => self.carry_out(job),
                    None => {
                        front_is_there = false;
                        self.end_command();
                    }
                }
            }
        }
    }

    /// Ends the command after the front was killed.
    fn end_command(&self) {
        let mut ended = [PollFd::new(self.front.as_fd(), PollFlags::POLLIN)];
        // The front's socket closes just before the front ends.
        while poll(&mut ended, PollTimeout::NONE).is_err() {}
        let signal = deadly_signal(&self.front);
        // The command has not been reaped, so its number is still its own.
        let _ =
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.command.as_raw_nonzero().get()), signal);
    }

    /// Returns the command's next state change, if there is one.
    fn change(&self) -> Option<CommandChange> {
        loop {
            let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
            let (_, state) = rustix::process::waitpid(Some(self.command), options).ok().flatten()?;
            if let Some(end) = end_of(state) {
                return Some(CommandChange::Ended(end));
            }
            if let Some(signal) = state.stopping_signal().filter(|signal| Stopped::SIGNALS.contains(signal)) {
                return Some(CommandChange::Stopped(signal));
            }
        }
    }

    /// Reports a stop to the front without blocking: the front may be stopped itself, and a full socket
    /// already holds hundreds of stops.
    fn report(&self, stopped: Stopped) {
        let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
        // If the front is gone, nothing will continue the command either.
        let _ = rustix::net::send(&self.jobs, &stopped.into_bytes(), flags);
    }

    fn carry_out(&self, job: Job) {
        let own = rustix::process::getpid();
        match job {
            Job::Foreground => {
                if rustix::termios::tcgetpgrp(&self.slave).is_ok_and(|front| front == own) {
                    self.give_terminal(self.command);
                }
            }
            Job::Background => self.give_terminal(own),
            // The command has not been reaped, so its number cannot be that of another group.
            Job::Signal(signal) => {
                if let Ok(named) = Signal::try_from(signal) {
                    let group = nix::unistd::Pid::from_raw(self.command.as_raw_nonzero().get());
                    let _ = nix::sys::signal::killpg(group, named);
                }
                // The message follows the signal: a command that the signal ends must not see its call refused before.
                if let Some(told) = ToldToEnd::by(signal) {
                    let _ = ProcessMessage::ToldToEnd(told).send(self.to_supervisor);
                }
            }
        }
    }

    fn give_terminal(&self, group: Pid) {
        // SIGTTOU is blocked, so calling this from the background stops nothing. The call fails if the
        // terminal was hung up: then it has no foreground.
        let _ = rustix::termios::tcsetpgrp(&self.slave, group);
    }
}

/// Returns how a child has ended, or None if it has only stopped or continued.
pub fn end_of(state: WaitStatus) -> Option<CommandEnd> {
    let status = state.exit_status().map(|status| CommandEnd::Status(status as u8));
    status.or_else(|| state.terminating_signal().map(CommandEnd::Signal))
}
