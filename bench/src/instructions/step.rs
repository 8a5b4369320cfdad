//! Counts the instructions of a program between marks, by stopping it after each instruction (PTRACE_SINGLESTEP).
//!
//! valgrind is not usable: up to 3.19 it lacks openat2(2), which the guard needs to resolve paths. Instructions in the
//! kernel and in threads other than the marking one are not counted.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::error::{Context, Error};

/// The signal that marks a place in the program.
const MARK: Signal = Signal::SIGUSR2;

/// Starts a program that prints its thread id on stderr, waits for a line and then marks three places. Returns the
/// numbers of instructions between them.
///
/// # Errors
/// If it cannot be traced, or ends before its last mark.
pub fn between_marks(command: &mut Command) -> Result<(u64, u64), Error> {
    stay_on_one_processor().context(|| "cannot stay on one processor".into())?;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context(|| "the driver".into())?;
    let counted = thread_of(&mut child).and_then(|task| {
        let counted = count(&mut child, task);
        // The tracer has to reap the thread first: waiting for the process alone would never return.
        let _ = child.kill();
        while !matches!(waitpid(task, Some(WaitPidFlag::__WALL)), Err(_) | Ok(WaitStatus::Signaled(..))) {}
        counted
    });
    let _ = child.kill();
    let _ = child.wait();
    counted
}

/// Keeps this process and its children on one processor: it is ten times as fast as waking another one at each
/// stop.
fn stay_on_one_processor() -> rustix::io::Result<()> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    let mut one = rustix::thread::CpuSet::new();
    if let Some(first) = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)) {
        one.set(first);
    }
    rustix::thread::sched_setaffinity(None, &one)
}

/// Reads the id of the thread that will mark.
fn thread_of(child: &mut Child) -> Result<Pid, Error> {
    let stderr = child.stderr.take().ok_or_else(|| Error::new("the driver has no pipes"))?;
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line).context(|| "the driver".into())?;
    let thread =
        line.trim().parse().context(|| format!("not the thread of a driver: {}", line.escape_debug()))?;
    Ok(Pid::from_raw(thread))
}

fn count(child: &mut Child, task: Pid) -> Result<(u64, u64), Error> {
    let mut stdin = child.stdin.take().ok_or_else(|| Error::new("the driver has no pipes"))?;
    ptrace::seize(task, ptrace::Options::PTRACE_O_EXITKILL).context(|| "cannot trace the driver".into())?;
    stdin.write_all(b"\n").context(|| "the driver".into())?;
    let mut counts = [0, 0];
    let mut marks = 0;
    loop {
        match waitpid(task, Some(WaitPidFlag::__WALL)).context(|| "the driver".into())? {
            WaitStatus::Stopped(_, signal) if signal == MARK => {
                marks += 1;
                if marks > counts.len() {
                    return Ok((counts[0], counts[1]));
                }
                ptrace::step(task, None).context(|| "the driver".into())?;
            }
            WaitStatus::Stopped(_, Signal::SIGTRAP) if marks > 0 => {
                counts[marks - 1] += 1;
                ptrace::step(task, None).context(|| "the driver".into())?;
            }
            WaitStatus::Stopped(_, signal) => ptrace::cont(task, signal).context(|| "the driver".into())?,
            WaitStatus::PtraceEvent(..) => ptrace::cont(task, None).context(|| "the driver".into())?,
            end => return Err(Error::new(format!("the driver has ended before its last mark: {end:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::between_marks;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn instructions_between_marks_are_counted() {
        let mark = "kill -USR2 $$";
        let script =
            format!("echo $$ >&2; read go; {mark}; : ; {mark}; : ; : ; : ; : ; : ; : ; : ; {mark}; exit 1");
        let (short, long) = between_marks(&mut shell(&script)).unwrap();
        assert!(0 < short && short < long, "{short} {long}");
    }

    #[test]
    fn a_driver_that_is_none_is_an_error() {
        for script in
            ["true", "echo no >&2", "echo $$ >&2; read go; exit 0", "echo $$ >&2; read go; kill -USR2 $$"]
        {
            assert!(between_marks(&mut shell(script)).is_err(), "{script}");
        }
    }
}
