//! The rows of the table: the work, and the goal for its cost.

use std::ffi::OsString;
use std::path::Path;

use crate::caller::Operation;
use crate::error::Error;
use crate::world::World;

/// The goal of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// At most this ratio to the native time.
    Ratio(f64),
    /// At most this many milliseconds.
    Milliseconds(f64),
}

/// One row.
pub struct Row {
    /// Its name, for `--only` and the results.
    pub name: &'static str,
    /// A description of the work, for humans.
    pub what: &'static str,
    /// The work.
    pub work: Work,
    /// The goal under the policy that `init` writes.
    pub goal: Goal,
    /// The goal of the kernel tier, if it has its own.
    pub kernel: Option<Goal>,
}

/// The work of a row.
pub enum Work {
    /// Calls of one kind, timed by the caller.
    Calls {
        /// Which call.
        operation: Operation,
        /// The file or directory.
        on: On,
        /// The number of calls in one round.
        count: usize,
    },
    /// A command, timed from start to end.
    Command {
        /// The command line.
        line: CommandLine,
        /// The number of runs in one round, of which the median counts.
        times: usize,
        /// The exit statuses that are not a failure.
        status: ExpectedStatus,
    },
}

/// The exit statuses that are not a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedStatus {
    /// 0.
    Zero,
    /// 0, or 1 if there is output: some files are unreadable to this user, both natively and guarded.
    ZeroOrOne,
}

/// The target of a call.
#[derive(Clone, Copy, Debug)]
pub enum On {
    /// A system file.
    Path(&'static str),
    /// A new directory in the workspace.
    Fresh,
}

/// Builds a command line for the files of a world.
pub type CommandLine = fn(&World) -> Result<Vec<OsString>, Error>;

/// All rows, in the order of the table.
pub fn all() -> Vec<Row> {
    use Goal::{Milliseconds, Ratio};
    use Operation::{Create, Exec, Getpid, Missing, Open, Stat};
    let passwd = On::Path("/etc/passwd");
    vec![
        calls("getpid", "getpid, not held", Getpid, passwd, 200_000, Ratio(1.05), None),
        calls("stat", "stat of a system file", Stat, passwd, 50_000, Ratio(1.1), None),
        calls("open", "open + close of a system file", Open, passwd, 20_000, Ratio(6.5), Some(Ratio(1.5))),
        calls("create", "open(O_CREAT) + close in the workspace", Create, On::Fresh, 2_000, Ratio(4.5), None),
        calls(
            "missing",
            "open of a missing file",
            Missing,
            On::Path("/etc/not-there"),
            20_000,
            Ratio(8.0),
            None,
        ),
        calls("exec", "fork + exec /bin/true", Exec, On::Path("/bin/true"), 200, Ratio(1.2), None),
        command("start", "start-up of `-- true`", |_| Ok(words(&["/bin/true"])), 20, Milliseconds(4.0), None),
        command("git-status", "git status, 20,000 files", git_status, 3, Ratio(1.4), Some(Ratio(1.15))),
        command("grep", "grep -r, 20,000 files", grep, 1, Ratio(4.0), Some(Ratio(1.15))),
        Row {
            name: "find",
            what: "find /usr -type f",
            work: Work::Command {
                line: |_| Ok(words(&["find", "/usr", "-type", "f"])),
                times: 1,
                status: ExpectedStatus::ZeroOrOne,
            },
            goal: Ratio(2.0),
            kernel: Some(Ratio(1.2)),
        },
        command("gcc", "gcc hello.c, 20 times", gcc, 1, Ratio(1.12), None),
        command("python", "python3 imports, 20 times", python, 1, Ratio(1.06), None),
        command("copy", "cp -r and rm -rf of a source tree", copy, 1, Ratio(1.8), None),
        command(
            "true-500",
            "500 times /bin/true from sh",
            |_| Ok(repeat("/bin/true", 500)),
            1,
            Ratio(1.25),
            None,
        ),
    ]
}

fn calls(
    name: &'static str,
    what: &'static str,
    operation: Operation,
    on: On,
    count: usize,
    goal: Goal,
    kernel: Option<Goal>,
) -> Row {
    Row { name, what, work: Work::Calls { operation, on, count }, goal, kernel }
}

fn command(
    name: &'static str,
    what: &'static str,
    line: CommandLine,
    times: usize,
    goal: Goal,
    kernel: Option<Goal>,
) -> Row {
    Row { name, what, work: Work::Command { line, times, status: ExpectedStatus::Zero }, goal, kernel }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// A shell loop.
fn repeat(command: &str, times: usize) -> Vec<OsString> {
    let script = format!("i=0; while [ $i -lt {times} ]; do {command} || exit 1; i=$((i+1)); done");
    words(&["/bin/sh", "-c", &script])
}

fn git_status(world: &World) -> Result<Vec<OsString>, Error> {
    let mut line = words(&["git", "-C"]);
    line.extend([world.repository()?.into(), "status".into()]);
    Ok(line)
}

fn grep(world: &World) -> Result<Vec<OsString>, Error> {
    let mut line = words(&["grep", "-r", "--exclude-dir=.git", "needle"]);
    line.push(world.repository()?.into());
    Ok(line)
}

fn gcc(world: &World) -> Result<Vec<OsString>, Error> {
    let source = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n";
    let path = world.work().join("hello.c");
    std::fs::write(&path, source).map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
    Ok(repeat("gcc hello.c -o hello", 20))
}

fn python(_: &World) -> Result<Vec<OsString>, Error> {
    let modules = "argparse, asyncio, email.message, http.client, json, subprocess, unittest, urllib.request";
    Ok(repeat(&format!("/usr/bin/python3 -c 'import {modules}'"), 20))
}

fn copy(world: &World) -> Result<Vec<OsString>, Error> {
    let (source, copy) = (world.source()?, world.work().join("copied"));
    let quoted = |path: &Path| path.display().to_string();
    let script = format!("cp -r '{0}' '{1}' && rm -rf '{1}'", quoted(source), quoted(&copy));
    Ok(words(&["/bin/sh", "-c", &script]))
}
