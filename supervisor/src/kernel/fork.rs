//! fork(2), for a program that has not started a thread yet.

use nix::unistd::{ForkResult, Pid, fork};
use rustix::io::Errno;

/// Which side of a fork this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The parent, with the child's pid.
    Parent(Pid),
    /// The child.
    Child,
}

/// Forks.
///
/// # Errors
/// EAGAIN at a process limit; EBUSY when this process has more than one thread, whose locks the child would
/// inherit held.
pub fn split() -> Result<Side, Errno> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads != 1 {
        return Err(Errno::BUSY);
    }
    // SAFETY: the process has one thread (checked above), so the child's memory is consistent.
    match unsafe { fork() } {
        Ok(ForkResult::Parent { child }) => Ok(Side::Parent(child)),
        Ok(ForkResult::Child) => Ok(Side::Child),
        Err(error) => Err(Errno::from_raw_os_error(error as i32)),
    }
}
