//! Processes that outlive the command.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use guard_tests::{World, descendants, program_text, status_of, until};

/// Starts a guarded command without input or output.
fn start(world: &World, more: &[&str], argv: &[&str]) -> Child {
    let mut command = world.command();
    command.args(more).arg("--").args(argv);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the guard")
}

/// Forks twice, leaves the session, and opens a file as soon as `go` exists.
const DAEMON: &str = r#"
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open("daemon.pid", "w").write(str(os.getpid()))
while not os.path.exists("go"): time.sleep(0.02)
try: text = open("../secret/key").read()
except OSError as e: text = e.strerror
open("late.tmp", "w").write(text + "\n" + os.popen("echo child").read()); os.rename("late.tmp", "late")
time.sleep(1000 if len(sys.argv) > 1 else 0)
"#;

fn daemon_world() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "deny": ["@/secret/**"], "default": "---"}}}"#,
    );
    world.write("secret/key", "secret");
    world.write("work/daemon.py", DAEMON);
    world
}

fn is_alive(pid: &str) -> bool {
    // A zombie has ended; its parent does not matter.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_daemon_stays_guarded_when_the_command_has_ended() {
    let world = daemon_world();
    let mut guard = start(&world, &[], &[&program_text("python3"), "daemon.py"]);
    assert_eq!(status_of(&mut guard), 0);
    world.write("work/go", "");
    until("the daemon opens a file", || world.work().join("late").exists());
    assert_eq!(world.read("work/late").as_deref(), Some("Permission denied\nchild\n"));
    let pid = world.read("work/daemon.pid").expect("a pid");
    until("the daemon ends", || !is_alive(&pid));
}

#[test]
fn kill_on_exit_ends_what_is_left() {
    let world = daemon_world();
    let script = format!(
        "{} daemon.py stay; until [ -s daemon.pid ]; do sleep 0.02; done; exit 4",
        program_text("python3")
    );
    let mut guard = start(&world, &["--kill-on-exit"], &["sh", "-c", &script]);
    assert_eq!(status_of(&mut guard), 4);
    let pid = world.read("work/daemon.pid").expect("a pid");
    until("the daemon is killed", || !is_alive(&pid));
    world.write("work/go", "");
    std::thread::sleep(Duration::from_millis(200));
    assert!(!world.work().join("late").exists());
}

#[test]
fn a_background_process_does_not_delay_the_guards_end() {
    let world = World::open();
    let mut guard = start(&world, &[], &["sh", "-c", "sleep 1000 & echo $! > pid; exit 5"]);
    // The guard returns long before the sleep ends; otherwise the harness's time limit fails the test.
    assert_eq!(status_of(&mut guard), 5);
    let pid = world.read("work/pid").expect("a pid");
    assert!(is_alive(pid.trim()), "it goes on");
    assert!(world.native(&["kill", pid.trim()]).status == 0);
    until("the sleep is over", || !is_alive(pid.trim()));
}

#[test]
fn a_pipe_ends_when_the_command_does() {
    let world = World::open();
    // The reader sees EOF although the guard stays for the daemon.
    let ended = world.sh("(until [ -e go ]; do sleep 0.05; done; : > over) > /dev/null 2>&1 & echo first");
    assert_eq!((ended.stdout.as_str(), ended.status), ("first\n", 0));
    assert!(!world.work().join("over").exists(), "the output ended before the daemon did");
    world.write("work/go", "");
    until("the daemon is over", || world.work().join("over").exists());
}

/// The front reports the loss at once, and the tree can open and start nothing more.
#[test]
fn a_supervisor_that_is_lost_leaves_everything_closed() {
    let world = World::open();
    let script = "echo $$ > pid; while ! [ -e go ]; do sleep 0.05; done 2> /dev/null; echo late > late";
    let mut guard = start(&world, &[], &["sh", "-c", script]);
    until("it runs", || world.read("work/pid").is_some_and(|pid| pid.ends_with('\n')));
    let supervisor = descendants(guard.id())[1].to_string();
    assert_eq!(world.native(&["kill", "-KILL", &supervisor]).status, 0);
    assert_eq!(status_of(&mut guard), 125);
    world.write("work/go", "");
    let pid = world.read("work/pid").expect("a pid");
    until("the command ends", || !is_alive(pid.trim()));
    assert!(!world.work().join("late").exists());
}

#[test]
fn orphans_leave_no_zombies() {
    let world = World::open();
    let script = "for i in $(seq 40); do (sleep 0.2 & exec true); done; sleep 0.6; parent=$(ps -o ppid= -p $$)
        for i in $(seq 600); do count=$(ps --ppid $parent -o stat= | grep -c Z); [ $count != 0 ] || break; sleep 0.1; done; echo $count; exit 9";
    let ended = world.guarded(&["bash", "-c", script]);
    assert_eq!((ended.stdout.as_str(), ended.status), ("0\n", 9), "{}", ended.stderr);
}

#[test]
fn a_tmux_server_stays_guarded() {
    let tmux = program_text("tmux");
    let world = daemon_world();
    let of = |command: &str| format!("{tmux} -f /dev/null -S sock {command}");
    let script = format!(
        "unset TMUX; export TERM=xterm; {} && {}",
        of("new-session -d -s s 'sleep 1000'"),
        of("list-sessions")
    );
    let first = world.sh(&format!("({script}) > out 2>&1"));
    assert_eq!(first.status, 0, "{} {}", first.stderr, world.read("work/out").unwrap_or_default());
    assert!(world.read("work/out").is_some_and(|out| out.contains("s: 1 windows")));
    // The client is the operator's, outside of the guard. What the server starts is guarded by its guard.
    let client = |command: &str| {
        let ended = world.native(&["sh", "-c", &format!("unset TMUX; {}", of(command))]);
        assert_eq!(ended.status, 0, "{command}: {}", ended.stderr);
    };
    client("run-shell -b 'cat ../secret/key > got 2> error; echo ran > done'");
    until("the server runs a command", || world.read("work/done").is_some_and(|text| text == "ran\n"));
    assert_eq!(world.read("work/got").as_deref(), Some(""));
    assert!(world.read("work/error").is_some_and(|text| text.contains("Permission denied")));
    client("new-window -d 'echo window > window; tty > tty'");
    until("a window's shell writes", || {
        world.read("work/tty").is_some_and(|text| text.starts_with("/dev/pts/"))
    });
    assert_eq!(world.read("work/window").as_deref(), Some("window\n"));
    client("kill-server");
}
