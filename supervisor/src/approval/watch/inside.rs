//! Whether a process is inside of a guarded tree, as seen by somebody who is not its supervisor.

use crate::kernel::{Tid, proc};

/// A line of parents longer than this is no line.
const LONGEST: usize = 4096;

/// Above every member of a tree stand its reaper and its supervisor, one the parent of the other, both by the name of
/// this program. Returns the supervisor.
pub fn supervisor_of(pid: Tid) -> Option<Tid> {
    let own = name(rustix::process::getpid().as_raw_nonzero().get())?;
    let mut below_is_ours = false;
    let mut at = proc::stat(pid).ok()?.ppid;
    for _ in 0..LONGEST {
        if at <= 1 {
            return None;
        }
        let is_ours = name(at).is_some_and(|name| name == own);
        if is_ours && below_is_ours {
            return Some(at);
        }
        below_is_ours = is_ours;
        at = proc::stat(at).ok()?.ppid;
    }
    None
}

fn name(pid: Tid) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/comm")).ok()
}
