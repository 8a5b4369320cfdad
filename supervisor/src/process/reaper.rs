//! The reaper: the process that inherits every orphan of the tree.
//!
//! Why: docs/decisions.md, "The reaper is a process of its own."

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guard_openclaw::peer::process_tree::Tree;
use guard_shim::LaunchPlan;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use rustix::process::WaitOptions;

use super::ending::{Child, Rest, reap, reap_all};
use super::message::{Message, ProcessMessage};
use super::{ending, leader};
use crate::kernel::fork::{Side, quit, split, split_unseen};
use crate::kernel::pidfd::ProcessHandle;

/// The children that the reaper waits for: not the leader, which sends no signal when it ends.
const OWN_KIND: WaitOptions = WaitOptions::empty();

/// The reaper's connections to the guard's other processes.
pub struct ReaperLinks {
    /// Messages for the supervisor.
    pub to_supervisor: OwnedFd,
    /// The process that the operator started.
    pub front: ProcessHandle,
    /// With a terminal, orders from the front.
    pub jobs: Option<OwnedFd>,
}

/// Starts the command, through a session leader if it has a terminal, and reaps until the tree is gone.
pub fn main(plan: LaunchPlan, channel: OwnedFd, links: ReaperLinks) -> ! {
    // No signal may end the reaper while the tree lives. The shim resets the command's mask.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    if nix::sys::prctl::set_child_subreaper(true).is_err() {
        quit();
    }
    let ReaperLinks { to_supervisor, front, jobs } = links;
    match jobs {
        Some(jobs) => with_leader(plan, channel, leader::LeaderLinks { to_supervisor, front, jobs }),
        None => alone(plan, channel, to_supervisor, &front),
    }
}

/// Leaves the command's session and process group, so that signals to them do not reach the reaper.
fn withdraw() {
    let _ = rustix::process::setsid();
    let _ = nix::sys::prctl::set_dumpable(false);
    super::detach_stdio([true, true, true]);
}

/// Starts the command as a child of the reaper.
fn alone(plan: LaunchPlan, channel: OwnedFd, to_supervisor: OwnedFd, front: &ProcessHandle) -> ! {
    let Ok(children) = leader::ended_children() else { quit() };
    let command = match split() {
        Ok(Side::Child) => {
            drop((to_supervisor, children));
            leader::run(plan, channel)
        }
        Ok(Side::Parent(command)) => command,
        Err(_) => quit(),
    };
    drop(channel);
    plan.forget();
    withdraw();
    let mut to_supervisor = File::from(to_supervisor);
    // Fails only if the supervisor is gone.
    let _ = ProcessMessage::Started(command.as_raw()).send(&mut to_supervisor);
    let mut is_running = true;
    let mut watched = Some(front.as_fd());
    loop {
        let has_ended = loop {
            match reap(OWN_KIND) {
                Child::Ended(pid, state) if pid == command.as_raw() => {
                    if let Some(end) = leader::end_of(state) {
                        let _ = ProcessMessage::Ended(end).send(&mut to_supervisor);
                        (is_running, watched) = (false, None);
                        break true;
                    }
                }
                Child::Ended(..) => {}
                Child::Running => break false,
                Child::None => quit(),
            }
        };
        if has_ended {
            report_rest(&mut to_supervisor);
            continue;
        }
        let woken = wait(&children, to_supervisor.as_fd(), watched);
        if woken.supervisor {
            ending::end_members(&tree(None));
            quit()
        }
        if woken.other && is_running {
            watched = None;
            // The command has not been reaped, so its number is still its own.
            let _ = kill(command, leader::deadly_signal(front));
        }
    }
}

/// Starts the command as a child of a leader, which is itself a child that the reaper's waits do not see.
fn with_leader(plan: LaunchPlan, channel: OwnedFd, links: leader::LeaderLinks) -> ! {
    let (Ok(children), Ok((leads, leading))) = (leader::ended_children(), super::pipe()) else { quit() };
    let leader = match split_unseen() {
        Ok(Side::Child) => {
            drop((children, leads));
            leader::main(plan, channel, links, leading)
        }
        Ok(Side::Parent(leader)) => leader,
        Err(_) => quit(),
    };
    let leader::LeaderLinks { to_supervisor, front, jobs } = links;
    drop((channel, jobs, leading, front));
    plan.forget();
    withdraw();
    let mut to_supervisor = File::from(to_supervisor);
    // Until the command has ended, the lack of children does not mean that the tree is gone.
    let mut leads = Some(leads);
    loop {
        let rest = reap_all(OWN_KIND);
        if leads.is_none() && rest == Rest::Nothing {
            end_leader(leader);
            quit()
        }
        let woken = wait(&children, to_supervisor.as_fd(), leads.as_ref().map(AsFd::as_fd));
        if woken.supervisor {
            ending::end_members(&tree(Some(leader)));
            end_leader(leader);
            quit()
        }
        if woken.other {
            // What has ended meanwhile is reaped at the start of the loop.
            leads = None;
            report_rest(&mut to_supervisor);
        }
    }
}

/// The tree below this process.
fn tree(leader: Option<Pid>) -> Tree {
    Tree { leader: leader.map(Pid::as_raw), ..ending::own_descendants() }
}

/// Ends the leader. Nobody else could reap it.
fn end_leader(leader: Pid) {
    let _ = kill(leader, Signal::SIGKILL);
    let _ = waitpid(leader, Some(WaitPidFlag::__WCLONE));
}

/// Reports that processes of the tree go on after the command, if there are any.
fn report_rest(to_supervisor: &mut File) {
    if reap_all(OWN_KIND) == Rest::Something {
        let _ = ProcessMessage::Remains.send(to_supervisor);
    }
}

/// What has woken the reaper, besides a child.
struct Woken {
    /// The supervisor has ended.
    supervisor: bool,
    /// The other descriptor is ready.
    other: bool,
}

/// Waits until a child has ended, the supervisor has, or the other descriptor is ready.
fn wait(children: &SignalFd, to_supervisor: BorrowedFd<'_>, other: Option<BorrowedFd<'_>>) -> Woken {
    // A pipe without a reader reports an error (poll(2)).
    let mut ready = vec![
        PollFd::new(children.as_fd(), PollFlags::POLLIN),
        PollFd::new(to_supervisor, PollFlags::empty()),
    ];
    ready.extend(other.map(|other| PollFd::new(other, PollFlags::POLLIN)));
    if poll(&mut ready, PollTimeout::NONE).is_err() {
        return Woken { supervisor: false, other: false };
    }
    while let Ok(Some(_)) = children.read_signal() {}
    let is_ready = |at: usize| ready.get(at).is_some_and(|one| one.any().unwrap_or(true));
    Woken { supervisor: is_ready(1), other: is_ready(2) }
}
