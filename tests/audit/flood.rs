//! A tree that is denied without end: what was logged before stays, and the log says what is not in it.

use std::fs;

use guard_tests::{Ended, World, calls, ended};
use serde_json::Value;

/// Asks to create as many different files as its first argument says, and each of them `$2` times.
const FLOOD: &str = r#"
import os, sys
for number in range(int(sys.argv[1])):
    for _ in range(int(sys.argv[2])):
        try: os.open(os.environ['HOME'] + '/secret/%d' % number, os.O_WRONLY | os.O_CREAT)
        except PermissionError: pass
"#;

/// Returns a world whose log holds `keep` older files of `bytes`.
fn world(bytes: u32, keep: u32) -> World {
    World::bare().policy(&format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "audit": {{"maxBytes": {bytes}, "keep": {keep}}},
            "permissions": {{"filesystem": {{"rules": {{SYSTEM, "@/**": "rwx"}}, "deny": ["~/secret/**"], "default": "---"}}}}}}"#
    ))
}

fn flood(world: &World, paths: u32, times: u32) -> Ended {
    fs::create_dir_all(world.home().join("secret")).expect("a directory");
    let ended = world.guarded(&["python3", "-c", FLOOD, &paths.to_string(), &times.to_string()]);
    assert_eq!(ended.status, 0, "{ended:?}");
    ended
}

/// Returns all lines, also those of older files, as `audit tail` shows them.
fn lines(world: &World) -> Vec<Value> {
    let output = ended(world.command().args(["audit", "tail", "--json", "-n", "1000000"]));
    assert_eq!(output.status, 0, "{output:?}");
    output.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn verified(world: &World) -> Value {
    let output = ended(world.command().args(["audit", "verify", "--json"]));
    assert_eq!(output.status, 0, "{output:?}");
    serde_json::from_str(&output.stdout).expect("JSON")
}

/// The number of denials of a session that the log knows of.
fn denied(lines: &[Value], session: &Value) -> u64 {
    let lines = lines.iter().filter(|line| line["session"] == *session);
    calls(lines.filter(|line| line["verdict"] == "deny" || line["operation"] == "flood"))
}

/// Enough to fill this log a hundred times.
const PATHS: u32 = 20_000;

#[test]
fn a_flood_of_denials_removes_no_lines_of_others() {
    let world = world(32 << 10, 2);
    world.write("home/secret/key", "secret");
    world.sh("cat ~/secret/key; /bin/echo approved > /dev/null");
    let before = world.audit();
    assert!(before.iter().any(|line| line["verdict"] == "deny"), "{before:?}");
    let ended = flood(&world, PATHS, 1);
    world.sh("cat ~/secret/key");
    let after = lines(&world);
    for line in &before {
        assert!(
            after.iter().any(|other| (&other["prev"], &other["n"]) == (&line["prev"], &line["n"])),
            "{line}"
        );
    }
    let message = "openclaw-guard: this session has used its share of the audit log";
    assert_eq!(ended.stderr.matches(message).count(), 1, "{}", ended.stderr);
    let flood = after.iter().find(|line| line["operation"] == "flood").expect("a line about the flood");
    // The interpreter may be denied something, too.
    let count = denied(&after, &flood["session"]);
    assert!((PATHS.into()..u64::from(PATHS) + 100).contains(&count), "{count}");
    let last = after.iter().rfind(|line| line["verdict"] == "deny").expect("a denial");
    assert_ne!(last["session"], flood["session"], "others go on to have lines");
    // In the order of time: this is the order in which they were written.
    let times: Vec<_> =
        after.iter().map(|line| line["time"].as_str().expect("a time").trim_end_matches('Z')).collect();
    assert!(times.is_sorted());
    assert_eq!(verified(&world)["removed"], Value::Array(Vec::new()));
    // `why --last` finds the last denial.
    let why = guard_tests::ended(world.command().args(["why", "--last"]));
    assert!(why.stdout.contains("secret/key"), "{why:?}");
}

/// Sessions together can fill the log of denials. That removes no program's line, and `audit verify` says what it
/// removed.
#[test]
fn lines_removed_by_many_sessions_are_reported() {
    let world = world(4096, 1);
    world.write("home/secret/key", "secret");
    world.sh("cat ~/secret/key");
    let before: Vec<_> = world.audit().into_iter().filter(|line| line["verdict"] == "allow").collect();
    let mut count = 0;
    while !fs::read_dir(world.root().join("audit.jsonl.d/denials.jsonl.d"))
        .expect("a directory")
        .flatten()
        .any(|file| {
            file.file_name()
                .to_str()
                .is_some_and(|name| name.ends_with(".jsonl") && name != "000000000001.jsonl")
        })
    {
        world.guarded(&["sh", "-c", "read line < ~/secret/key"]);
        count += 1;
        assert!(count < 100);
    }
    let verified = verified(&world);
    assert!(!before.is_empty() && verified["whole"] == true, "{verified}");
    let removed = verified["removed"].as_array().expect("a list");
    let of_denials = removed
        .iter()
        .find(|removed| removed["log"].as_str().is_some_and(|log| log.ends_with("denials.jsonl")))
        .expect("removed denials");
    let oldest = lines(&world).into_iter().find(|line| line["verdict"] == "deny").expect("a denial");
    assert_eq!(
        (&of_denials["before"], of_denials["to"].as_u64().map(|to| to + 1)),
        (&oldest["time"], oldest["n"].as_u64())
    );
}

#[test]
fn equal_denials_are_one_line_and_a_count() {
    let world = world(1 << 20, 2);
    flood(&world, 3, 1000);
    let lines = lines(&world);
    for number in 0..3 {
        let path = world.home().join(format!("secret/{number}")).display().to_string();
        let of: Vec<_> = lines.iter().filter(|line| line["path"] == *path).collect();
        assert!(of.len() >= 2, "{of:?}");
        assert_eq!(
            (&of[0]["verdict"], &of[0]["count"]),
            (&"deny".into(), &Value::Null),
            "the first has a line"
        );
        assert_eq!(calls(of[1..].iter().copied()), 999);
        assert!(of[1]["from"].as_str() <= of[1]["to"].as_str() && of[1]["pid"] == of[0]["pid"]);
    }
    let stats = ended(world.command().args(["audit", "stats", "--json"])).stdout;
    let stats: Value = serde_json::from_str(&stats).expect("JSON");
    assert_eq!(stats["denied"]["paths"][0]["count"], 1000);
    let tail = ended(world.command().args(["audit", "tail", "--denied"])).stdout;
    assert!(tail.contains("more times]"), "{tail}");
}

#[test]
fn the_arguments_of_a_denial_are_cut() {
    let world = world(1 << 20, 2);
    world.write("home/secret/key", "secret");
    let long = "x".repeat(2000);
    world.sh(&format!("/bin/cat ~/secret/key {long}; true"));
    let argv = |verdict: &str| {
        let of = |line: &Value| line["verdict"] == verdict && line.to_string().contains("secret/key");
        let line = world.audit().into_iter().rfind(of).expect("a line");
        line["argv"]
            .as_array()
            .expect("arguments")
            .last()
            .expect("an argument")
            .as_str()
            .expect("text")
            .to_owned()
    };
    assert_eq!(argv("allow"), long);
    let denied = argv("deny");
    assert!(
        denied.len() < 600 && denied.contains("… (+") && denied.ends_with("0 more arguments)"),
        "{denied}"
    );
}
