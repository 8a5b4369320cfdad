//! Ending what is left of a tree.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use guard_openclaw::peer::process_tree::Tree;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

/// The time between SIGTERM and SIGKILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);

/// The time between two looks at what is left.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Kills the members of the tree in one pass. Processes started meanwhile may be missed.
pub fn kill_members(tree: &Tree) {
    each_member(tree, |member| {
        let _ = pidfd_send_signal(member, Signal::KILL);
    });
}

/// Ends the members of a tree whose orphans this process adopts: SIGTERM, and from two seconds later on SIGKILL until
/// none is left.
pub fn end_members(tree: &Tree) {
    each_member(tree, |member| {
        let _ = pidfd_send_signal(member, Signal::TERM);
    });
    let due = Instant::now() + TERM_TIMEOUT;
    while Instant::now() < due {
        while reap() == Child::Ended {}
        if each_member(tree, |_| ()) == 0 {
            return;
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
    // Without a pause: a process that forks and exits again and again must be met between the two.
    while each_member(tree, |member| {
        let _ = pidfd_send_signal(member, Signal::KILL);
    }) > 0
    {
        while reap() == Child::Ended {}
    }
}

/// The tree of all descendants of this process.
pub fn own_descendants() -> Tree {
    Tree { reaper: getpid().as_raw_nonzero().get(), supervisor: 0, front: 0, leader: None }
}

/// Waits until this process has no child, for so long at most. Returns whether it has none.
pub fn wait_for_children(timeout: Duration) -> bool {
    let due = Instant::now() + timeout;
    loop {
        match reap() {
            Child::Ended => {}
            Child::None => return true,
            Child::Running if Instant::now() >= due => return false,
            Child::Running => std::thread::sleep(RETRY_INTERVAL),
        }
    }
}

/// Whether this process has a child; true if that is not known.
pub fn has_children() -> bool {
    let children = std::fs::read("/proc/thread-self/children");
    children.map_or(true, |children| !children.is_empty())
}

/// A child of this process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Child {
    Ended,
    Running,
    None,
}

/// Reaps one child of any kind, if one has ended.
fn reap() -> Child {
    match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) {
        Ok(WaitStatus::StillAlive) => Child::Running,
        Ok(_) => Child::Ended,
        Err(_) => Child::None,
    }
}

/// Calls `act` for each member as soon as it is found, and returns how many there are.
fn each_member(tree: &Tree, act: impl Fn(&OwnedFd)) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let member = |number: i32| {
        // The pidfd comes first, so that the number cannot be reused between the check and the signal.
        let member = pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?;
        tree.contains(number).then(|| act(&member))
    };
    numbers.filter_map(member).count()
}
