//! The guard's own processes are killed: by a time limit, by the kernel for lack of memory, by an operator.

use std::fs;
use std::process::{Child, Command, Stdio};

use guard_tests::{World, descendants, program_text, status_of, until};

/// Ignores what it can, and goes on in three ways: as itself, as a daemon, and as a process that forks and exits for ever.
const STUBBORN: &str = r#"
import os, signal, sys, time
for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE: signal.signal(number, signal.SIG_IGN)
if not os.fork():
    os.setsid()
    if os.fork(): os._exit(0)
    while True: time.sleep(0.01)
if not os.fork():
    while True:
        if os.fork(): os._exit(0)
        os.setsid()
        time.sleep(0.0005)
open("ready", "w").close()
while True: sum(range(10000))
"#;

/// The guard's processes, in order.
struct Guard {
    front: Child,
    supervisor: String,
    reaper: String,
}

fn start(world: &World, argv: &[&str]) -> Guard {
    let mut command = world.command();
    command.arg("--").args(argv);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let front = command.spawn().expect("the guard");
    until("it runs", || world.work().join("ready").exists());
    let family = descendants(front.id());
    Guard { supervisor: family[1].to_string(), reaper: family[2].to_string(), front }
}

/// Kills processes at once: none of them can react to the end of another.
fn kill(pids: &[&str]) {
    for signal in ["-STOP", "-KILL"] {
        assert!(Command::new("kill").arg(signal).args(pids).status().expect("kill").success());
    }
}

/// Returns the processes whose command line holds this text, without zombies.
fn running(text: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let named = processes.filter(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.windows(text.len()).any(|part| part == text.as_bytes())
    });
    named.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// Runs the stubborn tree, kills some of the guard's processes, and returns the front's status after all has ended.
fn status_after(kills: impl Fn(&Guard)) -> i32 {
    let world = World::open();
    world.write("work/stubborn.py", STUBBORN);
    let mark = world.work().join("stubborn.py").display().to_string();
    let mut guard = start(&world, &[&program_text("python3"), &mark]);
    assert!(running(&mark).len() >= 3);
    kills(&guard);
    until("the tree is gone", || running(&mark).is_empty());
    status_of(&mut guard.front)
}

#[test]
fn the_reaper_ends_the_tree_of_a_killed_supervisor() {
    assert_eq!(status_after(|guard| kill(&[&guard.supervisor])), 125);
}

#[test]
fn the_supervisor_ends_the_tree_of_a_killed_reaper() {
    assert_eq!(status_after(|guard| kill(&[&guard.reaper])), 125);
}

#[test]
fn the_front_ends_the_tree_where_both_are_killed() {
    assert_eq!(status_after(|guard| kill(&[&guard.supervisor, &guard.reaper])), 125);
}

#[test]
fn the_reaper_ends_the_tree_where_the_front_is_killed_as_well() {
    assert_eq!(status_after(|guard| kill(&[&guard.supervisor, &guard.front.id().to_string()])), 137);
}

#[test]
fn a_command_ends_with_all_of_the_guard() {
    let world = World::open();
    let script = "trap '' TERM HUP; echo $$ > pid; : > ready; while :; do :; done";
    let mut guard = start(&world, &["sh", "-c", script]);
    kill(&[&guard.front.id().to_string(), &guard.supervisor, &guard.reaper]);
    let _ = status_of(&mut guard.front);
    let pid = world.read("work/pid").expect("a pid");
    until("the command ends", || !is_alive(pid.trim()));
}

fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A time limit kills what it started. Python waits for the end of the pipes then, which what runs in the background
/// has not got.
const LIMIT: &str = r#"
import subprocess, sys
script = "trap '' TERM HUP; echo $$ > pid; (until [ -e go ]; do sleep 0.05; done; cat f > copy) > /dev/null 2>&1 & echo out; while :; do sleep 0.05; done"
try: subprocess.run(sys.argv[1:] + ["sh", "-c", script], timeout=2, stdout=subprocess.PIPE)
except subprocess.TimeoutExpired as expired: print(expired.stdout)
"#;

#[test]
fn a_time_limit_ends_the_command_alone() {
    let of = |is_guarded: bool| {
        let world = World::open();
        world.write("work/f", "kept");
        let mut python = Command::new(program_text("python3"));
        python.current_dir(world.work()).args(["-c", LIMIT]);
        if is_guarded {
            let guard = world.command();
            python.arg(guard.get_program()).args(guard.get_args()).args(["-q", "--"]);
            python.envs(guard.get_envs().filter_map(|(name, value)| Some((name, value?))));
        }
        let ended = guard_tests::ended(&mut python);
        let pid = world.read("work/pid").expect("a pid");
        until("the command ends", || !is_alive(pid.trim()));
        world.write("work/go", "");
        until("the background goes on", || world.read("work/copy").as_deref() == Some("kept"));
        (ended.stdout, ended.status)
    };
    assert_eq!(of(true), of(false));
}

/// Where the init process reaps nobody, nothing of the guard stays behind.
#[test]
fn no_zombies_are_left_to_an_init_that_reaps_nobody() {
    const INIT: &str = r#"
import ctypes, os, subprocess, sys, time
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER
for _ in range(5): assert subprocess.run(sys.argv[1:]).returncode == 3
time.sleep(0.2)
print([open(f"/proc/{child}/stat").read() for child in open("/proc/self/task/%d/children" % os.getpid()).read().split()])
"#;
    let world = World::open();
    let guard = world.command();
    let mut init = Command::new(program_text("python3"));
    init.current_dir(world.work()).args(["-c", INIT]).arg(guard.get_program()).args(guard.get_args());
    init.args(["-q", "--", "sh", "-c", "exit 3"]);
    init.envs(guard.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = guard_tests::ended(&mut init);
    assert_eq!((&*ended.stdout, ended.status), ("[]\n", 0), "{}", ended.stderr);
}
