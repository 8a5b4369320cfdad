//! Ending what is left of a tree.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use guard_openclaw::peer::process_tree::Tree;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};
use rustix::process::{getpid, pidfd_open, pidfd_send_signal};

/// The time between SIGTERM and SIGKILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);

/// The time between two looks at what is left.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Children of every kind: also one that was cloned without a signal (`__WALL` of wait(2)).
const ANY_KIND: WaitOptions = WaitOptions::from_bits_retain(libc::__WALL as u32);

/// Kills the members of the tree in one pass. Processes started meanwhile may be missed.
pub fn kill_members(tree: &Tree) {
    each_member(tree, |member| {
        let _ = pidfd_send_signal(member, Signal::KILL);
    });
}

/// Ends the members of a tree whose orphans this process adopts: sends SIGTERM, and after two seconds SIGKILL until
/// none is left.
pub fn end_members(tree: &Tree) {
    end_with(tree, || {
        let _ = reap_all(ANY_KIND);
    });
}

/// As [`end_members`], for a process that is not their parent and must not wait for children: the supervisor.
pub fn end_foreign_members(tree: &Tree) {
    end_with(tree, || ());
}

fn end_with(tree: &Tree, reap: impl Fn()) {
    each_member(tree, |member| {
        let _ = pidfd_send_signal(member, Signal::TERM);
    });
    let due = Instant::now() + TERM_TIMEOUT;
    while Instant::now() < due {
        reap();
        if each_member(tree, |_| ()) == 0 {
            return;
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
    // There is no pause, because a process that forks and exits again and again must be caught between its fork and its exit.
    while each_member(tree, |member| {
        let _ = pidfd_send_signal(member, Signal::KILL);
    }) > 0
    {
        reap();
    }
}

/// The tree of all descendants of this process.
pub fn own_descendants() -> Tree {
    Tree { reaper: getpid().as_raw_nonzero().get(), supervisor: 0, front: 0, leader: None }
}

/// Waits until this process has no child, but at most for `timeout`. Returns whether it has none.
pub fn wait_for_children(timeout: Duration) -> bool {
    let due = Instant::now() + timeout;
    while reap_all(ANY_KIND) == Rest::Something {
        if Instant::now() >= due {
            return false;
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
    true
}

/// Whether this process has a child; true if that is not known.
pub fn has_children() -> bool {
    let children = std::fs::read("/proc/thread-self/children");
    children.map_or(true, |children| !children.is_empty())
}

/// What is left of the children of this process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    Nothing,
    Something,
}

/// Reaps every child of this kind that has ended.
pub fn reap_all(kind: WaitOptions) -> Rest {
    loop {
        match reap(kind) {
            Child::Ended(..) => {}
            Child::Running => return Rest::Something,
            Child::None => return Rest::Nothing,
        }
    }
}

/// A child of this process.
pub enum Child {
    Ended(i32, WaitStatus),
    Running,
    None,
}

/// Reaps a child of this kind, if one has ended. The caller has one thread and traces nothing, so it may wait for any child.
pub fn reap(kind: WaitOptions) -> Child {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG | kind) {
            Ok(Some((pid, state))) => return Child::Ended(pid.as_raw_nonzero().get(), state),
            Ok(None) => return Child::Running,
            Err(Errno::INTR) => {}
            Err(_) => return Child::None,
        }
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
