//! Files that would run outside the guard are asked about, with what would change.

use std::process::Command;

use guard_tests::{Ended, World, has};
use serde_json::{Value, json};

const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss", "timeoutMs": 100000},
    "permissions": {"persistence": "ask", "filesystem": {"rules": {SYSTEM, "@/work/**": "rwx"}, "default": "---"}}}"#;

/// A repository of the operator's.
fn repository() -> Option<World> {
    if !has(&["git"]) {
        return None;
    }
    let world = World::bare().policy(POLICY).attended();
    let status = Command::new("git").args(["init", "-q"]).current_dir(world.work()).status().expect("git");
    assert!(status.success());
    Some(world)
}

/// Runs a line in which each question gets this answer.
fn answered(world: &World, line: &str, answer: &str) -> (Vec<Value>, Ended) {
    world.start(&["sh", "-c", line]).answer_all(|_| answer)
}

#[test]
fn a_key_that_runs_something_is_asked_about_with_both_values() {
    let Some(world) = repository() else { return };
    let line = "git config core.hooksPath .husky && git config user.name somebody";
    let (asked, ended) = answered(&world, line, "deny");
    assert_ne!(ended.status, 0);
    assert!(ended.stderr.contains("denied write"), "{}", ended.stderr);
    assert_eq!(asked.len(), 1, "{asked:#?}");
    let (asked, ended) = answered(&world, line, "allow-once");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert_eq!(
        asked[0]["change"],
        json!(["core.hooksPath: (not set) -> \".husky\"  (git runs the hooks in that directory)"])
    );
    assert_eq!(asked[0]["answers"], json!(["allow-once", "deny"]));
    let config = world.read("work/.git/config").expect("a configuration");
    assert!(config.contains("hooksPath = .husky") && config.contains("name = somebody"), "{config}");
    // What is in force is shown where it changes again.
    let (asked, _) = answered(&world, "git config --unset core.hooksPath", "allow-once");
    assert_eq!(
        asked[0]["change"],
        json!(["core.hooksPath: \".husky\" -> (not set)  (git runs the hooks in that directory)"])
    );
}

#[test]
fn a_hook_is_made_replaced_and_removed() {
    let Some(world) = repository() else { return };
    let hook = ".git/hooks/pre-commit";
    let line = format!("umask 022; echo true > {hook} && chmod +x {hook}");
    let (asked, ended) = answered(&world, &line, "allow-once");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let shown: Vec<&str> = asked.iter().filter_map(|question| question["change"][0].as_str()).collect();
    assert_eq!(
        shown,
        ["it is made and opened to be written: any content may follow", "its mode changes, which is 644 now"]
    );
    let (asked, ended) =
        answered(&world, &format!("echo false > new; chmod 755 new; mv -f new {hook}"), "allow-once");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let lines = asked[0]["change"].as_array().expect("lines");
    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    assert!(lines[0].starts_with("now: 5 bytes, mode 755, sha256 "), "{lines:?}");
    assert!(lines[1].starts_with("new: 6 bytes, mode 755, sha256 "), "{lines:?}");
    assert_eq!(lines[2..], ["-1: true", "+1: false"]);
    assert_eq!(world.read(format!("work/{hook}")).as_deref(), Some("false\n"));
    assert!(!world.work().join("new").exists());
    let (asked, ended) = answered(&world, &format!("rm -f {hook}"), "allow-once");
    assert_eq!((ended.status, &asked[0]["change"]), (0, &json!(["it is removed"])), "{}", ended.stderr);
    assert!(!world.work().join(hook).exists());
}

#[test]
fn a_list_for_humans_shows_the_change() {
    let Some(world) = repository() else { return };
    let held = world.start(&["git", "config", "alias.st", "!true"]);
    let question = world.wait_for(1).remove(0);
    let list = world.approvals(&["list"]).stdout;
    assert!(
        list.contains("change    alias.st: (not set) -> \"!true\"  (an alias runs any program)"),
        "{list}"
    );
    world.resolve(&question, "deny");
    let _ = held.end();
}

#[test]
fn sets_can_deny_without_a_question_or_ask_about_everything() {
    for (persistence, path, questions) in [
        ("\"deny\"", "work/.envrc", 0),
        ("{\"direnv\": \"deny\"}", "work/.envrc", 0),
        ("{\"direnv\": \"ask\"}", "work/.envrc", 1),
        ("\"ask\"", "work/.envrc", 1),
        ("true", "work/.envrc", 0),
        ("{\"direnv\": true}", "work/.envrc", 0),
        // What runs in the whole account.
        ("\"ask\"", "home/.bashrc", 0),
        ("{\"shell\": \"ask\"}", "home/.bashrc", 1),
        ("{\"guard\": \"ask\"}", "work/.openclaw/notes", 0),
    ] {
        let policy = POLICY.replace("\"persistence\": \"ask\"", &format!("\"persistence\": {persistence}"));
        let world =
            World::bare().policy(&policy.replace("\"@/work/**\"", "\"@/home/**\": \"rw-\", \"@/work/**\""));
        let world = world.attended();
        world.write(path, "old\n");
        let line = format!("echo new > {}", world.root().join(path).display());
        let (asked, ended) = answered(&world, &line, "allow-once");
        assert_eq!(asked.len(), questions, "{persistence} {path}: {asked:#?}");
        let expected = if questions == 0 { "old\n" } else { "new\n" };
        assert_eq!(world.read(path).as_deref(), Some(expected), "{persistence} {path}: {}", ended.stderr);
    }
}
