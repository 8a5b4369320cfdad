//! The leader of the session on the guard's terminal: to the command what an interactive shell is to its job.
//!
//! The reaper cannot be it: an orphan whose new parent is in its own session would not count as orphaned, and a
//! stopped one would stay so for ever (setpgid(2), orphaned process groups).

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use guard_shim::{JobTerminal, LaunchPlan};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::message::{CommandEnd, Job, Message, ProcessMessage, Stopped};
use crate::kernel::errno;
use crate::kernel::fork::{Side, quit, split};

/// Whom the leader talks to.
pub struct LeaderPipes {
    /// News for the supervisor.
    pub to_supervisor: OwnedFd,
    /// For the reaper; closed when the command has ended.
    pub leading: OwnedFd,
    /// The front's orders.
    pub jobs: OwnedFd,
}

/// Starts the command as a job on the terminal, and looks after it until it ends.
///
/// Every signal is blocked already. Returns never; the reaper's end ends it.
pub fn main(plan: LaunchPlan, channel: OwnedFd, ends: LeaderPipes) -> ! {
    let LeaderPipes { to_supervisor, leading, jobs } = ends;
    let led = lead(&plan).and_then(|slave| {
        let sigchld = SigSet::from_iter([Signal::SIGCHLD]);
        let children = SignalFd::with_flags(&sigchld, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(errno::from_nix)?;
        Ok((slave, children))
    });
    // The supervisor sees the channel's end, and says so.
    let Ok((slave, children)) = led else { quit() };
    let mut to_supervisor = File::from(to_supervisor);
    // A supervisor that is gone needs no news.
    let _ = ProcessMessage::Leads(rustix::process::getpid().as_raw_nonzero().get()).send(&mut to_supervisor);
    let command = match split() {
        Ok(Side::Child) => {
            drop((to_supervisor, leading, jobs, children, slave));
            guard_shim::run(plan, channel)
        }
        Ok(Side::Parent(command)) => command,
        Err(_) => quit(),
    };
    drop(channel);
    plan.forget();
    let _ = nix::sys::prctl::set_dumpable(false);
    super::detach_stdio([true, true, true]);
    let Some(command) = Pid::from_raw(command.as_raw()) else { quit() };
    // The command does so too: whoever comes first. A signal for the group must find it.
    let _ = rustix::process::setpgid(Some(command), Some(command));
    let _ = ProcessMessage::Started(command.as_raw_nonzero().get()).send(&mut to_supervisor);
    let end = Leader { slave, command, jobs: File::from(jobs) }.wait(&children);
    // The supervisor, the front: both wait for this, and find the terminal let go of.
    let _ = ProcessMessage::Ended(end).send(&mut to_supervisor);
    drop((to_supervisor, leading));
    loop {
        // What is left of the session keeps its terminal as long as it has a leader.
        nix::unistd::pause();
    }
}

/// Leads a new session on the plan's terminal. Returns a descriptor of it.
fn lead(plan: &LaunchPlan) -> Result<OwnedFd, Errno> {
    let JobTerminal { slave, .. } = plan.terminal.as_ref().ok_or(Errno::NOTTY)?;
    // SIGKILL is the one signal that is not blocked.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    rustix::process::setsid()?;
    rustix::process::ioctl_tiocsctty(slave)?;
    rustix::io::fcntl_dupfd_cloexec(slave, 3)
}

/// What has become of the command.
enum CommandChange {
    Stopped(i32),
    Ended(CommandEnd),
}

struct Leader {
    slave: OwnedFd,
    command: Pid,
    jobs: File,
}

impl Leader {
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
            // One change and one order in turn: a command that stops and goes on all the time keeps nobody waiting.
            let change = self.change();
            wait = if change.is_some() { PollTimeout::ZERO } else { PollTimeout::NONE };
            if let Some(change) = change {
                // As a shell does. At the end of a leader the foreground group is hung up on.
                self.give_terminal(rustix::process::getpid());
                match change {
                    CommandChange::Ended(end) => return end,
                    CommandChange::Stopped(signal) => self.report(Stopped(signal)),
                }
            }
            if asked {
                match Job::receive(&mut self.jobs) {
                    Some(job) => self.carry_out(job),
                    None => front_is_there = false,
                }
            }
        }
    }

    /// What has become of the command since this was asked last.
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

    /// Does not wait for a front that is stopped itself: with hundreds of stops to hear of it needs no more.
    fn report(&self, stopped: Stopped) {
        let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
        // A front that is gone will not have it go on either.
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
            // Not yet waited for, the command keeps its number: it cannot be another group's.
            Job::Signal(signal) => {
                if let Ok(signal) = Signal::try_from(signal) {
                    let group = nix::unistd::Pid::from_raw(self.command.as_raw_nonzero().get());
                    let _ = nix::sys::signal::killpg(group, signal);
                }
            }
        }
    }

    fn give_terminal(&self, group: Pid) {
        // SIGTTOU is blocked: asking from the background stops nobody. A terminal that was hung up has no foreground.
        let _ = rustix::termios::tcsetpgrp(&self.slave, group);
    }
}

/// How a child that was waited for has ended, if it has.
pub fn end_of(state: WaitStatus) -> Option<CommandEnd> {
    let status = state.exit_status().map(|status| CommandEnd::Status(status as u8));
    status.or_else(|| state.terminating_signal().map(CommandEnd::Signal))
}
