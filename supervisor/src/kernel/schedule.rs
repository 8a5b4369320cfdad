//! Real-time priority of threads of this process (sched(7)).

use guard_openclaw::peer::proc::Tid;
use rustix::io::Errno;

use super::errno;

/// The calling thread.
pub const THIS_THREAD: Tid = 0;

/// The lowest real-time priority: before every ordinary thread, after every other real-time thread.
const LOWEST: i32 = 1;
/// The priority of ordinary threads.
const NONE: i32 = 0;

/// Gives a thread the lowest real-time priority. Threads of equal priority take turns (SCHED_RR). What the thread
/// starts is ordinary (SCHED_RESET_ON_FORK).
///
/// # Errors
/// EPERM without CAP_SYS_NICE if the limit (RLIMIT_RTPRIO) is 0, or if the control group allows none.
pub fn raise(thread: Tid) -> Result<(), Errno> {
    set(thread, libc::SCHED_RR, LOWEST)
}

/// Makes a thread ordinary. This needs no right.
///
/// # Errors
/// ESRCH if the thread has ended.
pub fn lower(thread: Tid) -> Result<(), Errno> {
    set(thread, libc::SCHED_OTHER, NONE)
}

/// Whether the operator has left the priority of this process at its default: an ordinary one, and not a lower one by
/// nice(1).
pub fn is_default() -> bool {
    policy(THIS_THREAD) == libc::SCHED_OTHER && rustix::process::getpriority_process(None).unwrap_or(0) <= 0
}

/// A thread's policy, such as SCHED_RR.
pub fn policy(thread: Tid) -> i32 {
    // SAFETY: the call takes an integer and touches no memory of ours.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) };
    policy as i32 & !libc::SCHED_RESET_ON_FORK
}

/// This makes the system call itself, because musl's function does nothing.
fn set(thread: Tid, policy: i32, priority: i32) -> Result<(), Errno> {
    // The flag cannot be taken off without a right, so it stays.
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads a structure of one integer, which outlives the call; everything else is an integer.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const priority) };
    errno::check(result)
}
