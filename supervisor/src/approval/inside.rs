//! Whether a process is inside of a guarded tree, as seen by somebody who is not its supervisor.

use rustix::io::Errno;

use crate::kernel::{Tid, proc};

/// A line of parents longer than this is no line.
const LONGEST: usize = 4096;

/// The process of a guard that stands above this one, if one does. Above every member of a tree stand its reaper and its
/// supervisor, one the parent of the other, both by the name of this program; who looks from inside is refused their
/// files in /proc, which are for everybody otherwise.
pub fn guard_above(pid: Tid) -> Option<Tid> {
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
        at = match proc::stat(at) {
            Ok(stat) => stat.ppid,
            Err(Errno::ACCESS) => return Some(at),
            Err(_) => return None,
        };
    }
    None
}

fn name(pid: Tid) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/comm")).ok()
}
