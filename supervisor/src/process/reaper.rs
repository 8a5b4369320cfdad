//! The reaper: the process that inherits every orphan of the tree.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use guard_shim::LaunchPlan;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus};

use super::leader;
use super::message::{Message, ProcessMessage};
use crate::kernel::fork::{Side, quit, split, split_unseen};

/// Starts the command, through a session leader if it has a terminal, and reaps until the tree is gone.
pub fn main(plan: LaunchPlan, channel: OwnedFd, to_supervisor: OwnedFd, jobs: Option<OwnedFd>) -> ! {
    // No signal may end the reaper while the tree lives. The shim resets the command's mask.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    if nix::sys::prctl::set_child_subreaper(true).is_err() {
        exit();
    }
    match jobs {
        Some(jobs) => with_leader(plan, channel, to_supervisor, jobs),
        None => alone(plan, channel, to_supervisor),
    }
}

/// Leaves the command's session and process group, so that signals to them do not reach the reaper.
fn withdraw() {
    let _ = rustix::process::setsid();
    let _ = nix::sys::prctl::set_dumpable(false);
    super::detach_stdio([true, true, true]);
}

/// Starts the command as a child of the reaper.
fn alone(plan: LaunchPlan, channel: OwnedFd, to_supervisor: OwnedFd) -> ! {
    let command = match split() {
        Ok(Side::Child) => {
            drop(to_supervisor);
            guard_shim::run(plan, channel)
        }
        Ok(Side::Parent(command)) => command.as_raw(),
        Err(_) => exit(),
    };
    drop(channel);
    plan.forget();
    withdraw();
    let mut to_supervisor = File::from(to_supervisor);
    // Fails only if the supervisor is gone.
    let _ = ProcessMessage::Started(command).send(&mut to_supervisor);
    // The reaper has one thread and traces nothing, so it may wait for any child.
    while let Some((pid, state)) = next(WaitOptions::empty()) {
        if pid == command
            && let Some(end) = leader::end_of(state)
        {
            let _ = ProcessMessage::Ended(end).send(&mut to_supervisor);
        }
    }
    exit()
}

/// Starts the command as a child of a leader, which is itself a child that the reaper's waits do not see.
fn with_leader(plan: LaunchPlan, channel: OwnedFd, to_supervisor: OwnedFd, jobs: OwnedFd) -> ! {
    let orphans = SigSet::from_iter([Signal::SIGCHLD]);
    let orphans = SignalFd::with_flags(&orphans, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
    let (Ok(orphans), Ok((leads, leading))) = (orphans, super::pipe()) else { exit() };
    match split_unseen() {
        Ok(Side::Child) => {
            drop((orphans, leads));
            leader::main(plan, channel, leader::LeaderPipes { to_supervisor, leading, jobs })
        }
        Ok(Side::Parent(_)) => {}
        Err(_) => exit(),
    }
    drop((channel, jobs, leading));
    plan.forget();
    withdraw();
    let mut ready =
        [PollFd::new(leads.as_fd(), PollFlags::POLLIN), PollFd::new(orphans.as_fd(), PollFlags::POLLIN)];
    // While the command runs, the lack of children does not mean that the tree is gone.
    while poll(&mut ready, PollTimeout::NONE).is_err() || !ready[0].any().unwrap_or(true) {
        while let Ok(Some(_)) = orphans.read_signal() {}
        while next(WaitOptions::NOHANG).is_some() {}
    }
    while next(WaitOptions::empty()).is_some() {}
    exit()
}

/// Reaps a child that has ended. Returns None if there is no child, or with NOHANG if none has ended.
fn next(options: WaitOptions) -> Option<(i32, WaitStatus)> {
    loop {
        match rustix::process::wait(options) {
            Ok(ended) => return ended.map(|(pid, state)| (pid.as_raw_nonzero().get(), state)),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

fn exit() -> ! {
    quit()
}
