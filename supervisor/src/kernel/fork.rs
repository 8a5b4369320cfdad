//! fork(2), for a process whose other threads are not in the way.

use std::fs::File;
use std::io::{Read, Write};
use std::time::Duration;

use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::errno;

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
/// EAGAIN at a process limit; EBUSY if this process has more than one thread, because the child would inherit their
/// locks held.
pub fn split() -> Result<Side, Errno> {
    has_threads(1)?;
    // SAFETY: the process has one thread (checked above), so the child's memory is consistent.
    forked(unsafe { fork() })
}

/// Forks from a thread for which the main thread waits. The child has only this thread.
///
/// # Errors
/// As [`split`]; EBUSY if there is a third thread.
pub fn split_beside_waiting() -> Result<Side, Errno> {
    has_threads(2)?;
    // SAFETY: the only other thread (checked above) waits for a message of this one, and holds no lock meanwhile; so the
    // child's memory is consistent.
    forked(unsafe { fork() })
}

fn forked(result: nix::Result<ForkResult>) -> Result<Side, Errno> {
    match result {
        Ok(ForkResult::Parent { child }) => Ok(Side::Parent(child)),
        Ok(ForkResult::Child) => Ok(Side::Child),
        Err(error) => Err(errno::from_nix(error)),
    }
}

/// Forks a child that sends no signal when it ends, and that only a wait with `__WCLONE` sees (wait(2)).
///
/// # Errors
/// As [`split`].
pub fn split_unseen() -> Result<Side, Errno> {
    has_threads(1)?;
    let no_signal: libc::c_ulong = 0;
    // SAFETY: without CLONE_VM this is a fork, and the process has one thread (checked above).
    let child = unsafe { libc::syscall(libc::SYS_clone, no_signal, 0, 0, 0, 0) };
    errno::check(child)?;
    Ok(if child == 0 { Side::Child } else { Side::Parent(Pid::from_raw(child as i32)) })
}

/// Runs `work` in a child, because it would change this process, and returns its result. `work` makes system calls
/// only.
///
/// # Errors
/// As [`split`]; EIO if the child ends without a result.
pub fn asked<const N: usize>(work: impl FnOnce() -> [i32; N]) -> Result<[i32; N], Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let child = match split()? {
        Side::Parent(child) => child,
        Side::Child => {
            let results = work().map(i32::to_ne_bytes);
            // An error means that the parent is gone: there is nobody to report it to.
            let _ = File::from(write).write_all(results.as_flattened());
            quit();
        }
    };
    drop(write);
    let mut results = [[0; 4]; N];
    let all = File::from(read).read_exact(results.as_flattened_mut());
    // The child is ours. If SIGCHLD is ignored it is already gone.
    let _ = waitpid(child, None);
    all.map_err(|_| Errno::IO)?;
    Ok(results.map(i32::from_ne_bytes))
}

/// Ends a forked process without exit handlers. Those are for the process that started the program: here they would
/// only write to memory, which would have to be copied first.
pub fn quit() -> ! {
    // SAFETY: `_exit` takes a number and does not return.
    unsafe { libc::_exit(0) }
}

/// Ends a forked process in the same way, with this status.
pub fn quit_with(status: i32) -> ! {
    // SAFETY: as above.
    unsafe { libc::_exit(status) }
}

/// How long a joined thread may still be listed, in milliseconds: it wakes its waiters before the kernel removes it
/// from the list.
const LEAVING: u32 = 1000;

fn has_threads(count: usize) -> Result<(), Errno> {
    for _ in 0..LEAVING {
        // The kernel counts two links for the directory and one for each thread (fs/proc/base.c, proc_task_getattr); a listing
        // would take memory.
        if rustix::fs::stat("/proc/self/task")
            .is_ok_and(|tasks| usize::try_from(tasks.st_nlink) == Ok(2 + count))
        {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(Errno::BUSY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_another_thread_does_not_fork() {
        let (go, stays) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stays.recv());
        assert_eq!(split().map(|_| ()), Err(Errno::BUSY));
        drop(go);
        assert!(other.join().unwrap().is_err());
    }
}
