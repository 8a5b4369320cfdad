//! Acting on processes: only on members of the tree. The target is in a register, so the kernel acts on the one that
//! was checked.

use std::os::fd::AsRawFd;

use rustix::io::Errno;

use super::Request;
use crate::audit::Operation;
use crate::reply::{ContinueReason, HandlerResult, Reply};

const BY_REGISTERS: HandlerResult = Ok(Reply::Continue(ContinueReason::Registers));

fn refuse(request: &Request<'_, '_>, pid: i32) -> HandlerResult {
    // The kernel says first that there is nobody; it is not asked, for there may be somebody by then.
    if pid > 0
        && nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) == Err(nix::errno::Errno::ESRCH)
    {
        return Err(Errno::SRCH);
    }
    let path = format!("process {pid}");
    request
        .guard
        .refuse(request.caller, Operation::Signal, path.as_bytes(), "not a process of the guarded tree")
        .map_err(
            // What the kernel says of a process that is not the caller's to act on.
            |_| Errno::PERM,
        )?;
    BY_REGISTERS
}

/// ptrace, where it is not let through.
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
    // Also when only observing: a process that is traced could start nothing.
    Err(Errno::PERM)
}

/// The caller is to be traced by its parent. An orphan's and the first command's is the guard's, which would take the
/// stops for those of a job. A parent that ends meanwhile leaves the caller to the reaper, who looks at ends alone.
fn trace_me(request: &Request<'_, '_>) -> HandlerResult {
    if request.guard.tree.contains(request.caller.status()?.ppid) {
        return BY_REGISTERS;
    }
    let text = "the parent is not a process of the guarded tree";
    let _ = request.guard.refuse(request.caller, Operation::Trace, b"a process", text);
    Err(Errno::PERM)
}

/// kill and its relatives, where the kernel does not scope signals by Landlock (before ABI 6).
pub fn signal(request: &Request<'_, '_>, pid: i32) -> HandlerResult {
    let allowed = match pid {
        0 => group_is_ours(request, request.caller.process()?),
        // Everything that the user runs.
        -1 => false,
        // It has no opposite, and no group has it.
        i32::MIN => return Err(Errno::SRCH),
        _ if pid < 0 => group_is_ours(request, -pid),
        _ => request.guard.tree.contains(pid),
    };
    if allowed { BY_REGISTERS } else { refuse(request, pid) }
}

/// Whether every process in the group of `member` belongs to the tree, or is the front, which ends with the command's
/// group as the operator would expect. A process may join any group of its session, so its own is no exception.
fn group_is_ours(request: &Request<'_, '_>, member: i32) -> bool {
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

/// pidfd_send_signal: the descriptor could be swapped for another after CONTINUE, so the supervisor does it.
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

/// Limits and scheduling of one process.
pub fn adjust(request: &Request<'_, '_>, pid: i32) -> HandlerResult {
    // No process has a number below 0: the kernel has an errno for each call.
    if pid <= 0 || request.guard.tree.contains(pid) { BY_REGISTERS } else { refuse(request, pid) }
}

/// The same where the number may also be a group's or a user's: those reach beyond the tree.
pub fn adjust_group(request: &Request<'_, '_>, process: bool, who: i32) -> HandlerResult {
    if process { adjust(request, who) } else { refuse(request, who) }
}

/// Setting the limit on core files, of the caller or another process. It is as low as it may be: with a lower one the
/// kernel would start the program of core_pattern(5). So nothing is done.
pub fn limit_core(request: &Request<'_, '_>, pid: i32, limit: u64, old: u64) -> HandlerResult {
    if pid > 0 && !request.guard.tree.contains(pid) {
        return refuse(request, pid);
    }
    if limit == 0 {
        return BY_REGISTERS;
    }
    let mut wanted = [0; 16];
    request.caller.bytes(limit, &mut wanted)?;
    let [soft, hard] =
        [0, 8].map(|at| wanted[at..at + 8].iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)));
    if soft > hard {
        return Err(Errno::INVAL);
    }
    // Nobody here can write to the caller what the limit was.
    if hard > guard_shim::NO_CORE || old != 0 {
        return Err(Errno::PERM);
    }
    Ok(Reply::Value(0))
}
