//! Runs a command to its end, within a time limit: a hang fails the test and leaves nothing behind.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Ended, give_environment, is_foreign};

/// Returns whether the soak tests run: GUARD_SOAK is set.
#[must_use]
pub fn is_soak() -> bool {
    std::env::var_os("GUARD_SOAK").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns `short`, or `soak` if GUARD_SOAK is set.
#[must_use]
pub fn rounds(short: usize, soak: usize) -> usize {
    if is_soak() { soak } else { short }
}

/// Returns a command that runs after these others, such as prlimit(1), setpriv(1) or nice(1).
///
/// # Panics
/// When `before` is empty.
#[must_use]
pub fn behind(before: &[&str], command: &Command) -> Command {
    let mut all = Command::new(before[0]);
    all.args(&before[1..]).arg(command.get_program()).args(command.get_args());
    if let Some(directory) = command.get_current_dir() {
        all.current_dir(directory);
    }
    give_environment(command, &mut all);
    all
}

/// Reports on stderr why a test does nothing here. Bypasses the harness, which would capture the message.
pub fn skip(reason: &str) {
    // There is nowhere to report that stderr is gone.
    let _ = std::io::stderr().write_all(format!("skipped: {reason}\n").as_bytes());
}

/// Returns a command as shell text; its words need no quotes.
///
/// # Panics
/// When a word is not UTF-8.
#[must_use]
pub fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_str().expect("plain words")).collect::<Vec<_>>().join(" ")
}

/// Returns how long a command may take before it counts as hung. Tests assert nothing else about time.
#[must_use]
pub fn limit() -> Duration {
    Duration::from_secs(if is_soak() || is_foreign() { 3600 } else { 300 })
}

/// Runs a command to its end, and reads its output to the end.
///
/// # Panics
/// When it cannot be started, or takes longer than [`limit`].
pub fn ended(command: &mut Command) -> Ended {
    finish(command, None)
}

/// Runs a command like [`ended`], with this standard input.
///
/// # Panics
/// As [`ended`].
pub fn ended_with_input(command: &mut Command, input: &[u8]) -> Ended {
    command.stdin(Stdio::piped());
    finish(command, Some(input.to_vec()))
}

fn finish(command: &mut Command, input: Option<Vec<u8>>) -> Ended {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let shown = format!("{command:?}");
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{shown}: {error}"));
    let until = Instant::now() + limit();
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // A command need not read its input.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let (stdout, stdout_end) = collect(child.stdout.take().expect("a pipe"));
    let (stderr, stderr_end) = collect(child.stderr.take().expect("a pipe"));
    let text = |bytes: &Mutex<Vec<u8>>| {
        String::from_utf8_lossy(&bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    };
    let is_done = [stdout_end, stderr_end].iter().all(|end| {
        end.recv_timeout(until.saturating_duration_since(Instant::now()))
            != Err(std::sync::mpsc::RecvTimeoutError::Timeout)
    });
    let status = if is_done { wait(&mut child, until) } else { None };
    let Some(status) = status else {
        let stacks = kill_with_descendants(child.id());
        let _ = child.wait();
        panic!("hung: {shown}\n{stacks}\nstdout:\n{}\nstderr:\n{}", text(&stdout), text(&stderr));
    };
    Ended { stdout: text(&stdout), stderr: text(&stderr), status }
}

/// Waits only for the command's own end: processes that it left running may keep its output open.
///
/// # Panics
/// As [`ended`].
pub fn status_of(child: &mut Child) -> i32 {
    wait(child, Instant::now() + limit()).unwrap_or_else(|| {
        let stacks = kill_with_descendants(child.id());
        let _ = child.wait();
        panic!("hung: process {}\n{stacks}", child.id());
    })
}

/// Polls until `done` returns true.
///
/// # Panics
/// When that takes longer than [`limit`].
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + limit();
    while !done() {
        assert!(Instant::now() < end, "never happened: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn wait(child: &mut Child, until: Instant) -> Option<i32> {
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
        }
        if Instant::now() >= until {
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

type Collected = (Arc<Mutex<Vec<u8>>>, Receiver<()>);

fn collect(mut from: impl Read + Send + 'static) -> Collected {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (end, ended) = channel();
    let into = Arc::clone(&bytes);
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(count) = from.read(&mut buffer) {
            if count == 0 {
                break;
            }
            into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
        }
        drop(end);
    });
    (bytes, ended)
}

/// Kills a process and its descendants. Returns what each was doing.
fn kill_with_descendants(pid: u32) -> String {
    let mut stacks = String::new();
    let family = descendants(pid);
    for member in &family {
        let of = |name: &str| fs::read_to_string(format!("/proc/{member}/{name}")).unwrap_or_default();
        let (comm, wchan, call) = (of("comm"), of("wchan"), of("syscall"));
        stacks.push_str(&format!("{member} {} {wchan} {call}", comm.trim()));
    }
    for member in family {
        // A process that has ended needs no signal.
        let _ = Command::new("kill").args(["-KILL", &member.to_string()]).stderr(Stdio::null()).status();
    }
    stacks
}

/// Returns a process and its descendants.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for process in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(number) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        // pid (comm) state ppid
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        children.entry(parent.unwrap_or(0)).or_default().push(number);
    }
    let mut family = vec![pid];
    let mut at = 0;
    while let Some(&member) = family.get(at) {
        family.extend(children.get(&member).into_iter().flatten());
        at += 1;
    }
    family
}
