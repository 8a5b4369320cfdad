//! guard.json: where the guard finds it, and the messages for a wrong one.

use std::process::Stdio;

use guard_tests::{World, ended, guard};

fn problem(text: &str) -> String {
    let world = World::bare();
    let file = world.write("policy.json", text);
    let mut command = world.command();
    let ended = ended(command.arg("--policy").arg(&file).args(["--", "echo", "ran"]));
    assert_eq!(ended.status, 125, "{text}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "nothing ran");
    assert!(ended.stderr.contains(file.to_str().expect("text")), "names the file: {}", ended.stderr);
    ended.stderr.replace(file.to_str().expect("text"), "FILE")
}

#[test]
fn a_mistake_is_named_with_file_line_and_key() {
    let unknown =
        problem("{\n  \"version\": 1,\n  // a comment\n  \"exec\": {\n    \"securty\": \"full\"\n  }\n}\n");
    assert!(unknown.starts_with("openclaw-guard: FILE:5:"), "{unknown}");
    assert!(unknown.contains("exec.securty") && unknown.contains("did you mean \"security\"?"), "{unknown}");
    let value = problem("{\"version\": 1,\n\"exec\": {\"security\": \"sometimes\"}}");
    assert!(value.contains("FILE:2:") && value.contains("exec.security"), "{value}");
    let rule =
        problem("{\"version\": 1, \"permissions\": {\"filesystem\": {\"rules\": {\n\"~/x/**\": \"rwxx\"}}}}");
    assert!(rule.contains("FILE:2:") && rule.contains("~/x/**"), "{rule}");
    for text in [
        "",
        "{",
        "[]",
        "{\"version\": 2}",
        "{\"version\": 1, \"permissions\": {\"filesystem\": {\"default\": \"yes\"}}}",
        "{\"version\": 1, \"version\": 1}",
        "nonsense",
    ] {
        assert!(problem(text).contains("FILE:1:"), "{text}");
    }
    let two = problem("{\"version\": 1,\n\"a\": 1,\n\"b\": 2}");
    assert_eq!(
        two.lines().filter(|line| line.starts_with("openclaw-guard: FILE:")).count(),
        2,
        "each is told: {two}"
    );
}

#[test]
fn a_policy_that_is_not_utf_8_is_refused() {
    let world = World::bare();
    let file = world.write("policy.json", b"\xff\xfe{");
    let ended = ended(world.command().arg("--policy").arg(file).args(["--", "true"]));
    assert_eq!(ended.status, 125);
    assert!(ended.stderr.contains("UTF-8"), "{}", ended.stderr);
}

#[test]
fn the_policy_is_found_in_the_state_directory() {
    let deny = r#"{"version": 1, "exec": {"security": "deny"}}"#;
    let world = World::bare();
    assert_eq!(world.sh("true").status, 0, "without a file");
    world.write("home/.openclaw/guard.json", deny);
    assert_eq!(world.sh("true").status, 126);
    let state = world.root().join("state");
    assert_eq!(ended(world.command().env("OPENCLAW_STATE_DIR", &state).args(["--", "true"])).status, 0);
    world.write("state/guard.json", deny);
    assert_eq!(ended(world.command().env("OPENCLAW_STATE_DIR", &state).args(["--", "true"])).status, 126);
    let other = world.root().join("other");
    assert_eq!(ended(world.command().env("OPENCLAW_HOME", &other).args(["--", "true"])).status, 0);
    world.write("other/.openclaw/guard.json", deny);
    assert_eq!(ended(world.command().env("OPENCLAW_HOME", &other).args(["--", "true"])).status, 126);
}

#[test]
fn an_agents_rules_apply_to_the_agent() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "default": "---"}},
            "agents": {"reader": {"permissions": {"filesystem": {"rules": {"@/**": "r-x"}}}}, "*": {"permissions": {"filesystem": {"deny": ["@/work/hidden"]}}}}}"#,
    );
    world.write("work/hidden", "hidden");
    let run = |agent: &str| {
        let _ = std::fs::remove_file(world.work().join("new"));
        let ended = ended(world.command().args([
            "--agent",
            agent,
            "--",
            "sh",
            "-c",
            "cat hidden; echo x > new; cat new",
        ]));
        (ended.stdout, world.work().join("new").exists())
    };
    assert_eq!(run("main"), ("x\n".to_owned(), true));
    assert_eq!(run("reader"), (String::new(), false));
}

#[test]
fn a_relative_policy_is_protected_too() {
    let world = World::open();
    world.write("work/mine.json", r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"default": "rwx"}}}"#);
    let mut command = std::process::Command::new(guard());
    command.args(["--policy", "mine.json", "--audit", "log.jsonl", "--", "sh", "-c", "cat mine.json; echo x > mine.json; rm -f mine.json log.jsonl; mv mine.json other; ln mine.json hard; cat log.jsonl; echo x >> log.jsonl; echo end"]);
    let ended = ended(command.current_dir(world.work()).env("HOME", world.home()).stdin(Stdio::null()));
    assert_eq!(ended.stdout, "end\n");
    assert!(world.read("work/mine.json").is_some_and(|text| text.starts_with("{\"version\"")));
    assert!(world.read("work/log.jsonl").is_some_and(|text| !text.contains("\nx\n")));
    assert!(!world.work().join("hard").exists() && !world.work().join("other").exists());
}
