//! The check after an exec, with ptrace(2).
//!
//! The kernel reads path, arguments and environment again after CONTINUE. So the caller is seized before,
//! and looked at at PTRACE_EVENT_EXEC, when the new program is in place and has not run an instruction.
//!
//! A seized task belongs to the *thread* that seized it. Each call below owns one tracee from SEIZE to DETACH,
//! waits with `__WNOTHREAD` only (so it never takes another worker's tracee), and leaves none behind.

use nix::errno::Errno as NixErrno;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::io::Errno;

use super::{Followed, Kernel, Response, Tid};

/// Lets the held exec `id` of `tid` go on, and calls `check` with the new program's pid before it runs.
///
/// # Errors
/// What ptrace said when the caller could not be seized: the call is still held then, and must be denied.
pub fn follow_exec(
    kernel: &dyn Kernel,
    id: u64,
    tid: Tid,
    check: &mut dyn FnMut(Tid) -> bool,
) -> Result<Followed, Errno> {
    let task = Pid::from_raw(tid);
    let options = ptrace::Options::PTRACE_O_TRACEEXEC | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::seize(task, options).map_err(errno)?;
    // Only now can the id tell that the seized task is the caller and not a later one with its number.
    if !kernel.valid(id) {
        release(task);
        return Ok(Followed::Died);
    }
    // The stop that this asks for comes when the call returns to the program: an exec that failed ends there.
    let sent = ptrace::interrupt(task).map_err(errno).and_then(|()| kernel.respond(id, Response::Continue));
    if let Err(error) = sent {
        // A held task does not stop: it is answered first.
        let _ = kernel.respond(id, Response::Error(Errno::ACCESS));
        release(task);
        return Err(error);
    }
    Ok(await_exec(check))
}

fn await_exec(check: &mut dyn FnMut(Tid) -> bool) -> Followed {
    loop {
        match wait() {
            Ok(WaitStatus::PtraceEvent(task, _, event)) if event == libc::PTRACE_EVENT_EXEC => {
                // After the exec of a thread this is the process's id, whatever thread called.
                if check(task.as_raw()) {
                    return if release(task) { Followed::Runs } else { Followed::Died };
                }
                kill(task);
                return Followed::Killed;
            }
            // The interrupt's stop or a group stop: the call is over and no exec happened. DETACH leaves a
            // group stop in force.
            Ok(WaitStatus::PtraceEvent(task, _, libc::PTRACE_EVENT_STOP)) => {
                return if release(task) { Followed::Failed } else { Followed::Died };
            }
            Ok(WaitStatus::PtraceEvent(task, ..) | WaitStatus::PtraceSyscall(task)) => resume(task, None),
            Ok(WaitStatus::Stopped(task, signal)) => resume(task, Some(signal)),
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(NixErrno::ECHILD) => {
                return Followed::Died;
            }
            Ok(WaitStatus::Continued(_) | WaitStatus::StillAlive) | Err(_) => {}
        }
    }
}

/// Only tracees of this thread: never a child that another thread looks after.
fn wait() -> nix::Result<WaitStatus> {
    waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD))
}

/// A task that cannot be resumed is dying: the next wait says so.
fn resume(task: Pid, signal: Option<Signal>) {
    let _ = ptrace::cont(task, signal);
}

fn kill(task: Pid) {
    // Both fail only when the task is gone, which is what is wanted.
    let _ = nix::sys::signal::kill(task, Signal::SIGKILL);
    reap();
}

/// Gives the task back. False when it is dead: then its end is reaped, so that the thread owns no tracee.
fn release(task: Pid) -> bool {
    if ptrace::detach(task, None).is_ok() {
        return true;
    }
    // DETACH needs a stopped task. One that is only seized is stopped first, unless it is dying.
    let _ = ptrace::interrupt(task);
    loop {
        match wait() {
            Ok(WaitStatus::PtraceEvent(stopped, ..) | WaitStatus::PtraceSyscall(stopped)) => {
                if ptrace::detach(stopped, None).is_ok() {
                    return true;
                }
            }
            Ok(WaitStatus::Stopped(stopped, signal)) => {
                if ptrace::detach(stopped, Some(signal)).is_ok() {
                    return true;
                }
            }
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(NixErrno::ECHILD) => return false,
            Ok(WaitStatus::Continued(_) | WaitStatus::StillAlive) | Err(_) => {}
        }
    }
}

fn reap() {
    loop {
        match wait() {
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(NixErrno::ECHILD) => return,
            Ok(_) | Err(_) => {}
        }
    }
}

fn errno(error: NixErrno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}
