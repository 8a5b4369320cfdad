//! `tools explain`, `tools check` and `tools list`.

use guard_tests::{Ended, World, ended};
use serde_json::{Value, json};

const CONFIG: &str = r#"{
  // JSON5, as OpenClaw reads it
  meta: { lastTouchedVersion: "2026.9.6" },
  tools: { profile: "coding", deny: ["group:web"], toolsBySender: { "id:7": { allow: ["read"] } } },
  agents: {
    list: [
      { id: "main", default: true, tools: { deny: ["browser", "Bash"], byProvider: { openai: { deny: ["write"] } } } },
      { id: "Work", tools: { profile: "minimal", alsoAllow: ["exec"], exec: { host: "node" } } },
    ],
  },
}"#;

fn world(config: &str) -> World {
    let world = World::bare();
    world.write("home/.openclaw/openclaw.json", config);
    world
}

fn give(world: &World, words: &[&str]) -> Ended {
    ended(world.command().arg("tools").args(words))
}

fn explained(world: &World, words: &[&str]) -> Value {
    let ended = give(world, &[&["explain", "--json"], words].concat());
    assert_eq!(ended.status, 0, "{words:?}: {}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

fn has(answer: &Value, tool: &str) -> bool {
    answer["allowed"].as_array().expect("a list").contains(&json!(tool))
}

#[test]
fn each_missing_tool_has_its_step_list_and_entry() {
    let answer = explained(&world(CONFIG), &[]);
    let removed =
        |step: &str, list: &str, entry: Value| json!({ "step": step, "list": list, "entry": entry });
    assert_eq!(answer["removed"]["exec"], removed("agents.main.tools.allow", "deny", json!("Bash")));
    assert_eq!(answer["removed"]["web_fetch"], removed("tools.allow", "deny", json!("group:web")));
    assert_eq!(answer["removed"]["tts"], removed("tools.profile (coding)", "allow", Value::Null));
    assert_eq!(answer["steps"], json!(["tools.profile (coding)", "tools.allow", "agents.main.tools.allow"]));
    assert_eq!(answer["heldBy"]["read"], "nobody");
    assert_eq!((&answer["release"], &answer["agent"]), (&json!("2026.9.6"), &json!("main")));
    assert_eq!(answer["warnings"], json!([]));
}

#[test]
fn whoever_asks_counts() {
    let world = world(CONFIG);
    assert!(has(&explained(&world, &[]), "write"));
    assert!(!has(&explained(&world, &["--provider", "OpenAI"]), "write"));
    assert!(!has(&explained(&world, &["--not-owner"]), "gateway"));
    assert!(has(&explained(&world, &["--owner"]), "gateway"));
    assert!(!has(&explained(&world, &["--subagent", "1"]), "session_status"));
    assert!(!has(&explained(&world, &["--subagent", "5"]), "sessions_spawn"));
    assert_eq!(explained(&world, &["--sender", "id:7"])["allowed"], json!(["read"]));
    let work = explained(&world, &["--agent", "work"]);
    assert_eq!(work["allowed"], json!(["exec", "gateway", "session_status"]));
    assert_eq!(explained(&world, &["--session-key", "agent:work:main"])["allowed"], work["allowed"]);
    assert!(!has(&explained(&world, &["--surface", "http"]), "read"));
    assert!(has(&explained(&world, &["--plugin-tool", "github__x=bundle-mcp"]), "github__x"));
    assert!(!has(&explained(&world, &["--plugin-tool", "slack_post=slack"]), "slack_post"));
}

/// Only a command can be in a guard: on a node, or where the operator says that the gateway's shell is wrapped.
#[test]
fn who_holds_a_tool_is_said() {
    let world = world(
        r#"{ "tools": { "allow": ["exec", "read"] }, "agents": { "entries": {
        "node": { "tools": { "exec": { "host": "node" } } }, "box": { "tools": { "exec": { "host": "sandbox" } } } } } }"#,
    );
    let held = |words: &[&str]| explained(&world, words)["heldBy"].clone();
    assert_eq!(held(&[]), json!({ "exec": "nobody", "read": "nobody" }));
    assert_eq!(held(&["--wrapped"])["exec"], "kernel");
    assert_eq!(held(&["--agent", "node"])["exec"], "kernel");
    assert_eq!(held(&["--agent", "box", "--wrapped"])["exec"], "nobody");
    assert_eq!(held(&["--wrapped"])["read"], "nobody");
}

#[test]
fn a_check_ends_with_its_verdict() {
    let world = world(CONFIG);
    let exec = give(&world, &["check", "bash"]);
    assert_eq!(
        (exec.status, exec.stdout.as_str()),
        (1, "deny exec\n  agents.main.tools.allow: deny \"Bash\"\n")
    );
    let read = give(&world, &["check", "read"]);
    assert_eq!((read.status, read.stdout.as_str()), (0, "allow read\n  held by nobody\n"));
    let tts = give(&world, &["check", "tts"]);
    assert_eq!(
        (tts.status, tts.stdout.as_str()),
        (1, "deny tts\n  tools.profile (coding): not in its allow list\n")
    );
    let unknown = give(&world, &["check", "nonsense"]);
    assert_eq!(unknown.status, 1);
    assert!(unknown.stderr.contains("has no tool nonsense"), "{}", unknown.stderr);
    let json = give(&world, &["check", "cron", "--subagent", "1", "--json"]);
    let answer: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json.status, 1);
    assert_eq!(
        answer,
        json!({ "outcome": "deny", "tool": "automations", "warnings": [],
                "because": { "step": "subagent tools.allow", "list": "deny", "entry": "automations" } })
    );
    let json = give(&world, &["check", "read", "--json"]);
    let answer: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(answer, json!({ "outcome": "allow", "tool": "read", "heldBy": "nobody", "warnings": [] }));
}

#[test]
fn the_release_that_wrote_the_file_counts() {
    let written = |version: &str| {
        world(&format!(
            r#"{{ "meta": {{ "lastTouchedVersion": "{version}" }}, "tools": {{ "deny": ["write"] }} }}"#
        ))
    };
    let april = explained(&written("2026.4.14"), &[]);
    assert_eq!(april["release"], "2026.4.14");
    assert_eq!(april["removed"]["apply_patch"]["entry"], "write");
    let between = explained(&written("2026.8.1"), &[]);
    assert_eq!(between["release"], "2026.7.35");
    assert!(between["warnings"][0].as_str().is_some_and(|text| text.contains("its tools are not known")));
    assert_eq!(explained(&written("next"), &[])["release"], "2026.9.6");
    assert_eq!(explained(&written("2026.4.14"), &["--release", "2026.9.6"])["release"], "2026.9.6");
}

#[test]
fn bad_input_is_named() {
    let failed = |config: &str, words: &[&str], expected: &str| {
        let ended = give(&world(config), words);
        assert_eq!(ended.status, 125, "{config}: {}", ended.stdout);
        assert!(ended.stderr.contains(expected), "{config}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    };
    failed("{ tools: {", &["explain"], "openclaw.json cannot be read: ");
    failed("{\n\n tools }", &["check", "read"], "line 3");
    failed(
        "{ tools: { allow: 'read' } }",
        &["explain"],
        "openclaw.json: tools.allow: has to be a list of names",
    );
    failed(
        "{ tools: { allow: ['read'], alsoAllow: ['exec'] } }",
        &["check", "read"],
        "openclaw.json: tools: tools cannot set both allow and alsoAllow in the same scope",
    );
    failed(
        CONFIG,
        &["explain", "--agent", "main", "--session-key", "agent:work:main"],
        "belongs to agent work",
    );
    failed(
        "{}",
        &["explain", "--config", "/nonexistent/openclaw.json"],
        "there is no /nonexistent/openclaw.json",
    );
    failed("{}", &["explain", "--release", "2027.1.1"], "one of 2026.4.12, 2026.4.14, 2026.7.35, 2026.9.6");
    failed("{}", &["explain", "--sender", "42"], "one of id:…");
    failed("{}", &["explain", "--plugin-tool", "slack_post"], "such as slack_post=slack");
    failed("{}", &["explain", "--subagent", "0"], "0 is not in 1..");
    failed("{}", &["explain", "--owner", "--not-owner"], "cannot be used with");
}

#[test]
fn what_is_ignored_is_warned_of() {
    let world =
        world(r#"{ tools: { profile: "Coding", deny: [1, "exec"] }, agents: { list: [{ id: "main" }] } }"#);
    let ended = give(&world, &["explain", "--agent", "ghost"]);
    assert_eq!(ended.status, 0);
    for text in ["has no agent ghost", "unknown profile \"Coding\"", "tools.deny[0]: 1 is no name"] {
        assert!(ended.stderr.contains(text), "{text}: {}", ended.stderr);
    }
    let none = World::bare();
    let ended = give(&none, &["check", "read"]);
    assert_eq!(ended.status, 0);
    assert!(ended.stderr.contains("there is no "), "{}", ended.stderr);
}

#[test]
fn what_the_file_says_cannot_act_on_the_terminal() {
    let world = world(
        r#"{ "tools": { "deny": ["*\u001b[31m", "exec\u001b[2J*", "*"] , "allow": ["\u001b]0;x\u0007"] } }"#,
    );
    for words in [&["explain"][..], &["check", "exec"], &["explain", "--json"]] {
        let ended = give(&world, words);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains('\u{1b}'), "{words:?}");
    }
}

#[test]
fn the_list_is_the_releases() {
    let world = World::bare();
    let list = |words: &[&str]| give(&world, &[&["list"], words].concat());
    assert!(list(&[]).stdout.starts_with("OpenClaw 2026.9.6: 61 tools\n"));
    assert!(list(&["--release", "2026.4.12"]).stdout.starts_with("OpenClaw 2026.4.12: 32 tools\n"));
    let answer: Value = serde_json::from_str(&list(&["--json"]).stdout).expect("JSON");
    assert_eq!(answer["groups"]["group:fs"], json!(["ls", "read", "write", "edit", "apply_patch"]));
    assert_eq!(answer["profiles"]["minimal"], json!(["session_status", "gateway"]));
    assert_eq!(
        answer["tools"][1],
        json!({ "name": "read", "section": "fs", "profiles": ["coding"], "ownerOnly": false, "http": false })
    );
}
