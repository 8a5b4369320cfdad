//! Acting on processes: only on members of the tree. The target is in a register, so the kernel acts on the process
//! that was checked.

use std::os::fd::AsRawFd;

use rustix::io::Errno;

use super::Request;
use crate::audit::Operation;
use crate::reply::{ContinueReason, HandlerResult, Reply};

const BY_REGISTERS: HandlerResult = Ok(Reply::Continue(ContinueReason::Registers));

/// The errno for a process, or with a minus for a group, that is not of the tree: ESRCH if there is none, else EPERM.
pub fn unreachable(pid: i32) -> Errno {
    match nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) {
        Err(nix::errno::Errno::ESRCH) => Errno::SRCH,
        _ => Errno::PERM,
    }
}

fn refuse(request: &Request<'_, '_>, pid: i32) -> HandlerResult {
    // The kernel would reply the same now, but a process with this number may exist by the time it looks.
    if pid > 0 && unreachable(pid) == Errno::SRCH {
        return Err(Errno::SRCH);
    }
    let path = format!("process {pid}");
    request
        .guard
        .refuse(request.caller, Operation::Signal, path.as_bytes(), "not a process of the guarded tree")
        .map_err(
            // The kernel's errno for a process that the caller may not act on.
            |_| Errno::PERM,
        )?;
    BY_REGISTERS
}

/// ptrace, if the filter does not let it through.
pub fn trace(request: &Request<'_, '_>) -> HandlerResult {
    if request.guard.lets_trace() && request.caller.int(0) == libc::PTRACE_TRACEME as i32 {
        return trace_me(request);
    }
    let text = match (request.guard.policy().allow_ptrace(), &request.guard.floor.roots) {
        (false, _) => "exec.allowPtrace is not set",
        (true, None) => "exec.allowPtrace needs the Landlock floor, which is not in force",
        (true, Some(_)) => "exec.allowPtrace was not set when the guard was started",
    };
    let _ = request.guard.refuse(request.caller, Operation::Trace, b"a process", text);
    // The call is refused even if the guard only observes: a traced process could not start any program.
    Err(Errno::PERM)
}

/// PTRACE_TRACEME: the caller asks to be traced by its parent. The parent of an orphan and of the first command is the
/// guard, which would mistake the stops for job control. If the parent ends meanwhile, the caller falls to the reaper,
/// which looks only at exits.
fn trace_me(request: &Request<'_, '_>) -> HandlerResult {
    if request.guard.tree.contains(request.caller.status()?.ppid) {
        return BY_REGISTERS;
    }
    let text = "the parent is not a process of the guarded tree";
    let _ = request.guard.refuse(request.caller, Operation::Trace, b"a process", text);
    Err(Errno::PERM)
}

/// kill and its relatives, on kernels where Landlock does not scope signals (before ABI 6).
pub fn signal(request: &Request<'_, '_>, pid: i32) -> HandlerResult {
    let allowed = match pid {
        0 => group_is_ours(request, request.caller.process()?),
        // All processes of the user.
        -1 => false,
        // It cannot be negated, and no process group has this number.
        i32::MIN => return Err(Errno::SRCH),
        _ if pid < 0 => group_is_ours(request, -pid),
        _ => request.guard.tree.contains(pid),
    };
    if allowed { BY_REGISTERS } else { refuse(request, pid) }
}

/// Whether every process in the group of `member` belongs to the tree, or is the front, which is meant to end with the
/// command's group. A process may join any group of its session, so the caller's own group gets no exception.
pub fn group_is_ours(request: &Request<'_, '_>, member: i32) -> bool {
    let group_of = |pid| nix::unistd::getpgid(Some(nix::unistd::Pid::from_raw(pid))).ok();
    let Some(group) = group_of(member) else { return false };
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let tree = request.guard.tree;
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| group_of(pid) == Some(group))
        .all(|pid| pid == tree.front || tree.contains(pid))
}

/// pidfd_send_signal: another thread could replace the descriptor after CONTINUE, so the supervisor sends the signal.
pub fn signal_by_descriptor(request: &Request<'_, '_>, fd: i32) -> HandlerResult {
    let pidfd = request.caller.descriptor(fd)?;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))
        .map_err(|_| Errno::BADF)?;
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<i32>().ok());
    let pid = pid.ok_or(Errno::BADF)?;
    if !request.guard.tree.contains(pid) {
        return refuse(request, pid).and(Err(Errno::PERM));
    }
    let number = request.caller.int(1);
    if number == 0 {
        return Ok(Reply::Value(0));
    }
    let signal = rustix::process::Signal::from_named_raw(number).ok_or(Errno::INVAL)?;
    rustix::process::pidfd_send_signal(&pidfd, signal)?;
    Ok(Reply::Value(0))
}

/// Changes the limits or scheduling of one process.
pub fn adjust(request: &Request<'_, '_>, pid: i32) -> HandlerResult {
    // No process has a negative number. Each call has its own errno for one, so the kernel replies.
    if pid <= 0 || request.guard.tree.contains(pid) { BY_REGISTERS } else { refuse(request, pid) }
}

/// As [`adjust`], if the number may also name a group or a user, which reach beyond the tree.
pub fn adjust_group(request: &Request<'_, '_>, process: bool, who: i32) -> HandlerResult {
    if process { adjust(request, who) } else { refuse(request, who) }
}

/// Sets the limit on core files, of the caller or another process. It is already at the useful minimum: with a lower
/// limit the kernel would start the program in core_pattern(5). So this changes nothing.
pub fn limit_core(request: &Request<'_, '_>, pid: i32, limit: u64, old: u64) -> HandlerResult {
    if pid > 0 && !request.guard.tree.contains(pid) {
        return refuse(request, pid);
    }
    if limit == 0 {
        return BY_REGISTERS;
    }
    let mut new_limit = [0; 16];
    request.caller.bytes(limit, &mut new_limit)?;
    let [soft, hard] =
        [0, 8].map(|at| new_limit[at..at + 8].iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)));
    if soft > hard {
        return Err(Errno::INVAL);
    }
    // The supervisor cannot write the old limit into the caller's memory.
    if hard > guard_shim::NO_CORE || old != 0 {
        return Err(Errno::PERM);
    }
    Ok(Reply::Value(0))
}
