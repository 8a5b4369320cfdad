//! `audit tail`, `audit stats`, and the lines sent to the journal.

use std::fs;

use guard_tests::{Ended, World, ended, has, skip, until};
use serde_json::Value;

fn logged() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret");
    world.write("home/secret/odd\u{1b}]0;x\u{7}", "secret");
    world.sh("cat ~/secret/key; cat ~/secret/odd*; cat ~/secret/key; true");
    world
}

fn audit(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().arg("audit").args(arguments))
}

#[test]
fn the_last_lines_are_shown() {
    let world = logged();
    let output = audit(&world, &["tail"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(output.stdout.lines().count(), world.audit().len().min(20));
    assert!(!output.stdout.contains(|c: char| c.is_control() && c != '\n'), "{}", output.stdout);
    let denied = audit(&world, &["tail", "--denied", "-n", "2"]).stdout;
    assert_eq!(denied.lines().count(), 2);
    let last = denied.lines().last().expect("a line");
    let key = world.home().join("secret/key");
    for part in [
        "deny  read",
        key.to_str().expect("a plain path"),
        "(permissions.filesystem.deny[\"~/secret/**\"])",
        "cat",
    ] {
        assert!(last.contains(part), "{part}: {last}");
    }
}

#[test]
fn a_line_has_its_name() {
    let world = logged();
    world.sh("true");
    let line_json = audit(&world, &["tail", "--json", "-n", "1"]).stdout;
    let line: Value = serde_json::from_str(&line_json).expect("JSON");
    let text = world.read("audit.jsonl").expect("a log");
    let sum = ended(
        std::process::Command::new("sh")
            .args(["-c", "tail -n 1 audit.jsonl | tr -d '\\n' | sha256sum"])
            .current_dir(world.root()),
    );
    assert_eq!(line["id"].as_str(), sum.stdout.split_whitespace().next());
    assert_eq!(line["n"].as_u64(), Some(text.lines().count() as u64));
}

#[test]
fn lines_that_come_are_shown_over_rotations() {
    let world = World::open().policy_text(|text| text.replacen("{", r#"{"audit": {"maxBytes": 4096}, "#, 1));
    world.sh("true");
    let out = world.root().join("followed");
    let mut follow = world.command();
    follow
        .args(["audit", "tail", "--follow", "--json", "-n", "100"])
        .stdout(fs::File::create(&out).expect("a file"));
    let mut follow = follow.spawn().expect("a guard");
    for _ in 0..3 {
        world.sh("for i in 1 2 3 4 5 6 7; do /bin/true $i; done");
    }
    let last = world.audit().last().expect("a line")["n"].as_u64().expect("a number");
    let seen = || -> Vec<u64> {
        let text = fs::read_to_string(&out).expect("text");
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["n"].as_u64().expect("a number"))
            .collect()
    };
    until("all lines were shown", || seen().last() == Some(&last));
    follow.kill().expect("a child");
    follow.wait().expect("a child");
    assert_eq!(seen(), (1..=last).collect::<Vec<_>>());
    assert!(world.root().join("audit.jsonl.d/000000000001.jsonl").exists(), "there was a rotation");
}

#[test]
fn figures_are_counted() {
    let world = logged();
    let output = audit(&world, &["stats", "--json"]);
    let stats: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let log = world.audit();
    assert_eq!((stats["lines"].as_u64(), &stats["sessions"]), (Some(log.len() as u64), &Value::from(1)));
    let denied = log.iter().filter(|line| line["verdict"] == "deny").count();
    let verdict = |name: &str| {
        let verdicts = stats["verdicts"].as_array().expect("a list").iter();
        verdicts.clone().find(|verdict| verdict["name"] == name).and_then(|verdict| verdict["count"].as_u64())
    };
    assert_eq!((verdict("deny"), verdict("allow")), (Some(denied as u64), Some((log.len() - denied) as u64)));
    let key = world.home().join("secret/key");
    assert_eq!(stats["denied"]["paths"][0]["name"], key.to_str().expect("a plain path"));
    assert_eq!(stats["denied"]["paths"][0]["count"], 2);
    assert_eq!(stats["denied"]["rules"][0]["name"], "permissions.filesystem.deny[\"~/secret/**\"]");
    let text = audit(&world, &["stats"]).stdout;
    assert!(
        text.contains("       3  permissions.filesystem.deny") && text.contains("denied paths:"),
        "{text}"
    );
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let world = logged();
    let guard = guard_tests::guard();
    let script = r#"for what in "tail --json" stats verify; do
        "$GUARD" --audit "$LOG" audit $what | true; echo "${PIPESTATUS[0]}"
    done"#;
    let mut command = std::process::Command::new("bash");
    command
        .args(["-c", script])
        .env("GUARD", guard)
        .env("LOG", world.root().join("audit.jsonl"))
        .env("HOME", world.home());
    assert_eq!(ended(&mut command).stdout, "0\n0\n0\n");
}

#[test]
fn lines_are_copied_to_the_journal() {
    if !has(&["unshare", "mount", "python3"]) {
        return;
    }
    let world = World::open();
    // The test's own journal, in the place of journald.
    let script = r#"
        mount -t tmpfs none /run && mkdir -p /run/systemd/journal || exit 99
        python3 -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind("/run/systemd/journal/socket")
open("ready", "w").close()
with open("journal", "wb", buffering=0) as out:
    while True:
        out.write(listener.recv(1 << 18) + b"\n")
' & journal=$!
        until [ -e ready ]; do sleep 0.05; done
        "$GUARD" --policy "$POLICY" --unattended --audit "$LOG" --log journald -- /bin/echo ran
        "$GUARD" --policy "$POLICY" --unattended --audit "$LOG" --log journald -- /bin/true
        until grep -q /true journal; do sleep 0.05; done
        kill $journal
    "#;
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "bash", "-c", script]).current_dir(world.work());
    command.env("GUARD", guard_tests::guard()).env("POLICY", world.root().join("guard.json"));
    command.env("LOG", world.root().join("audit.jsonl")).env("HOME", world.home());
    let ended = ended(&mut command);
    if ended.status == 99 || ended.stderr.contains("unshare failed") {
        return skip(&format!("nothing can be mounted in a user namespace: {}", ended.stderr.trim()));
    }
    let journal = world.read("work/journal").unwrap_or_default();
    let log = world.read("audit.jsonl").expect("a log");
    for line in log.lines() {
        assert!(journal.contains(&format!("GUARD_LINE={line}\n")), "{line}: {journal} {ended:?}");
    }
    assert!(
        journal.contains("\nGUARD_VERDICT=allow\n") && journal.contains("SYSLOG_IDENTIFIER=openclaw-guard\n")
    );
    assert!(ended.stdout.contains("ran\n"), "{ended:?}");
}

#[test]
fn without_a_journal_a_guard_that_needs_one_does_not_start() {
    if std::path::Path::new("/run/systemd/journal/socket").exists() {
        return skip("systemd's journal is here");
    }
    let output = ended(World::open().command().args(["--log", "journald", "--", "echo", "ran"]));
    assert_eq!((output.status, &*output.stdout), (125, ""), "{output:?}");
    assert!(output.stderr.contains("cannot reach systemd's journal"), "{output:?}");
}
