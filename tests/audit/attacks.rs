//! Changes to the log of a real session: `audit verify` reports where they are.

use std::fs;
use std::path::PathBuf;

use guard_tests::{DENIALS, Ended, World, ended};
use serde_json::Value;

/// Returns a world with the log of a session.
fn logged() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret");
    world.sh("for i in 1 2 3 4 5; do cat ~/secret/key; ls / > /dev/null; done");
    assert!(lines(&world).len() >= 10);
    world
}

fn log(world: &World) -> PathBuf {
    world.root().join("audit.jsonl")
}

fn lines(world: &World) -> Vec<String> {
    world.read("audit.jsonl").expect("a log").lines().map(str::to_owned).collect()
}

fn set(world: &World, lines: &[String]) {
    fs::write(log(world), lines.join("\n") + "\n").expect("a log");
}

fn verify(world: &World, more: &[&str]) -> Ended {
    ended(world.command().args(["audit", "verify"]).args(more))
}

/// Returns the kind and the line of the first finding.
fn found(world: &World) -> (String, u64) {
    let verified = verify(world, &["--json"]);
    assert_eq!(verified.status, 1, "{verified:?}");
    let verified: Value = serde_json::from_str(&verified.stdout).expect("JSON");
    assert_eq!(verified["whole"], false);
    let first = &verified["findings"][0];
    assert_eq!(first["file"], log_name(first));
    (first["what"].as_str().expect("a word").to_owned(), first["line"].as_u64().expect("a line"))
}

fn log_name(finding: &Value) -> String {
    let file = finding["file"].as_str().expect("a file");
    assert!(file.ends_with("/audit.jsonl") || file.contains("/audit.jsonl.d/"), "{file}");
    file.to_owned()
}

#[test]
fn a_log_that_nobody_touched_is_whole() {
    let world = logged();
    let output = verify(&world, &[]);
    let count = world.audit().len();
    assert_eq!(
        (output.status, output.stdout),
        (0, format!("{count} lines in 2 files: whole, as they were written\n"))
    );
    let json: Value = serde_json::from_str(&verify(&world, &["--json"]).stdout).expect("JSON");
    assert_eq!((&json["whole"], &json["lines"]), (&Value::Bool(true), &Value::from(count)));
}

#[test]
fn a_cut_is_found() {
    let world = logged();
    let mut lines = lines(&world);
    lines.remove(4);
    set(&world, &lines);
    assert_eq!(found(&world), ("cut".to_owned(), 5));
    let output = verify(&world, &[]);
    let expected = format!(
        "{}:5: cut: line 5 of the log is missing before this one, its line 6\n",
        log(&world).display()
    );
    assert!(output.stdout.starts_with(&expected), "{}", output.stdout);
}

#[test]
fn a_swap_is_found() {
    let world = logged();
    let mut lines = lines(&world);
    lines.swap(4, 5);
    set(&world, &lines);
    assert_eq!(found(&world), ("moved".to_owned(), 5));
}

#[test]
fn an_edit_is_found() {
    let world = logged();
    let denials = world.read(DENIALS).expect("denials");
    fs::write(world.root().join(DENIALS), denials.replacen("\"deny\"", "\"allow\"", 1)).expect("denials");
    assert_eq!(found(&world), ("changed".to_owned(), 1));
    // The last line, which no other follows.
    let world = logged();
    let mut lines = self::lines(&world);
    let last = lines.len() - 1;
    lines[last] = lines[last].replacen("\"pid\":", "\"pid\":1", 1);
    set(&world, &lines);
    assert_eq!(found(&world), ("changed".to_owned(), last as u64 + 1));
}

#[test]
fn a_truncated_last_line_is_found() {
    let world = logged();
    let text = world.read("audit.jsonl").expect("a log");
    fs::write(log(&world), &text[..text.len() - 40]).expect("a log");
    let count = text.lines().count() as u64;
    assert_eq!(found(&world), ("unfinished".to_owned(), count));
    // Guards continue after it, on a new line.
    assert_eq!(world.sh("true").status, 0);
    assert_eq!(found(&world), ("unfinished".to_owned(), count));
    let verified: Value = serde_json::from_str(&verify(&world, &["--json"]).stdout).expect("JSON");
    assert!(verified["findings"].as_array().is_some_and(|findings| findings.len() <= 2), "{verified}");
}

#[test]
fn a_cut_at_the_end_is_found() {
    let world = logged();
    let mut lines = lines(&world);
    let count = lines.len();
    lines.truncate(count - 3);
    set(&world, &lines);
    assert_eq!(found(&world), ("cut-at-end".to_owned(), count as u64 - 3));
    // Another session does not hide it.
    world.sh("true");
    assert_eq!(found(&world), ("noted".to_owned(), count as u64 - 2));
}

#[test]
fn without_a_log_the_next_step_is_named() {
    let world = World::bare();
    let output = verify(&world, &[]);
    assert_eq!(output.status, 125);
    assert!(
        output.stderr.contains("there is no audit log") && output.stderr.contains("--audit"),
        "{}",
        output.stderr
    );
    fs::create_dir(log(&world)).expect("a directory");
    let output = verify(&world, &[]);
    assert_eq!(output.status, 125);
    assert!(output.stderr.contains("cannot read the audit log"), "{}", output.stderr);
}

#[test]
fn rotated_files_are_verified_too() {
    let world = World::open()
        .policy_text(|text| text.replacen("{", r#"{"audit": {"maxBytes": 8192, "keep": 2}, "#, 1));
    // Two guards at the same time.
    let run = || ended(world.command().args(["--", "sh", "-c", "for i in $(seq 40); do /bin/true $i; done"]));
    let statuses = std::thread::scope(|scope| {
        [scope.spawn(run), scope.spawn(run)].map(|run| run.join().expect("a run").status)
    });
    assert_eq!(statuses, [0, 0]);
    let verified: Value = serde_json::from_str(&verify(&world, &["--json"]).stdout).expect("JSON");
    assert_eq!(
        (&verified["whole"], verified["files"].as_array().map(Vec::len)),
        (&Value::Bool(true), Some(3)),
        "{verified}"
    );
    let removed = verified["removed"][0]["to"].as_u64().expect("a number");
    let first = &verified["putAway"][0];
    assert!(removed > 0 && first["from"] == removed + 1, "{verified}");
    assert_eq!(verified["putAway"][1]["from"], first["to"].as_u64().expect("a number") + 1);
    let text = verify(&world, &[]).stdout;
    let lines = format!("audit.jsonl: lines 1 to {removed} were removed (audit.keep), written before 2");
    assert!(text.contains(&lines) && text.contains(": rotated: lines "), "{text}");
    assert!(text.ends_with(&format!("as they were written; {removed} before them were removed\n")), "{text}");
    let old = verified["files"][1].as_str().expect("a file").to_owned();
    fs::remove_file(old).expect("a file");
    assert_eq!(found(&world), ("cut".to_owned(), 1));
}
