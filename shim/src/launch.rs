//! The child's path from fork to exec.

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::unistd::execve;

use crate::filter::FilterProgram;
use crate::floor::Floor;
use crate::handover::{Courier, LaunchReport, Stage, send_listener, send_report, wait_for_release};
use crate::{descriptors, privileges};

/// The status of a child that failed before it tried the command.
const SET_UP_FAILED: i32 = 125;
/// The status when the command may not be run, as a shell has it.
const NOT_EXECUTABLE: i32 = 126;
/// The status when there is no such command.
const NOT_FOUND: i32 = 127;

/// Who runs a file that is neither a binary nor names its interpreter, as for `execvp`.
const SHELL: &CStr = c"/bin/sh";

/// The terminal of the session that the caller leads: the command becomes a job on it, as a shell's jobs do.
#[derive(Debug)]
pub struct JobTerminal {
    /// The terminal, open for reading and writing.
    pub slave: OwnedFd,
    /// Which of the descriptors 0, 1 and 2 it replaces.
    pub replace: [bool; 3],
    /// Whether the command is the foreground job.
    pub foreground: bool,
}

/// All that the child needs, made before the fork.
#[derive(Debug)]
pub struct LaunchPlan {
    /// The files to try, in order: the command itself, or the command in each directory of PATH.
    pub candidates: Vec<CString>,
    /// The arguments, the command's name first.
    pub argv: Vec<CString>,
    /// The environment.
    pub envp: Vec<CString>,
    /// The filter.
    pub filter: FilterProgram,
    /// The Landlock domain, if there is to be one.
    pub floor: Option<Floor>,
    /// The soft and the hard limit of open descriptors.
    pub nofile: (u64, u64),
    /// The signals that the command is to ignore. All others get their default.
    pub ignored_signals: Vec<i32>,
    /// The terminal, where the guard puts its own before the command.
    pub terminal: Option<JobTerminal>,
}

impl LaunchPlan {
    /// Closes its descriptors and leaves its memory as it is: for a process beside the child, which would have to copy
    /// what it frees.
    pub fn forget(self) {
        let LaunchPlan { candidates, argv, envp, filter: _, floor, nofile: _, ignored_signals, terminal } =
            self;
        std::mem::forget((candidates, argv, envp, ignored_signals));
        drop((floor, terminal));
    }
}

/// Become the command, guarded. To be called in a child with one thread.
///
/// The channel's other end is with the supervisor, who takes the listener, then releases the child.
/// When something fails the child reports it and ends: with 125, or 126 or 127 as a shell does if it was the exec.
pub fn run(plan: LaunchPlan, channel: OwnedFd) -> ! {
    let failure = match prepare(plan, channel.as_fd()) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    send_report(channel.as_fd(), failure);
    let status = match (failure.stage, failure.errno) {
        (Stage::Exec, libc::ENOENT | libc::ENOTDIR) => NOT_FOUND,
        (Stage::Exec, _) => NOT_EXECUTABLE,
        _ => SET_UP_FAILED,
    };
    // SAFETY: `_exit` ends the process, and runs nothing of what the supervisor registered before the fork.
    unsafe { libc::_exit(status) }
}

fn prepare(plan: LaunchPlan, channel: BorrowedFd<'_>) -> Result<Infallible, LaunchReport> {
    let LaunchPlan { candidates, argv, envp, filter, floor, nofile, ignored_signals, terminal } = plan;
    if let Some(terminal) = terminal {
        at(Stage::Terminal, join_terminal(terminal))?;
    }
    let ruleset = floor.as_ref().and_then(Floor::descriptor);
    let mut keep: Vec<_> = ruleset.into_iter().chain([channel.as_raw_fd()]).collect();
    at(Stage::Descriptors, descriptors::close_all_but(&mut keep))?;
    at(Stage::Limits, privileges::set_limits(nofile))?;
    at(Stage::Signals, privileges::reset_signals(&ignored_signals))?;
    at(Stage::NoNewPrivileges, privileges::set_no_new_privileges())?;
    at(Stage::Capabilities, privileges::drop_capabilities())?;
    if let Some(floor) = floor {
        at(Stage::Floor, floor.enter())?;
    }
    let courier = filter.holds_messages().then(|| Courier::hire(channel)).transpose();
    let courier = at(Stage::Handover, courier)?;
    let listener = at(Stage::Filter, filter.load())?;
    let sent = match courier {
        Some(courier) => courier.send(listener.as_fd()),
        None => send_listener(channel, listener.as_fd()),
    };
    at(Stage::Handover, sent)?;
    drop(listener);
    at(Stage::Release, wait_for_release(channel))?;
    Err(LaunchReport { stage: Stage::Exec, errno: exec(&candidates, argv, &envp) as i32 })
}

fn at<T>(stage: Stage, result: io::Result<T>) -> Result<T, LaunchReport> {
    result.map_err(|error| LaunchReport { stage, errno: error.raw_os_error().unwrap_or(libc::EIO) })
}

/// Become a job of the session's terminal: a process group of its own, in the foreground or not.
fn join_terminal(terminal: JobTerminal) -> io::Result<()> {
    rustix::process::setpgid(None, None)?;
    let [input, output, error] = terminal.replace;
    if input {
        rustix::stdio::dup2_stdin(&terminal.slave)?;
    }
    if output {
        rustix::stdio::dup2_stdout(&terminal.slave)?;
    }
    if error {
        rustix::stdio::dup2_stderr(&terminal.slave)?;
    }
    if terminal.foreground {
        // Not in the foreground yet, it would be stopped for asking. The mask is reset later.
        privileges::block_terminal_output_signal()?;
        rustix::termios::tcsetpgrp(&terminal.slave, rustix::process::getpid())?;
    }
    Ok(())
}

/// Try the candidates as `execvp` does: return only with the reason why none was started.
fn exec(candidates: &[CString], mut argv: Vec<CString>, envp: &[CString]) -> Errno {
    let mut refused = false;
    for candidate in candidates {
        let error = match execve(candidate, &argv, envp) {
            Ok(never) => match never {},
            Err(error) => error,
        };
        match error {
            Errno::ENOENT | Errno::ENOTDIR => {}
            Errno::EACCES => refused = true,
            Errno::ENOEXEC => {
                argv.splice(..argv.len().min(1), [SHELL.to_owned(), candidate.clone()]);
                return match execve(SHELL, &argv, envp) {
                    Ok(never) => match never {},
                    Err(error) => error,
                };
            }
            other => return other,
        }
    }
    if refused { Errno::EACCES } else { Errno::ENOENT }
}
