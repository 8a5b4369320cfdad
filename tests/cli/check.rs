//! `check`: the policy's answers without running anything.

use std::os::unix::fs::PermissionsExt;

use guard_tests::{Ended, World, ended, ended_with_input};
use serde_json::Value;

fn world() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-", "~/asked/**": "r??"}, "deny": ["~/.ssh/**"], "default": "---"}},
            "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/cat"}]}}}"#,
    );
    world.write("home/.ssh/id_rsa", "key");
    world.write("home/asked/f", "f");
    world.write("work/f", "f");
    world
}

fn check(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().arg("check").args(arguments))
}

#[test]
fn the_status_is_the_answer() {
    let world = world();
    let key = world.home().join(".ssh/id_rsa").display().to_string();
    let asked = world.home().join("asked/f").display().to_string();
    for (arguments, status, word) in [
        (vec!["--read", "f"], 0, "allow read /"),
        (vec!["--write", "./f"], 0, "allow write /"),
        (vec!["--write", "new/deep"], 0, "allow write /"),
        (vec!["--read", &key], 1, "deny read /"),
        (vec!["--write", &key], 1, "deny write /"),
        (vec!["--exec", "f"], 1, "deny exec /"),
        (vec!["--write", &asked], 2, "ask write /"),
        (vec!["--read", &asked], 0, "allow read /"),
        (vec!["--", "cat", "x"], 0, "allow exec /"),
        (vec!["--", "sh", "-c", "x"], 0, "allow exec /"),
        (vec!["--", "perl", "-e", "1"], 2, "ask exec /"),
    ] {
        let ended = check(&world, &arguments);
        assert_eq!(ended.status, status, "{arguments:?}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.starts_with(word), "{arguments:?}: {}", ended.stdout);
    }
    assert!(check(&world, &["--read", &key]).stdout.contains(r#"permissions.filesystem.deny "~/.ssh/**""#));
    assert!(world.audit().is_empty(), "nothing happened");
}

#[test]
fn no_question_and_two_questions_are_errors() {
    let world = world();
    for arguments in
        [vec![], vec!["--read", "a", "--write", "b"], vec!["--nonsense"], vec!["--", "no-such-command-here"]]
    {
        assert_eq!(check(&world, &arguments).status, 125, "{arguments:?}");
    }
}

#[test]
fn options_stand_before_and_after() {
    let world = world();
    let before = ended(world.command().args(["--agent", "other", "check", "--", "cat"]));
    let after = ended(world.command().args(["check", "--agent", "other", "--", "cat"]));
    let main = ended(world.command().args(["check", "--", "cat"]));
    assert_eq!((before.status, after.status, main.status), (2, 2, 0), "the entry is main's");
}

#[test]
fn links_are_followed_as_a_run_would() {
    let world = world();
    std::os::unix::fs::symlink(world.home().join(".ssh"), world.work().join("innocent")).expect("a link");
    assert_eq!(check(&world, &["--read", "innocent/id_rsa"]).status, 1);
    assert_eq!(check(&world, &["--write", "innocent/new"]).status, 1);
    assert_eq!(check(&world, &["--write", "../home/.ssh/../.ssh/new"]).status, 1);
}

#[test]
fn json_is_one_object() {
    let world = world();
    let ended =
        check(&world, &["--json", "--read", world.home().join(".ssh/id_rsa").to_str().expect("text")]);
    assert_eq!(ended.status, 1);
    let answer: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(answer["outcome"], "deny");
    assert_eq!(answer["because"]["source"], "global");
    assert_eq!(answer["because"]["path"], r#"permissions.filesystem.deny["~/.ssh/**"]"#);
    assert!(answer["because"]["text"].as_str().is_some_and(|text| !text.is_empty()));
}

#[test]
fn a_batch_is_answered_line_by_line() {
    let world = world();
    let questions = br#"{"op":"read","path":"~/.ssh/x"}
{"op":"write","path":"~/asked/x"}
{"op":"exec","argv":["cat","x"],"resolved":"/usr/bin/cat","cwd":"/tmp"}
{"op":"exec","path":"/usr/bin/cat"}
{"op":"read","path":"/usr/../usr//bin/./cat"}"#;
    let ended = ended_with_input(world.command().args(["check", "--batch"]), questions);
    let outcomes: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["deny", "ask", "allow", "allow", "allow"], "{}", ended.stdout);
    assert_eq!(ended.status, 0);
}

/// A wildcard matches the path without its dots, a literal pattern the path as written.
#[test]
fn a_resolved_program_is_taken_as_written() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"ask": "off"},
            "permissions": {"filesystem": {"rules": {"/**": "r-x", "/opt/secret/**": "---"}}},
            "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/*"}, {"pattern": "/opt/../x/y"}, {"pattern": "/opt/**"}]}}}"#,
    );
    let cases = [
        ("/usr/lib/../bin/rg", "allow"),
        ("/usr/bin/../sbin/x", "deny"),
        ("/opt/../x/y", "allow"),
        ("/x/y", "deny"),
        ("/opt/a/../secret/b", "deny"),
        ("/opt//a", "allow"),
    ];
    let question =
        |path: &str| format!(r#"{{"op":"exec","argv":["x"],"resolved":"{path}","cwd":"/w/"}}"#) + "\n";
    let questions: String = cases.iter().map(|(path, _)| question(path)).collect();
    let ended = ended_with_input(world.command().args(["check", "--batch"]), questions.as_bytes());
    for (line, (path, outcome)) in ended.stdout.lines().zip(cases) {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(answer["outcome"], outcome, "{path}: {line}");
    }
    assert_eq!(ended.stdout.lines().count(), cases.len());
}

#[test]
fn a_bad_line_of_a_batch_is_denied_and_an_error() {
    let world = world();
    for bad in [
        "nonsense",
        "",
        "{}",
        r#"{"op":"read"}"#,
        r#"{"op":"fly","path":"/"}"#,
        r#"{"op":"read","path":"relative"}"#,
        r#"{"op":"read","path":"/x","more":1}"#,
        r#"{"op":"read","path":"/x","argv":[]}"#,
        "\u{1}",
        "[1]",
    ] {
        let questions = format!(
            "{{\"op\":\"read\",\"path\":\"/usr/x\"}}\n{bad}\n{{\"op\":\"read\",\"path\":\"/usr/y\"}}\n"
        );
        let ended = ended_with_input(world.command().args(["check", "--batch"]), questions.as_bytes());
        let answers: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(answers.len(), 3, "{bad}: {}", ended.stdout);
        assert_eq!((&answers[0]["outcome"], &answers[2]["outcome"]), (&"allow".into(), &"allow".into()));
        assert_eq!(answers[1]["outcome"], "deny", "{bad}");
        assert!(
            answers[1]["because"]["text"].as_str().is_some_and(|text| text.starts_with("line 2: ")),
            "{}",
            answers[1]
        );
        assert_eq!(ended.status, 125, "{bad}");
    }
    let ended = ended_with_input(world.command().args(["check", "--batch"]), b"\xff\xfe\n");
    assert_eq!((ended.status, ended.stdout.lines().count()), (125, 1));
    assert_eq!(ended_with_input(world.command().args(["check", "--batch"]), b"").status, 0);
}

/// What the kernel's floor would refuse is no question.
#[test]
fn a_program_that_no_answer_can_start_is_denied() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "~/tools/**": "???"}, "default": "---"}}}"#,
    );
    let program = world.write("home/tools/program", "#!/bin/sh\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("to change a mode");
    let program = program.display().to_string();
    let answer = check(&world, &["--", &program]);
    assert_eq!(answer.status, 1, "{}{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains("not below exec.roots; add \""), "{}", answer.stdout);
}
