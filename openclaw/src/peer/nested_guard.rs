//! Finds out whether a process is in a guarded tree, for programs other than its supervisor.

use std::cell::Cell;

use crate::peer::proc::Tid;
use crate::peer::process_tree::{line_of, parent};

/// Returns an ancestor of `pid` that is, or may be, a guard. The ancestors of every member of a tree include the
/// tree's reaper and supervisor. These two are child and parent, and both have this program's name. Every caller can
/// read their files in /proc, except a caller inside the tree.
pub fn guard_above(pid: Tid) -> Option<Tid> {
    let own = name(rustix::process::getpid().as_raw_nonzero().get())?;
    let is_ours = |pid| name(pid).is_some_and(|name| name == own);
    let last = Cell::new(pid);
    let says = |below: Tid, above: Tid| {
        last.set(above);
        if above <= 1 {
            return Some(false);
        }
        (below != pid && is_ours(above) && is_ours(below)).then_some(true)
    };
    // If the chain of parents is unclear, there may be a guard.
    (line_of(pid, parent, says) != Some(false)).then(|| last.get())
}

/// Returns whether a process is, or may be, a guard's supervisor. A supervisor connects on behalf of its tree,
/// and the peer sees the supervisor's pid (SO_PEERCRED, unix(7)). The supervisor's child, the reaper, has this
/// program's name and leads a session.
pub fn is_guard(pid: Tid) -> bool {
    let Some(own) = name(rustix::process::getpid().as_raw_nonzero().get()) else { return true };
    if name(pid).is_none_or(|name| name != own) {
        return false;
    }
    let Ok(all) = procfs::process::all_processes() else { return true };
    let mut all = all.filter_map(|process| process.ok()?.stat().ok());
    all.any(|child| {
        child.ppid == pid && child.session == child.pid && child.comm.as_bytes() == own.trim_ascii_end()
    })
}

fn name(pid: Tid) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/comm")).ok()
}
