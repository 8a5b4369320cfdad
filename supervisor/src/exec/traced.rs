//! Execs of a process that a member of the tree traces, as strace(1) and gdb(1) do (`exec.allowPtrace`).
//!
//! A process has one tracer, so it cannot be stopped at PTRACE_EVENT_EXEC, and its tracer may change what it runs at any
//! time anyway. The exec is judged before as every other; the floor lets nothing start outside `exec.roots`; and the
//! program that is there afterwards is looked at, without a stop, and killed if the policy does not allow it.

use std::time::Duration;

use guard_policy::{Exec, Role};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::verify::{Expected, Identity};
use crate::answer::{Answer, Outcome};
use crate::broker::Request;
use crate::kernel::Response;

/// How often, and how far apart, it is looked whether the program is there: a second in all.
const LOOKS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(2);

/// Whether the caller is traced by a member of the tree, and the policy lets it be.
pub fn is_let(request: &Request<'_, '_>) -> bool {
    let guard = request.guard;
    let tracer = request.caller.kernel().status(request.caller.tid()).map_or(0, |status| status.tracer);
    tracer != 0 && guard.lets_trace() && guard.tree.contains(tracer)
}

/// Lets the kernel do the exec, and looks at what it has done.
///
/// # Errors
/// ESRCH when the caller is gone.
pub fn go_on(request: &Request<'_, '_>, expected: &Expected) -> Outcome {
    let caller = request.caller;
    let process = caller.status()?.tgid;
    let pid = Pid::from_raw(process).ok_or(Errno::SRCH)?;
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    let before = program_of(process)?;
    caller.check()?;
    caller.kernel().respond(caller.call().id, Response::Continue)?;
    for _ in 0..LOOKS {
        let Ok(now) = program_of(process) else { break };
        if now == expected.program {
            break;
        }
        if now != before {
            let path = rustix::fs::readlink(format!("/proc/{process}/exe"), Vec::new());
            let path = path.map(std::ffi::CString::into_bytes).unwrap_or_default();
            // It may have started this one since by a call of its own: then it is allowed.
            let exec = Exec { path: &path, argv: &[], cwd: b"/", role: Role::Program };
            if request.guard.judge_exec(caller, exec).is_err() {
                let _ = rustix::process::pidfd_send_signal(&pidfd, Signal::KILL);
            }
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Answer::Done)
}

fn program_of(process: i32) -> Result<Identity, Errno> {
    rustix::fs::stat(format!("/proc/{process}/exe")).map(|stat| Identity::of(&stat))
}
