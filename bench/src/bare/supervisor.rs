//! The supervising side.

use std::ffi::{CStr, OsString};
use std::io::{IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, Stdio};

use libseccomp::{ScmpNotifReq, ScmpNotifResp, ScmpNotifRespFlags, notify_id_valid};
use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::process::{Pid as Process, PidfdFlags, PidfdGetfdFlags};

use super::{Loop, kernel};
use crate::error::{Context, Error};

/// openat(2), open(2) and execve(2) on x86_64.
const OPENAT: i32 = 257;
const OPEN: i32 = 2;
const EXECVE: i32 = 59;
/// linux/ptrace.h
const EVENT_EXEC: i32 = 4;
const PATH_MAX: usize = 4096;

/// Runs the command, and answers until all its processes have ended.
///
/// # Errors
/// If the command cannot be started.
pub fn supervise(own: Loop, command: &[OsString]) -> Result<ExitCode, Error> {
    let (mut socket, theirs) = UnixStream::pair().context(|| "socket".into())?;
    let program = std::env::current_exe().context(|| "cannot find this program".into())?;
    let mut leader = Command::new(program)
        .args(["bare-leader", "--"])
        .args(command)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .context(|| "cannot start".into())?;
    let mut number = [0; 4];
    socket.read_exact(&mut number).context(|| "the leader".into())?;
    let pid = Process::from_child(&leader);
    let process = rustix::process::pidfd_open(pid, PidfdFlags::empty()).context(|| "pidfd".into())?;
    let number = i32::from_ne_bytes(number);
    let listener = rustix::process::pidfd_getfd(&process, number, PidfdGetfdFlags::empty())
        .context(|| "cannot take the listener".into())?;
    if matches!(own, Loop::Continue | Loop::Look) {
        kernel::wake_synchronously(listener.as_fd()).context(|| "no synchronous wake-up".into())?;
    }
    socket.write_all(b"g").context(|| "the leader".into())?;
    drop(socket);
    serve(own, &listener, &mut leader)
}

fn serve(own: Loop, listener: &OwnedFd, leader: &mut Child) -> Result<ExitCode, Error> {
    let mut path = vec![0; PATH_MAX];
    loop {
        // Since Linux 6.11 this fails when no process uses the filter any more.
        let Ok(call) = ScmpNotifReq::receive(listener.as_raw_fd()) else {
            match leader.try_wait().context(|| "the leader".into())? {
                None => continue,
                Some(status) => {
                    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
                    return Ok(ExitCode::from(code as u8));
                }
            }
        };
        let number = i32::from(call.data.syscall);
        let address = if number == OPENAT { call.data.args[1] } else { call.data.args[0] };
        let read = read_path(call.pid, address, &mut path);
        // This only fails if the caller is gone, so there is nobody to report to.
        let _ = match (own, number) {
            (Loop::Look | Loop::Traced | Loop::Addfd, EXECVE) => follow(&call, listener),
            (Loop::Addfd, OPEN | OPENAT) if read => open(&call, &path, listener),
            (Loop::Look, OPEN | OPENAT) if read => {
                look(&call, &path);
                go_on(&call, listener)
            }
            _ => go_on(&call, listener),
        };
    }
}

/// Reads the string at an address, page by page. Returns false if there is none.
fn read_path(pid: u32, address: u64, buffer: &mut [u8]) -> bool {
    const PAGE: usize = 4096;
    let mut length = 0;
    while length < buffer.len() {
        let at = address as usize + length;
        let part = (PAGE - at % PAGE).min(buffer.len() - length);
        let remote = [RemoteIoVec { base: at, len: part }];
        let mut local = [IoSliceMut::new(&mut buffer[length..length + part])];
        match process_vm_readv(Pid::from_raw(pid as i32), &mut local, &remote) {
            Ok(count) if buffer[length..length + count].contains(&0) => return true,
            Ok(count) if count > 0 => length += count,
            _ => return false,
        }
    }
    false
}

fn go_on(call: &ScmpNotifReq, listener: &OwnedFd) -> Result<(), Error> {
    let answer = ScmpNotifResp::new_continue(call.id, ScmpNotifRespFlags::empty());
    answer.respond(listener.as_raw_fd()).context(|| "answer".into())
}

/// Looks up the path with an open that can only fail.
fn look(call: &ScmpNotifReq, path: &[u8]) {
    let Ok(path) = CStr::from_bytes_until_nul(path) else { return };
    let mut whole = Vec::new();
    if !path.to_bytes().starts_with(b"/") {
        let directory = match i32::from(call.data.syscall) {
            OPENAT => call.data.args[0] as i32,
            _ => CWD.as_raw_fd(),
        };
        let link = if directory == CWD.as_raw_fd() { "cwd".to_owned() } else { format!("fd/{directory}") };
        let Ok(read) = rustix::fs::readlink(format!("/proc/{}/{link}", call.pid), Vec::new()) else { return };
        whole = read.into_bytes();
        whole.push(b'/');
    }
    whole.extend_from_slice(path.to_bytes());
    let never = OFlags::DIRECTORY | OFlags::WRONLY | OFlags::CLOEXEC;
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let _ = rustix::fs::openat2(CWD, whole, never, Mode::empty(), no_links);
}

/// Opens the file for the caller and hands it over. Continues a call that would mean something else in this
/// process.
fn open(call: &ScmpNotifReq, path: &[u8], listener: &OwnedFd) -> Result<(), Error> {
    let path = CStr::from_bytes_until_nul(path).context(|| "path".into())?;
    let arguments = &call.data.args;
    let (directory, flags, mode) = match i32::from(call.data.syscall) {
        OPENAT => (arguments[0] as i32, arguments[2], arguments[3]),
        _ => (CWD.as_raw_fd(), arguments[1], arguments[2]),
    };
    let flags = OFlags::from_bits_retain(flags as u32);
    if flags.contains(OFlags::PATH) || path.to_bytes().starts_with(b"/proc/") {
        return go_on(call, listener);
    }
    let opened = at(call.pid, directory, path).and_then(|directory| {
        let mode = Mode::from_raw_mode(mode as u32);
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        match &directory {
            Some(directory) => rustix::fs::openat(directory, path, flags, mode),
            None => rustix::fs::openat(CWD, path, flags, mode),
        }
    });
    match opened {
        Ok(file) => {
            let flags = (flags & OFlags::CLOEXEC).bits() as i32;
            kernel::hand_over(listener.as_fd(), call.id, file.as_fd(), flags).context(|| "answer".into())
        }
        Err(error) => {
            let answer =
                ScmpNotifResp::new_error(call.id, -error.raw_os_error(), ScmpNotifRespFlags::empty());
            answer.respond(listener.as_raw_fd()).context(|| "answer".into())
        }
    }
}

/// The caller's directory; `None` if the path does not need it.
fn at(pid: u32, directory: i32, path: &CStr) -> rustix::io::Result<Option<OwnedFd>> {
    if path.to_bytes().starts_with(b"/") {
        return Ok(None);
    }
    let link = match directory {
        own if own == CWD.as_raw_fd() => format!("/proc/{pid}/cwd"),
        number => format!("/proc/{pid}/fd/{number}"),
    };
    rustix::fs::open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map(Some)
}

/// Continues an exec, and inspects the new program before its first instruction.
fn follow(call: &ScmpNotifReq, listener: &OwnedFd) -> Result<(), Error> {
    let task = Pid::from_raw(call.pid as i32);
    let options = ptrace::Options::PTRACE_O_TRACEEXEC | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::seize(task, options).context(|| "seize".into())?;
    notify_id_valid(listener.as_raw_fd(), call.id).context(|| "caller".into())?;
    // Reply first: a ptrace stop would interrupt the wait of a filter loaded by libseccomp 2.5, and the call would
    // restart.
    go_on(call, listener)?;
    ptrace::interrupt(task).context(|| "interrupt".into())?;
    loop {
        match waitpid(task, Some(WaitPidFlag::__WALL)).context(|| "wait".into())? {
            WaitStatus::PtraceEvent(task, _, event) => {
                if event == EVENT_EXEC {
                    let _ = rustix::fs::stat(format!("/proc/{task}/exe"));
                }
                return ptrace::detach(task, None).context(|| "detach".into());
            }
            WaitStatus::Stopped(task, signal) => ptrace::cont(task, signal).context(|| "go on".into())?,
            _ => return Ok(()),
        }
    }
}
