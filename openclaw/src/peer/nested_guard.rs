//! Finds out whether a process is in a guarded tree, for programs other than its supervisor.

use std::cell::Cell;

use crate::peer::proc::Tid;
use crate::peer::process_tree::{line_of, parent};

/// Returns an ancestor of `pid` that is, or may be, a guard. The ancestors of every member of a tree include
/// its reaper and its supervisor, which are child and parent and both have this program's name. A caller
/// inside the tree cannot read their files in /proc, which anyone else can.
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

fn name(pid: Tid) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/comm")).ok()
}
