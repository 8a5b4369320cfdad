//! Execs of a process that a member of the tree traces, as strace(1) and gdb(1) do (`exec.allowPtrace`).
//!
//! A process has only one tracer, so the guard cannot stop it at PTRACE_EVENT_EXEC; and its tracer may change what it
//! runs at any time anyway. The exec is judged beforehand like any other, and the floor lets nothing start outside
//! `exec.roots`. Afterwards the running program is examined without a stop, and killed if the policy does not allow it.
//!
//! Why: docs/decisions.md, "exec.allowPtrace gives up the check before the first instruction, for traced processes
//! only."

use std::os::fd::AsFd;
use std::time::Duration;

use guard_openclaw::peer::proc::{self, Tid};
use guard_policy::{Exec, Role};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::content_match::ExpectedMatch;
use super::mapped_files::runs;
use super::verify::Expected;
use crate::kernel::Response;
use crate::reply::{HandlerResult, Reply};
use crate::resolve::Identity;
use crate::syscall::Request;

/// The process is polled often for a second, and then less often while the exec may be in progress. Its tracer can
/// delay the exec, which waits until all other threads are gone: a traced thread stays until its tracer has waited for
/// it.
const MAX_POLLS: u32 = 500;
const RETRY_INTERVAL: Duration = Duration::from_millis(2);
const LONG_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Whether the caller is traced by a member of the tree, and the policy allows that.
pub fn is_let(request: &Request<'_, '_>) -> bool {
    let guard = request.guard;
    let tracer = request.caller.kernel().status(request.caller.tid()).map_or(0, |status| status.tracer);
    tracer != 0 && guard.lets_trace() && guard.tree.contains(tracer)
}

/// Lets the kernel perform the exec, and examines the result.
///
/// # Errors
/// ESRCH when the caller is gone.
pub fn continue_exec(request: &Request<'_, '_>, expected: &Expected) -> HandlerResult {
    let caller = request.caller;
    let process = caller.process()?;
    let pid = Pid::from_raw(process).ok_or(Errno::SRCH)?;
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    let before = RunningImage::read(process, caller.tid())?;
    caller.check()?;
    request.guard.starts.scripts.begin(process);
    caller.kernel().respond(caller.call().id, Response::Continue)?;
    let mut task = caller.tid();
    for look in 0_u32.. {
        let pause = if look < MAX_POLLS { RETRY_INTERVAL } else { LONG_RETRY_INTERVAL };
        if has_ended(pidfd.as_fd(), pause) {
            break;
        }
        if rustix::fs::access(format!("/proc/{process}/task/{task}"), rustix::fs::Access::EXISTS).is_err() {
            // The task is dead, or has taken the process's number through the exec.
            task = process;
        }
        // Checked before reading the program: once the call is over, the running program is the call's result.
        let over = !may_exec(process, task);
        match RunningImage::read(process, task) {
            Ok(now) if now == before && !over => continue,
            Ok(now) if now == before => break,
            Ok(now) if now.program == expected.program && !became_a_copy(process, expected) => break,
            // Nothing can be read of a process that is ending.
            Err(Errno::NOENT | Errno::SRCH) => continue,
            Ok(_) | Err(_) => {}
        }
        let path = rustix::fs::readlink(format!("/proc/{process}/task/{task}/exe"), Vec::new());
        let path = path.map(std::ffi::CString::into_bytes).unwrap_or_default();
        // The process may have started this program by a later call of its own: then the policy allows it.
        let exec = Exec { path: &path, argv: &[], cwd: b"/", role: Role::Program };
        let originals = runs(process)
            .and_then(|program| request.guard.copies.originals(&path, program.as_fd(), &|| Ok(())));
        let verdict = originals.and_then(|originals| request.guard.judge_exec(caller, exec, &originals));
        if !verdict.is_ok_and(|verdict| verdict.outcome == guard_policy::Outcome::Allow) {
            let _ = rustix::process::pidfd_send_signal(&pidfd, Signal::KILL);
        }
        break;
    }
    Ok(Reply::Done)
}

/// Whether the program is a copy of other withheld programs than when it was judged.
fn became_a_copy(process: Tid, expected: &Expected) -> bool {
    let holds = |copy: &ExpectedMatch| runs(process).is_ok_and(|program| copy.holds(program.as_fd()));
    expected.copy.as_ref().is_some_and(|copy| !holds(copy))
}

/// The image that a process runs: the program, and the auxiliary vector from its start (getauxval(3)), whose addresses
/// differ if the same program is started again. A process cannot change either without an exec.
#[derive(PartialEq, Eq)]
struct RunningImage {
    program: Identity,
    start: Vec<u8>,
}

impl RunningImage {
    /// ENOENT or ESRCH if no thread of the process runs anything any more; other errors if it may not be inspected.
    fn read(process: Tid, task: Tid) -> Result<RunningImage, Errno> {
        let first = RunningImage::of_task(process, task);
        if !matches!(first, Err(Errno::NOENT | Errno::SRCH)) {
            return first;
        }
        // The first thread may have ended before the others.
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).map_err(|_| Errno::SRCH)?;
        tasks
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .map(|task| RunningImage::of_task(process, task))
            .find(|running| !matches!(running, Err(Errno::NOENT | Errno::SRCH)))
            .unwrap_or(first)
    }

    fn of_task(process: Tid, task: Tid) -> Result<RunningImage, Errno> {
        let mut buffer = [0; 4096];
        // In this order, an exec between the two reads shows in the program.
        let start = proc::read_into(task, "auxv", &mut buffer)?.to_vec();
        let stat = rustix::fs::stat(format!("/proc/{process}/task/{task}/exe"))?;
        Ok(RunningImage { program: Identity::from_stat(&stat), start })
    }
}

/// Whether a thread may be in an exec: it is not if it is seen waiting in another call.
fn may_exec(process: Tid, task: Tid) -> bool {
    let mut buffer = [0; 256];
    let path = format!("/proc/{process}/task/{task}/syscall");
    let read = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| rustix::io::read(file, &mut buffer));
    let Ok(count) = read else { return true };
    let word = buffer[..count].split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<i64>().ok());
    number.is_none_or(|number| [libc::SYS_execve, libc::SYS_execveat].contains(&number))
}

/// Waits for `pause`; true if the whole process has ended.
fn has_ended(pidfd: std::os::fd::BorrowedFd<'_>, pause: Duration) -> bool {
    let pause = PollTimeout::try_from(pause).unwrap_or(PollTimeout::ZERO);
    poll(&mut [PollFd::new(pidfd, PollFlags::POLLIN)], pause).is_ok_and(|ready| ready > 0)
}
