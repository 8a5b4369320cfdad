//! Attacks that exhaust the supervisor.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use guard_tests::{World, status_of};

/// A program header that declares a loader name gigabytes long.
#[test]
fn a_loaders_name_has_a_bound() {
    let world = World::open();
    let mut elf = fs::read("/bin/true").expect("a program");
    let offset = u64::from_le_bytes(elf[32..40].try_into().expect("eight bytes")) as usize;
    let count = u16::from_le_bytes(elf[56..58].try_into().expect("two bytes")) as usize;
    for header in (0..count).map(|index| offset + index * 56) {
        if elf[header..header + 4] == [3, 0, 0, 0] {
            elf[header + 32..header + 40].copy_from_slice(&(6u64 << 30).to_le_bytes());
        }
    }
    let path = world.write("work/bomb", &elf);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(7 << 30))
        .expect("a sparse file");
    // Calls execv itself: a shell would read a file that is not a program as a script. The guard must reply
    // and go on.
    let script = "import os\ntry: os.execv('./bomb', ['bomb'])\nexcept OSError as e: print(e.errno)";
    let ended = world.guarded(&["python3", "-c", script]);
    assert_eq!(ended.stdout.trim(), libc::ENOEXEC.to_string(), "{}", ended.stderr);
}

/// The tree fills the pipe that is both its stderr and the guard's: denials after that are still logged.
#[test]
fn a_pipe_that_nobody_reads_costs_no_entry_of_the_log() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rw-"}, "deny": ["@/secret"], "default": "r--"}}}"#,
    );
    world.write("secret", "secret");
    let script = "import os
os.set_blocking(2, False)
try:
    while True: os.write(2, b'.')
except BlockingIOError: pass
os.set_blocking(2, True)
for _ in range(20):
    try: open('../secret')
    except PermissionError: pass";
    let mut command = world.command();
    command.args(["--", "python3", "-c", script]).stderr(std::process::Stdio::piped());
    let mut guard = command.spawn().expect("the guard");
    let unread = guard.stderr.take();
    assert_eq!(status_of(&mut guard), 0);
    let denied =
        |line: &serde_json::Value| line["path"].as_str().is_some_and(|path| path.ends_with("/secret"));
    guard_tests::until("the log is whole", || {
        guard_tests::calls(world.audit().iter().filter(|line| denied(line))) == 20
    });
    drop(unread);
}

/// A refusal logs the call's arguments shortened, however long they are.
#[test]
fn long_arguments_do_not_fill_the_log() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rw-"}, "default": "r--"}}}"#,
    );
    world.write("work/closed", "#!/bin/sh\n");
    fs::set_permissions(world.work().join("closed"), fs::Permissions::from_mode(0o755)).expect("a mode");
    let script = "import os, subprocess\nfor _ in range(20):\n try: subprocess.run(['./closed'] + ['\\x01' * 100000] * 10)\n except PermissionError: pass";
    let ended = world.guarded(&["python3", "-c", script]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let size = world.audit_text().len();
    assert!(size < 2 << 20, "{size} bytes");
    let denied =
        |line: &serde_json::Value| line["path"].as_str().is_some_and(|path| path.ends_with("/closed"));
    let denial = world.audit().into_iter().find(denied).expect("a denial");
    assert!(denial["argv"][1].as_str().expect("text").contains("more arguments"), "{denial}");
}

/// A signal without a name ends a command like any other signal.
#[test]
fn a_real_time_signal_is_a_status() {
    let world = World::open();
    assert_eq!(world.sh("kill -40 $$").status, 128 + 40);
}
