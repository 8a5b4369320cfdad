//! Whether a process is inside of a guarded tree, as seen by somebody who is not its supervisor.

use std::cell::Cell;

use crate::peer::proc::Tid;
use crate::peer::process_tree::{line_of, parent};

/// The process of a guard that stands above this one, if one does, or may do. Above every member of a tree stand its reaper
/// and its supervisor, one the parent of the other, both by the name of this program; who looks from inside is refused their
/// files in /proc, which are for everybody otherwise.
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
    // Where it cannot be told there may be one.
    (line_of(pid, parent, says) != Some(false)).then(|| last.get())
}

fn name(pid: Tid) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/comm")).ok()
}
