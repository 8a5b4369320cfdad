//! The check after an exec, with ptrace(2).
//!
//! The kernel reads path, arguments and environment again after CONTINUE. So the caller is seized before, and inspected
//! at PTRACE_EVENT_EXEC, when the new program is in place and has not run an instruction.
//!
//! A seized task belongs to the *thread* that seized it. Each call below owns one tracee from SEIZE to DETACH,
//! waits with `__WNOTHREAD` only (so it never takes another worker's tracee), and leaves none behind.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use guard_openclaw::peer::proc::Tid;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus};

use super::{Followed, Kernel, Response, errno, requests};

/// Continues the held exec `id` of `tid`, and calls `check` with the new program's pid before it runs.
///
/// # Errors
/// ptrace's error if the caller could not be seized: the call is still held then, and must be denied.
pub fn follow_exec(
    kernel: &dyn Kernel,
    id: u64,
    tid: Tid,
    check: &mut dyn FnMut(Tid) -> bool,
) -> Result<Followed, Errno> {
    let task = Pid::from_raw(tid);
    let options = ptrace::Options::PTRACE_O_TRACEEXEC | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::seize(task, options).map_err(errno::from_nix)?;
    // Checked after the seizure: if the ID is still valid then, the seized task is the caller, and not a later task with
    // the same number.
    if !kernel.valid(id) {
        release(task);
        return Ok(Followed::Died);
    }
    // The requested stop comes when the call returns to the program: a failed exec ends there.
    let sent = ptrace::interrupt(task)
        .map_err(errno::from_nix)
        .and_then(|()| kernel.respond(id, Response::Continue));
    if let Err(error) = sent {
        // A held task does not stop, so reply first.
        let _ = kernel.respond(id, Response::Error(Errno::ACCESS));
        release(task);
        return Err(error);
    }
    Ok(await_exec(check))
}

/// `kernel.yama.ptrace_scope` (Documentation/admin-guide/LSM/Yama.rst); `None` without Yama. With 2 and 3, a process
/// without capabilities may neither trace another process nor read its memory, and every call of the tree would fail.
pub fn yama() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?.trim().parse().ok()
}

/// The registers with addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The stack pointer.
    pub stack: u64,
    /// The instruction pointer.
    pub instruction: u64,
}

/// The registers of a task that this thread has stopped.
///
/// # Errors
/// ESRCH if it is gone.
pub fn registers(task: Tid) -> Result<Registers, Errno> {
    let registers = ptrace::getregs(Pid::from_raw(task)).map_err(errno::from_nix)?;
    #[cfg(target_arch = "x86_64")]
    let (stack, instruction) = (registers.rsp, registers.rip);
    #[cfg(target_arch = "aarch64")]
    let (stack, instruction) = (registers.sp, registers.pc);
    Ok(Registers { stack, instruction })
}

fn await_exec(check: &mut dyn FnMut(Tid) -> bool) -> Followed {
    while let Some((task, state)) = wait() {
        match Stop::from_status(state) {
            Stop::Event(libc::PTRACE_EVENT_EXEC) => {
                // After a thread's exec this is the process's ID, whichever thread made the call.
                let checked = catch_unwind(AssertUnwindSafe(|| check(task.as_raw())));
                let is_right = checked.unwrap_or_else(|panic| {
                    // The check did not complete.
                    kill(task);
                    resume_unwind(panic)
                });
                if is_right {
                    return if release(task) { Followed::Runs } else { Followed::Died };
                }
                kill(task);
                return Followed::Killed;
            }
            // The interrupt's stop or a group stop: the call is over and no exec happened. DETACH leaves a
            // group stop in force.
            Stop::Event(libc::PTRACE_EVENT_STOP) => {
                return if release(task) { Followed::Failed } else { Followed::Died };
            }
            Stop::Event(_) => resume(task, 0),
            Stop::Signal(signal) => resume(task, signal),
            Stop::Ended => return Followed::Died,
        }
    }
    Followed::Died
}

/// A tracee's state, as reported by wait.
enum Stop {
    /// A ptrace event, with its number.
    Event(i32),
    /// A signal, possibly a real-time one, is about to be delivered.
    Signal(i32),
    /// It is gone.
    Ended,
}

impl Stop {
    fn from_status(state: WaitStatus) -> Stop {
        let Some(signal) = state.stopping_signal() else { return Stop::Ended };
        match state.as_raw() >> 16 {
            0 => Stop::Signal(signal),
            event => Stop::Event(event),
        }
    }
}

/// Waits for tracees of this thread only, never for a child that another thread handles. Returns `None` without a
/// tracee.
fn wait() -> Option<(Pid, WaitStatus)> {
    let options = WaitOptions::from_bits_retain((libc::__WALL | libc::__WNOTHREAD) as u32);
    loop {
        match rustix::process::wait(options) {
            Ok(Some((task, state))) => return Some((Pid::from_raw(task.as_raw_nonzero().get()), state)),
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Resumes a stopped task, with the signal that stopped it. If it cannot be resumed it is dying, which the next wait
/// reports.
fn resume(task: Pid, signal: i32) {
    requests::trace_continue(task.as_raw(), signal);
}

fn kill(task: Pid) {
    // The signal and the wait fail only if the task is gone, which is the goal.
    let _ = nix::sys::signal::kill(task, Signal::SIGKILL);
    while let Some((_, state)) = wait() {
        if matches!(Stop::from_status(state), Stop::Ended) {
            return;
        }
    }
}

/// Detaches the task. Returns false if it is dead: then it is reaped, so that the thread has no tracee.
fn release(task: Pid) -> bool {
    if ptrace::detach(task, None).is_ok() {
        return true;
    }
    // DETACH needs a stopped task. One that is only seized is stopped first, unless it is dying.
    let _ = ptrace::interrupt(task);
    while let Some((stopped, state)) = wait() {
        match Stop::from_status(state) {
            Stop::Event(_) if requests::trace_detach(stopped.as_raw(), 0) => return true,
            Stop::Signal(signal) if requests::trace_detach(stopped.as_raw(), signal) => return true,
            Stop::Event(_) | Stop::Signal(_) => {}
            Stop::Ended => return false,
        }
    }
    false
}
