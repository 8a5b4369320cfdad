//! `limits`: a session that takes too much is ended, and the machine is not. Each attack is bounded by itself, too.

use std::time::Instant;

use guard_tests::{Ended, World, ended, guard, is_root, until};

/// Runs a command under these limits.
fn limited(world: &World, limits: &[&str], argv: &[&str]) -> Ended {
    let mut command = world.command();
    for limit in limits {
        command.args(["--limit", limit]);
    }
    ended(command.arg("--").args(argv))
}

fn limit_line(world: &World) -> serde_json::Value {
    let lines: Vec<_> = world.audit().into_iter().filter(|line| line["event"] == "limit").collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.into_iter().next().unwrap_or_default()
}

/// Forks 300 processes at most, of which each sleeps; as fast as it can.
const BOMB: &str = "
import os, time
for depth in range(300):
    if os.fork() == 0:
        time.sleep(600)
time.sleep(600)
";
/// The same, where each process forks and ends: 2^9 at most at a time.
const TREE_BOMB: &str = "
import os, time
for depth in range(9):
    os.fork()
time.sleep(600)
";
/// Takes 600 MiB at most, in pieces that are written to.
const EATER: &str = "
import time
taken = [bytearray(b'x') * (8 << 20) for _ in range(75)]
time.sleep(600)
";

#[test]
fn a_fork_bomb_ends_the_session() {
    for bomb in [BOMB, TREE_BOMB] {
        let world = World::open();
        let output = limited(&world, &["pids=40", "seconds=50"], &["/usr/bin/python3", "-c", bomb]);
        assert_eq!(output.status, 128 + 9, "{output:?}");
        assert!(output.stderr.contains("openclaw-guard: limits: pids 40, seconds 50\n"), "{output:?}");
        assert!(output.stderr.contains("the session is ended: limits.pids is 40, and it has "), "{output:?}");
        let line = limit_line(&world);
        assert_eq!((&line["operation"], &line["limit"]), (&"session".into(), &"pids".into()));
    }
}

/// Its processes have left the session, the group and the parent.
#[test]
fn a_daemons_fork_bomb_ends_the_session_too() {
    let world = World::open();
    let bomb = format!("import os, sys\nos.setsid()\nif os.fork(): sys.exit(0)\n{BOMB}");
    let line = "/usr/bin/python3 -c \"$1\" & wait; while :; do sleep 1; done";
    let output = limited(&world, &["pids=40", "seconds=50"], &["bash", "-c", line, "bash", &bomb]);
    assert!(output.stderr.contains("limits.pids is 40"), "{output:?}");
    assert_eq!(limit_line(&world)["limit"], "pids");
}

#[test]
fn a_program_that_takes_memory_ends_the_session() {
    let world = World::open();
    let output = limited(&world, &["memory=200M", "seconds=50"], &["/usr/bin/python3", "-c", EATER]);
    assert_eq!(output.status, 128 + 9, "{output:?}");
    assert!(
        output.stderr.contains("the session is ended: limits.memory is 200 MiB, and it has "),
        "{output:?}"
    );
    assert_eq!(limit_line(&world)["limit"], "memory");
}

#[test]
fn a_sessions_limits_are_shown() {
    let world = World::open();
    // Where nothing is kept, nothing listens.
    std::fs::create_dir_all(world.home().join(".openclaw/guard")).expect("the state directory");
    let mut command = world.command();
    command.args(["--limit", "pids=50", "--limit", "seconds=50", "--", "sleep", "600"]);
    let held = world.start_command(command);
    let mut shown = String::new();
    until("a session", || {
        let mut list = std::process::Command::new(guard());
        list.args(["session", "list", "--json"]).env("HOME", world.home()).current_dir(world.root());
        shown = ended(&mut list).stdout;
        shown != "[]\n"
    });
    assert!(shown.contains("\"limits\": \"pids 50, seconds 50\""), "{shown}");
    drop(held);
}

/// Each takes less than the limit.
#[test]
fn memory_is_that_of_all_processes_together() {
    let world = World::open();
    let small = EATER.replace("range(75)", "range(15)");
    let line = "for i in 1 2 3 4; do /usr/bin/python3 -c \"$1\" & done; wait";
    let output = limited(&world, &["memory=300M", "seconds=50"], &["bash", "-c", line, "bash", &small]);
    assert!(output.stderr.contains("the session is ended: limits.memory is 300 MiB"), "{output:?}");
    assert_eq!(limit_line(&world)["limit"], "memory");
}

/// What forked processes share counts once.
#[test]
fn shared_memory_counts_once() {
    let code = "
import os, time
taken = bytearray(b'x') * (60 << 20)
children = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        time.sleep(1.5)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
print('done')
";
    let world = World::open();
    let output = limited(&world, &["memory=200M"], &["/usr/bin/python3", "-c", code]);
    assert_eq!((output.status, &*output.stdout), (0, "done\n"), "{output:?}");
}

#[test]
fn a_session_ends_when_its_time_is_over() {
    let world = World::open();
    let started = Instant::now();
    let output =
        limited(&world, &["seconds=2"], &["bash", "-c", "sleep 600 & trap '' TERM; while :; do :; done"]);
    assert!(started.elapsed().as_secs() >= 2);
    assert_eq!(output.status, 128 + 9, "{output:?}");
    assert!(
        output.stderr.contains("the session is ended: limits.seconds is 2, and they are over"),
        "{output:?}"
    );
    assert_eq!(limit_line(&world)["limit"], "seconds");
    let world = World::open();
    assert_eq!(limited(&world, &["seconds=1"], &["sleep", "600"]).status, 128 + 15);
}

#[test]
fn the_policys_limits_hold_and_flags_only_tighten_them() {
    let world = World::open().policy_text(|text| {
        text.replacen(
            "\"version\": 1,",
            "\"version\": 1, \"limits\": {\"openFiles\": 32, \"pids\": 1000, \"memory\": \"2G\"},",
            1,
        )
    });
    let output =
        limited(&world, &["openFiles=64", "pids=500"], &["bash", "-c", "ulimit -n; ulimit -Hn; ulimit -u"]);
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines[..2], ["32", "32"], "{output:?}");
    let processes: u64 = lines[2].parse().unwrap_or(u64::MAX);
    assert!(is_root() || processes > 500, "{output:?}");
    assert!(
        output.stderr.contains("openclaw-guard: limits: memory 2G, pids 500, openFiles 32\n"),
        "{output:?}"
    );
    // They cannot be raised from within.
    let raised = limited(&world, &[], &["bash", "-c", "ulimit -n 64 || echo no; ulimit -n"]);
    assert_eq!(raised.stdout, "no\n32\n", "{raised:?}");
    let quiet = ended(world.command().args(["-q", "--", "true"]));
    assert_eq!((quiet.status, &*quiet.stderr), (0, ""));
}

#[test]
fn what_is_no_limit_is_refused() {
    let world = World::open();
    for (limit, why) in [
        ("memory", "must be NAME=VALUE, such as memory=2G"),
        ("memory=2", "must be a size of 1M or more"),
        ("cpus=2", "is not a limit: use memory, pids, openFiles or seconds"),
        ("pids=0", "must be a whole number above 0"),
        ("seconds=1\u{1b}", "must be a whole number above 0"),
    ] {
        let output = limited(&world, &[limit], &["true"]);
        assert!(output.status == 125 && output.stderr.contains(why), "{output:?}");
    }
    let world = world.policy_text(|text| {
        text.replacen("\"version\": 1,", "\"version\": 1,\n\"limits\": {\"memory\": 5},", 1)
    });
    let output = world.guarded(&["true"]);
    assert_eq!(output.status, 125);
    assert!(output.stderr.contains(":2:22: limits.memory: must be a string"), "{output:?}");
}
