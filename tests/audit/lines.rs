//! The contents of a log line, and who may read the log.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use guard_tests::{World, calls, ended};

fn world() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret");
    world
}

#[test]
fn a_line_has_everything() {
    let world = world();
    let ended = ended(world.command().args([
        "--agent",
        "a",
        "--",
        "sh",
        "-c",
        "sh -c 'cat ~/secret/key 1 2; true'; true",
    ]));
    assert_eq!(ended.status, 0);
    let log = world.audit();
    let denied: Vec<_> = log.iter().filter(|line| line["verdict"] == "deny").collect();
    assert_eq!(denied.len(), 1, "{log:?}");
    let line = denied[0];
    assert_eq!(line["operation"], "read");
    assert_eq!(line["path"], world.home().join("secret/key").display().to_string());
    assert_eq!(line["agent"], "a");
    assert_eq!(line["because"]["path"], r#"permissions.filesystem.deny["~/secret/**"]"#);
    assert!(line["because"]["source"].is_string() && line["because"]["text"].is_string());
    assert!(line["pid"].as_i64().is_some_and(|pid| pid > 1));
    assert!(line["micros"].is_u64() && line["tier"].is_string());
    assert!(line["session"].as_str().is_some_and(|session| session.len() >= 8));
    let time = line["time"].as_str().expect("a time");
    assert!(time.len() >= 20 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    let chain: Vec<_> = line["chain"]
        .as_array()
        .expect("a chain")
        .iter()
        .map(|parent| parent["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(chain, ["cat", "sh", "sh"], "the process and its parents up to the first command");
    assert_eq!(line["chain"][0]["pid"], line["pid"]);
    let exec = log
        .iter()
        .find(|line| {
            line["operation"] == "exec" && line["path"].as_str().is_some_and(|path| path.ends_with("/cat"))
        })
        .expect("an exec");
    assert_eq!(exec["verdict"], "allow");
    assert_eq!(exec["argv"][2], "1");
    assert!(log.iter().all(|line| line["session"] == log[0]["session"]));
}

#[test]
fn the_log_is_for_the_operator_alone_and_grows() {
    let world = world();
    world.sh("true");
    let path = world.root().join("audit.jsonl");
    let mode = fs::metadata(&path).expect("a log").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let before = world.audit();
    world.sh("true");
    let after = world.audit();
    assert!(after.len() > before.len());
    assert_eq!(after[..before.len()], before[..]);
    assert_ne!(after[0]["session"], after[after.len() - 1]["session"]);
}

#[test]
fn the_default_log_is_in_the_state_directory() {
    let world = World::bare();
    let mut command = std::process::Command::new(guard_tests::guard());
    command
        .args(["--", "true"])
        .current_dir(world.work())
        .env("HOME", world.home())
        .env_remove("OPENCLAW_HOME")
        .env_remove("OPENCLAW_STATE_DIR");
    assert_eq!(ended(&mut command).status, 0);
    let directory = world.home().join(".openclaw/guard");
    assert!(world.read("home/.openclaw/guard/audit.jsonl").is_some_and(|text| text.contains("\"exec\"")));
    assert_eq!(fs::metadata(directory).expect("a directory").permissions().mode() & 0o7777, 0o700);
}

#[test]
fn the_log_is_not_opened_through_a_link() {
    let world = world();
    let target = world.write("target", "");
    std::os::unix::fs::symlink(target, world.root().join("log")).expect("a link");
    let mut command = std::process::Command::new(guard_tests::guard());
    command
        .arg("--audit")
        .arg(world.root().join("log"))
        .args(["--", "true"])
        .current_dir(world.work())
        .env("HOME", world.home());
    assert_eq!(ended(&mut command).status, 125);
    assert_eq!(world.read("target").as_deref(), Some(""));
}

#[test]
fn odd_arguments_stay_one_line() {
    let world = world();
    world.guarded(&["sh", "-c", "/bin/echo \"$(printf 'a\\nb\\033\\377\"')\" > /dev/null"]);
    let log = world.audit();
    let echo = log
        .iter()
        .find(|line| line["path"].as_str().is_some_and(|path| path.ends_with("/echo")))
        .expect("the exec");
    assert!(echo["argv"][1].as_str().is_some_and(|text| text.starts_with("a\nb\u{1b}")), "{echo}");
}

#[test]
fn many_at_once_lose_nothing() {
    let world = world();
    let ended = world.sh("for i in $(seq 50); do cat ~/secret/key 2>/dev/null & done; wait");
    assert_eq!(ended.status, 0);
    let log = world.audit();
    let denied = log.iter().filter(|line| line["verdict"] == "deny");
    assert_eq!(calls(denied.clone()), 50);
    // Equal ones are counted.
    assert!(denied.count() < 50, "{log:?}");
}
