//! A log that cannot be written: `audit.onError` decides whether its calls are denied or continue.

use std::fs;
use std::process::Command;

use guard_tests::{Ended, World, ended, guard, has, skip};

/// Returns a world that allows everything, with these `audit` settings.
fn world(audit: &str) -> World {
    World::open().policy_text(|text| text.replacen("{", &format!("{{\"audit\": {audit}, "), 1))
}

/// Runs a script with a disk of 64 KiB at `$LOGS` and the commands `guarded`, `verify`, `fill`, `free` and
/// `wait_for`. Skips the test and returns None if no disk can be mounted.
fn on_a_small_disk(world: &World, script: &str) -> Option<Ended> {
    if !has(&["unshare", "mount"]) {
        return None;
    }
    fs::create_dir_all(world.root().join("logs")).expect("a directory");
    let mount = "mount -t tmpfs -o size=64k,mode=0700 none \"$LOGS\"";
    let run = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "bash", "-c", script]);
        command.current_dir(world.work()).env("HOME", world.home()).env("LOGS", world.root().join("logs"));
        let policy = world.root().join("guard.json");
        command.env("GUARD", guard()).env("POLICY", policy);
        ended(&mut command)
    };
    let tried = run(mount);
    if tried.status != 0 {
        skip(&format!("no disk can be mounted in a user namespace: {}", tried.stderr.trim()));
        return None;
    }
    let commands = r#"
        guarded() { "$GUARD" --policy "$POLICY" --unattended --audit "$LOGS/audit.jsonl" -- "$@"; }
        verify() { "$GUARD" --policy "$POLICY" --audit "$LOGS/audit.jsonl" audit verify; }
        fill() { cat /dev/zero > "$LOGS/fill" 2> /dev/null; }
        free() { rm "$LOGS/fill"; }
        wait_for() { until [ -e "$1" ]; do sleep 0.05; done; }
    "#;
    Some(run(&format!("{mount} && {commands}\n{script}")))
}

/// Runs in a guarded bash while the disk is full: starts /bin/echo until that fails, then waits for room. The
/// rest is builtins, which start no program.
const INSIDE: &str = r#"
    exec 9<> "$1/fifo"
    /bin/echo before; echo > "$1/begun"
    until [ -e "$1/full" ]; do read -t 0.05 -u 9; done
    for i in $(seq 60); do /bin/echo "$i" 2> "$1/said" || { echo $? > "$1/denied"; break; }; done > /dev/null
    [ -e "$1/denied" ] || echo none > "$1/denied"
    until [ -e "$1/room" ]; do read -t 0.05 -u 9; done
    /bin/echo after
"#;

const OUTSIDE: &str = r#"
    mkfifo fifo
    guarded bash -c "$INSIDE" bash "$PWD" &
    wait_for begun; fill; : > full; wait_for denied; free; : > room
    wait $!; echo "status $?"; verify
"#;

fn script() -> String {
    // INSIDE has no single quotes.
    format!("INSIDE='{}'\n{OUTSIDE}", INSIDE.replace("$(seq 60)", "{1..60}"))
}

#[test]
fn a_full_disk_denies_until_there_is_room() {
    let world = world("{}");
    let Some(ended) = on_a_small_disk(&world, &script()) else { return };
    assert_eq!(world.read("work/denied").as_deref(), Some("126\n"), "{ended:?}");
    assert!(ended.stdout.starts_with("before\nafter\nstatus 0\n"), "{ended:?}");
    assert!(ended.stdout.ends_with("whole, as they were written\n"), "{ended:?}");
    let clear =
        ended.stderr.lines().find(|line| line.contains("cannot write the audit log")).expect("a line");
    let logs = world.root().join("logs/audit.jsonl").display().to_string();
    for part in [&*logs, "No space left on device", "make room", "audit.onError"] {
        assert!(clear.contains(part), "{part}: {clear}");
    }
    assert!(ended.stderr.contains("denied exec /usr/bin/echo (audit.onError"), "{ended:?}");
}

#[test]
fn a_full_disk_is_reported_where_that_is_set() {
    let world = world(r#"{"onError": "continue"}"#);
    let Some(ended) = on_a_small_disk(&world, &script()) else { return };
    assert_eq!(world.read("work/denied").as_deref(), Some("none\n"), "{ended:?}");
    assert!(ended.stdout.starts_with("before\nafter\nstatus 0\n"), "{ended:?}");
    assert!(ended.stdout.ends_with("whole, as they were written\n"), "{ended:?}");
    assert!(ended.stderr.contains("; lines are missing in it"), "{ended:?}");
    assert!(!ended.stderr.contains("openclaw-guard: denied"), "{ended:?}");
}

#[test]
fn a_disk_that_is_full_from_the_start_starts_nothing() {
    let world = world("{}");
    let script = "guarded true; for i in {1..60}; do fill; guarded true > /dev/null 2>&1 || break; done; guarded echo ran; echo \"status $?\"";
    let Some(ended) = on_a_small_disk(&world, script) else { return };
    assert_eq!(ended.stdout, "status 126\n", "{ended:?}");
    assert!(ended.stderr.contains("cannot write the audit log"), "{ended:?}");
}

/// Under `ulimit -f` the kernel would kill a writer with SIGXFSZ.
#[test]
fn a_limit_of_file_size_denies_too() {
    let world = world("{}");
    let log = world.root().join("audit.jsonl");
    let script = r#"
        ulimit -f 4
        "$GUARD" --policy "$POLICY" --unattended --audit "$LOG" -- bash -c 'for i in {1..60}; do /bin/true || { echo "denied $i"; break; }; done'
    "#;
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(world.work()).env("HOME", world.home());
    command.env("GUARD", guard()).env("LOG", &log).env("POLICY", world.root().join("guard.json"));
    let ended = ended(&mut command);
    assert!(ended.stdout.starts_with("denied "), "{ended:?}");
    assert!(ended.stderr.contains("File too large"), "{ended:?}");
    assert!(fs::metadata(&log).expect("a log").len() <= 4096);
    let verified = guard_tests::ended(world.command().args(["audit", "verify"]));
    assert_eq!(verified.status, 0, "{verified:?}");
}

#[test]
fn a_device_can_be_the_log() {
    let run = |world: &World, device: &str| {
        let mut command = Command::new(guard());
        command.arg("--policy").arg(world.root().join("guard.json")).args([
            "--unattended",
            "--audit",
            device,
        ]);
        ended(command.args(["--", "echo", "ran"]).current_dir(world.work()).env("HOME", world.home()))
    };
    assert_eq!(run(&world("{}"), "/dev/null").stdout, "ran\n");
    let denied = run(&world("{}"), "/dev/full");
    assert_eq!((denied.status, &*denied.stdout), (126, ""), "{denied:?}");
    assert!(denied.stderr.contains("cannot write the audit log /dev/full: No space left"), "{denied:?}");
    let went_on = run(&world(r#"{"onError": "continue"}"#), "/dev/full");
    assert_eq!((went_on.status, &*went_on.stdout), (0, "ran\n"), "{went_on:?}");
    let observed = {
        let world = world("{}");
        let mut command = Command::new(guard());
        command.arg("--policy").arg(world.root().join("guard.json")).args([
            "--observe",
            "--audit",
            "/dev/full",
        ]);
        ended(command.args(["--", "echo", "ran"]).current_dir(world.work()).env("HOME", world.home()))
    };
    assert_eq!((observed.status, &*observed.stdout), (0, "ran\n"), "observing blocks nothing: {observed:?}");
}

#[test]
fn a_log_that_cannot_be_opened_is_status_125() {
    let run = |policy: &str| {
        let world = World::bare().policy(policy);
        let home = world.home();
        fs::create_dir_all(home.join(".openclaw/guard/audit.jsonl")).expect("what is no file");
        let mut command = Command::new(guard());
        command.arg("--policy").arg(world.root().join("guard.json")).args([
            "--unattended",
            "--",
            "echo",
            "ran",
        ]);
        ended(command.current_dir(world.work()).env("HOME", home).env_remove("OPENCLAW_STATE_DIR"))
    };
    let open = r#""exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM}, "default": "rwx"}}}"#;
    let denied = run(&format!(r#"{{"version": 1, {open}"#));
    assert_eq!((denied.status, &*denied.stdout), (125, ""), "{denied:?}");
    for part in ["cannot open the audit log", ".openclaw/guard/audit.jsonl", "audit.onError"] {
        assert!(denied.stderr.contains(part), "{part}: {denied:?}");
    }
    let went_on = run(&format!(r#"{{"version": 1, "audit": {{"onError": "continue"}}, {open}"#));
    assert_eq!((went_on.status, &*went_on.stdout), (0, "ran\n"), "{went_on:?}");
    assert!(went_on.stderr.contains("there is no audit log: cannot open"), "{went_on:?}");
}
