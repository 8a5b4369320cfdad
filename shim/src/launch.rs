//! The child's path from fork to exec.

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::unistd::execve;

use crate::filter::FilterProgram;
use crate::handover::{Courier, LaunchReport, Stage, send_report, wait_for_release};
use crate::landlock::Floor;
use crate::{descriptors, privileges};

/// The exit status of a child that failed before it tried to start the command.
const SET_UP_FAILED: i32 = 125;
/// The exit status if the command cannot be executed, as in a shell.
const NOT_EXECUTABLE: i32 = 126;
/// The exit status if the command does not exist, as in a shell.
const NOT_FOUND: i32 = 127;

/// The shell that runs a file that is neither a binary nor starts with `#!`, as `execvp` does.
const SHELL: &CStr = c"/bin/sh";

/// The terminal of the caller's session. The command becomes a job on it, like a shell's jobs.
#[derive(Debug)]
pub struct JobTerminal {
    /// The terminal, open for reading and writing.
    pub slave: OwnedFd,
    /// Which of the descriptors 0, 1 and 2 are replaced by the terminal.
    pub replace: [bool; 3],
    /// Whether the command is the foreground job.
    pub foreground: bool,
}

/// Everything the child needs, prepared before the fork.
#[derive(Debug)]
pub struct LaunchPlan {
    /// The paths to try, in order: the command itself, or the command in each directory of PATH.
    pub candidates: Vec<CString>,
    /// The arguments, the command's name first.
    pub argv: Vec<CString>,
    /// The environment.
    pub envp: Vec<CString>,
    /// The filter.
    pub filter: FilterProgram,
    /// The Landlock domain, if one is used.
    pub floor: Option<Floor>,
    /// The soft and hard limits of open descriptors.
    pub nofile: (u64, u64),
    /// The most processes and threads that the user may have (RLIMIT_NPROC), if the command gets a limit of its own.
    pub processes: Option<u64>,
    /// The signals that the command ignores. All others are reset to their defaults.
    pub ignored_signals: Vec<i32>,
    /// The terminal, if the guard gives the command one of its own.
    pub terminal: Option<JobTerminal>,
}

impl LaunchPlan {
    /// Closes the descriptors without freeing the memory. For a process forked beside the child: freeing would copy the
    /// shared pages.
    pub fn forget(self) {
        let LaunchPlan {
            candidates,
            argv,
            envp,
            filter: _,
            floor,
            nofile: _,
            processes: _,
            ignored_signals,
            terminal,
        } = self;
        std::mem::forget((candidates, argv, envp, ignored_signals));
        drop((floor, terminal));
    }
}

/// Becomes the command, guarded. Call it in a forked child with one thread.
///
/// The supervisor holds the other end of the channel: it takes the listener, then releases the child. On failure the
/// child reports it and exits with 125, or with 126 or 127 (as a shell does) if the exec failed.
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
    let LaunchPlan { candidates, argv, envp, filter, floor, nofile, processes, ignored_signals, terminal } =
        plan;
    if let Some(terminal) = terminal {
        at(Stage::Terminal, join_terminal(terminal))?;
    }
    let ruleset = floor.as_ref().and_then(Floor::descriptor);
    let mut keep: Vec<_> = ruleset.into_iter().chain([channel.as_raw_fd()]).collect();
    at(Stage::Descriptors, descriptors::close_all_but(&mut keep))?;
    // Hire the courier before the limits are set, because they may allow no further thread.
    let courier = at(Stage::Handover, Courier::hire(channel))?;
    at(Stage::Limits, privileges::set_limits(nofile, processes))?;
    at(Stage::Signals, privileges::reset_signals(&ignored_signals))?;
    at(Stage::NoNewPrivileges, privileges::set_no_new_privileges())?;
    at(Stage::Capabilities, privileges::drop_capabilities())?;
    if let Some(floor) = floor {
        at(Stage::Floor, floor.enter())?;
    }
    let listener = at(Stage::Filter, filter.load())?;
    at(Stage::Handover, courier.send(listener))?;
    at(Stage::Release, wait_for_release(channel))?;
    Err(LaunchReport { stage: Stage::Exec, errno: exec(&candidates, argv, &envp) as i32 })
}

fn at<T>(stage: Stage, result: io::Result<T>) -> Result<T, LaunchReport> {
    result.map_err(|error| LaunchReport { stage, errno: error.raw_os_error().unwrap_or(libc::EIO) })
}

/// Becomes a job of the session's terminal: its own process group, in the foreground or not.
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
        // A background process would be stopped for changing the foreground group. The signal mask is reset later.
        privileges::block_terminal_output_signal()?;
        rustix::termios::tcsetpgrp(&terminal.slave, rustix::process::getpid())?;
    }
    Ok(())
}

/// Tries the candidates as `execvp` does. Returns only on failure, with the reason.
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
