//! The reaper: parent of the command and of every orphan of the tree.

use std::fs::File;
use std::os::fd::OwnedFd;

use guard_shim::Plan;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use rustix::io::Errno;
use rustix::process::WaitOptions;

use super::News;
use crate::kernel::fork::{Side, split};

/// Starts the command and reaps until nothing is left of the tree.
pub fn main(plan: Plan, channel: OwnedFd, to_supervisor: OwnedFd) -> ! {
    // Nothing may end the reaper while the tree lives. The command's own mask is reset by the shim.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    if nix::sys::prctl::set_child_subreaper(true).is_err() {
        leave();
    }
    let command = match split() {
        Ok(Side::Child) => {
            drop(to_supervisor);
            guard_shim::run(plan, channel)
        }
        Ok(Side::Parent(command)) => command,
        Err(_) => leave(),
    };
    drop(channel);
    drop(plan);
    // Out of the command's session and group: signals to those are not for the reaper.
    let _ = rustix::process::setsid();
    let _ = nix::sys::prctl::set_dumpable(false);
    super::supervisor::let_go_of_stdio([true, true, true]);
    let mut to_supervisor = File::from(to_supervisor);
    // A supervisor that is gone needs no news.
    let _ = News::Started(command.as_raw()).send(&mut to_supervisor);
    loop {
        // The reaper has one thread and traces nothing: every child is its own to wait for.
        let ended = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, state))) if pid.as_raw_nonzero().get() == command.as_raw() => {
                state.exit_status().or(state.terminating_signal().map(|signal| 128 + signal))
            }
            Err(Errno::CHILD) => leave(),
            Ok(_) | Err(_) => None,
        };
        if let Some(status) = ended {
            let _ = News::Ended(status as u8).send(&mut to_supervisor);
        }
    }
}

fn leave() -> ! {
    std::process::exit(0)
}
