//! The reaper: every orphan of the tree falls to it.

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

/// Starts the command, by a leader of a session where it has a terminal, and reaps until nothing is left of the tree.
pub fn main(plan: LaunchPlan, channel: OwnedFd, to_supervisor: OwnedFd, jobs: Option<OwnedFd>) -> ! {
    // Nothing may end the reaper while the tree lives. The command's own mask is reset by the shim.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    if nix::sys::prctl::set_child_subreaper(true).is_err() {
        exit();
    }
    match jobs {
        Some(jobs) => with_leader(plan, channel, to_supervisor, jobs),
        None => alone(plan, channel, to_supervisor),
    }
}

/// Out of the command's session and group: signals to those are not for the reaper.
fn withdraw() {
    let _ = rustix::process::setsid();
    let _ = nix::sys::prctl::set_dumpable(false);
    super::detach_stdio([true, true, true]);
}

/// The reaper is the command's parent.
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
    // A supervisor that is gone needs no news.
    let _ = ProcessMessage::Started(command).send(&mut to_supervisor);
    // The reaper has one thread and traces nothing: every child is its own to wait for.
    while let Some((pid, state)) = next(WaitOptions::empty()) {
        if pid == command
            && let Some(end) = leader::end_of(state)
        {
            let _ = ProcessMessage::Ended(end).send(&mut to_supervisor);
        }
    }
    exit()
}

/// The leader is the command's parent, and a child that the reaper's waiting does not see.
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
    // Until the command has ended there may be no orphan, and still be a tree.
    while poll(&mut ready, PollTimeout::NONE).is_err() || !ready[0].any().unwrap_or(true) {
        while let Ok(Some(_)) = orphans.read_signal() {}
        while next(WaitOptions::NOHANG).is_some() {}
    }
    while next(WaitOptions::empty()).is_some() {}
    exit()
}

/// A child that has ended; None when there is none to wait for, or none yet.
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
