//! Tests of the messages about a `guard.json`, valid or not.

use crate::common::{compile, file, parse};
use guard_policy::approval::Route;
use guard_policy::{Access, AuditSettings, Document, OnError, Outcome, Policy};
use serde_json::json;

/// The lines that an operator sees.
fn problems(text: &str) -> Vec<String> {
    parse(text).expect_err("should be refused").iter().map(ToString::to_string).collect()
}

#[test]
fn the_example_is_read_and_written_back() {
    let text = r#"
    {
      "version": 1, // the only one
      "exec": { "security": "allowlist", "ask": "on-miss", "askFallback": "deny", "timeoutMs": 120000,
                "strictInlineEval": false, "safeBins": ["cut", "uniq"], "safeBinTrustedDirs": ["/bin"],
                "safeBinProfiles": { "cat": { "maxPositional": 0, "allowedBooleanFlags": ["-n", "--number"] }, "echo": {} }, "carriers": ["bash", "sh"], "roots": ["/usr", "/bin"] },
      "permissions": { "filesystem": { "rules": { "~/workspace/**": "rw-", "~/workspace/bin/**": "r-x" },
                       "deny": ["~/.ssh/**"], "default": "---" }, "base": true },
      "agents": { "main": { "exec": { "ask": "always" }, "allowlist": [{ "pattern": "/usr/bin/git" }],
                            "permissions": {} }, "*": {} },
      "approvals": { "routes": ["cli", "terminal"], "maxPending": 8, "notify": ["notify-send", "x"],
                     "gateway": { "url": "wss://gw.example:18789/x", "tokenFile": "~/.openclaw/guard/token", "allowInsecure": false,
                                  "fingerprint": "00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff", "admin": true },
                     "exec": { "enabled": true, "mode": "both", "agentFilter": ["main"], "sessionFilter": ["discord"],
                               "targets": [{ "channel": "slack", "to": "U1", "accountId": "a", "threadId": "1.5" },
                                           { "channel": "telegram", "to": "-1", "threadId": 7 }] } },
      "network": { "unixDatagram": false, "connect": { "deny": ["10.0.0.0/8", "[fd00::]/8:443", "localhost:5432", "*:25"],
                   "ports": [80, 443], "gateway": "deny" } }, "audit": {}, /* a trailing comma is fine */
    }"#;
    let document = parse(text).unwrap();
    assert_eq!(document.agents().collect::<Vec<_>>(), ["*", "main"]);
    let again = Document::parse("again", &document.to_json()).unwrap();
    assert_eq!(again, document);
}

#[test]
fn an_unknown_key_is_reported_with_its_position_and_the_nearest_key() {
    assert_eq!(
        problems("{\n  \"version\": 1,\n  \"exec\": {\n    \"securty\": \"deny\"\n  }\n}"),
        ["guard.json:4:5: exec.securty: unknown key; did you mean \"security\"?"]
    );
    assert_eq!(
        problems(r#"{"version": 1, "permissons": {}}"#),
        ["guard.json:1:16: permissons: unknown key; did you mean \"permissions\"?"]
    );
    assert_eq!(
        problems(r#"{"version": 1, "agents": {"main": {"permissions": {"filesystem": {"rule": {}}}}}}"#),
        ["guard.json:1:67: agents.main.permissions.filesystem.rule: unknown key; did you mean \"rules\"?"]
    );
    assert_eq!(
        problems(r#"{"version": 1, "allowlist": []}"#),
        ["guard.json:1:16: allowlist: unknown key: an allowlist belongs to an agent, agents.\"*\""]
    );
    // Keys of OpenClaw's documents, with what does the same here.
    for (text, key, place) in [
        (
            r#"{"version": 1, "tools": {"read": {"allow": ["~/x"]}}}"#,
            "tools.read.allow",
            "permissions.filesystem",
        ),
        (r#"{"version": 1, "tools": {"write": {"deny": ["~/x"]}}}"#, "tools.write", "permissions.filesystem"),
        (r#"{"version": 1, "tools": {"fs": {"workspaceOnly": true}}}"#, "tools.fs", "${workspace}"),
        (
            r#"{"version": 1, "permissions": {"workspaceOnly": true}}"#,
            "permissions.workspaceOnly",
            "${workspace}",
        ),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains(&format!("{key}: unknown key: ")) && found[0].contains(place),
            "{}",
            found[0]
        );
        assert!(!found[0].contains("did you mean"), "{}", found[0]);
    }
}

#[test]
fn values_are_checked() {
    assert_eq!(
        problems("{\"version\": 1,\n\"exec\": {\"ask\": \"on-mis\"}}"),
        [
            "guard.json:2:17: exec.ask: \"on-mis\" is not one of off, on-miss, always; did you mean \"on-miss\"?"
        ]
    );
    assert_eq!(
        problems("{\"version\": 1,\n\"permissions\": {\"filesystem\": {\"rules\": {\"~/a\": \"wr-\"}}}}"),
        [
            "guard.json:2:49: permissions.filesystem.rules[\"~/a\"]: \"wr-\" is not a permission. Write three characters: \
             r, then w, then x; instead of each, - denies and ? asks"
        ]
    );
    assert_eq!(
        problems(r#"{"version": 1, "permissions": {"filesystem": {"deny": ["a/b"]}}}"#),
        ["guard.json:1:56: permissions.filesystem.deny[0]: \"a/b\": the pattern must start with /, ~/ or **"]
    );
    for text in [
        r#"{"version": 2}"#,
        r#"{"version": "1"}"#,
        r#"{"version": 1, "exec": {"timeoutMs": 0}}"#,
        r#"{"version": 1, "exec": {"timeoutMs": 1.5}}"#,
        r#"{"version": 1, "exec": {"roots": ["/usr/*"]}}"#,
        r#"{"version": 1, "exec": {"carriers": ["/bin/sh"]}}"#,
        r#"{"version": 1, "exec": []}"#,
        r#"{"version": 1, "permissions": {"base": "yes"}}"#,
        r#"{"version": 1, "permissions": {"filesystem": {"rules": {"~/a/../b": "r--"}}}}"#,
        r#"{"version": 1, "permissions": {"filesystem": {"default": "rwxr"}}}"#,
        r#"{"version": 1, "agents": {"main": {"allowlist": [{}]}}}"#,
        r#"{"version": 1, "agents": {"main": {"exec": {"carriers": []}}}}"#,
        r#"{"version": 1, "approvals": {"routes": "cli"}}"#,
        r#"{"version": 1, "approvals": {"routes": ["cli", "tty"]}}"#,
        r#"{"version": 1, "approvals": {"routes": ["cli"], "route": 1}}"#,
        r#"{"version": 1, "approvals": {"maxPending": 0}}"#,
        r#"{"version": 1, "approvals": {"maxPending": 1025}}"#,
        r#"{"version": 1, "approvals": {"notify": []}}"#,
        r#"{"version": 1, "approvals": {"notify": "notify-send"}}"#,
        r#"{"version": 1, "approvals": {"gateway": "ws://127.0.0.1"}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"token": "x"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"url": "http://127.0.0.1"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"url": "ws://10.0.0.1:18789"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"url": "ws://10.0.0.1", "allowInsecure": false}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"allowInsecure": 1}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"admin": "yes"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"tokenFile": "token"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"tokenFile": "~"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"tokenFile": "~u/x"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"tokenFile": "/x/"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"tokenFile": "/x/*"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"tokenFile": "/x/../y"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"url": "wss://h", "fingerprint": "AB:CD"}}}"#,
        r#"{"version": 1, "approvals": {"exec": true}}"#,
        r#"{"version": 1, "approvals": {"exec": {"enabled": 1}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"mode": "dm"}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"sessionFilter": "discord"}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"agentFilter": [1]}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"targets": {}}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"targets": [{"channel": "slack"}]}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"targets": [{"channel": "", "to": "U1"}]}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"targets": [{"channel": "slack", "to": 1}]}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"targets": [{"channel": "slack", "to": "U1", "threadId": null}]}}}"#,
        r#"{"version": 1, "approvals": {"exec": {"targets": [{"channel": "slack", "to": "U1", "thread": 1}]}}}"#,
        r#"{"version": 1, "network": {"unixDatagram": 1}}"#,
        r#"{"version": 1, "network": {"connect": []}}"#,
        r#"{"version": 1, "network": {"connect": {"ports": 80}}}"#,
        r#"{"version": 1, "network": {"connect": {"ports": [0]}}}"#,
        r#"{"version": 1, "network": {"connect": {"ports": ["80"]}}}"#,
        r#"{"version": 1, "network": {"connect": {"ports": [65536]}}}"#,
        r#"{"version": 1, "network": {"connect": {"gateway": true}}}"#,
        r#"{"version": 1, "network": {"connect": {"deny": "10.0.0.0/8"}}}"#,
        r#"{"version": 1, "audit": {"path": true}}"#,
        r#"{"version": 1, "audit": {"path": "log.jsonl"}}"#,
        r#"{"version": 1, "audit": {"path": "~/logs/"}}"#,
        r#"{"version": 1, "audit": {"onError": "stop"}}"#,
        r#"{"version": 1, "audit": {"maxBytes": 4095}}"#,
        r#"{"version": 1, "audit": {"maxBytes": -1}}"#,
        r#"{"version": 1, "audit": {"keep": "8"}}"#,
        r#"{"version": 1, "audit": {"journald": 1}}"#,
        r#"{"version": 1, "audit": {"rotate": 5}}"#,
        r#"{"version": 1, "node": {"displayName": " "}}"#,
        r#"{"version": 1, "node": {"commands": ["system.notify"]}}"#,
        r#"{"version": 1, "node": {"commands": "system.run"}}"#,
        r#"{"version": 1, "node": {"cwd": "work"}}"#,
        r#"{"version": 1, "node": {"maxRunning": 0}}"#,
        r#"{"version": 1, "node": {"maxRunning": 257}}"#,
        r#"{"version": 1, "node": {"outputBytes": 2000001}}"#,
        r#"{"version": 1, "node": {"eventTailBytes": "1"}}"#,
        r#"{"version": 1, "node": {"name": "x"}}"#,
        r#"{"version": 1, "agents": {"main": {"node": {"maxRunning": 1}}}}"#,
        r#"{"version": 1, "agents": {"main": {"audit": {"onError": "continue"}}}}"#,
    ] {
        assert_eq!(problems(text).len(), 1, "{text}");
    }
}

#[test]
fn a_key_that_occurs_twice_is_refused() {
    let text = r#"{"version": 1, "permissions": {"filesystem": {"rules": {"/a": "---", "/a": "rwx"}}}}"#;
    assert!(problems(text)[0].ends_with("the key occurs twice"), "{:?}", problems(text));
}

#[test]
fn every_problem_is_reported() {
    let text = "{\"version\": 1,\n\"a\": 1,\n\"exec\": {\"ask\": 1, \"security\": \"no\"}}";
    assert_eq!(problems(text).len(), 3);
}

#[test]
fn a_syntax_error_has_a_position() {
    for text in ["", "// nothing", "{", "{\"version\": 1} x", "{'version': 1}", "{version: 1}", "[]", "{}"] {
        let lines = problems(text);
        assert!(lines[0].starts_with("guard.json:1:"), "{text}: {lines:?}");
    }
}

#[test]
fn approvals_say_how_a_human_is_asked() {
    let policy = compile(&json!({
        "version": 1,
        "approvals": { "routes": ["gateway", "cli"], "maxPending": 1024, "notify": ["notify-send", "a b"] },
    }));
    assert_eq!(policy.approvals().routes(), Some(&[Route::Gateway, Route::Cli][..]));
    assert_eq!(policy.approvals().max_pending(), 1024);
    assert_eq!(policy.approvals().notify(), Some(&["notify-send".to_owned(), "a b".to_owned()][..]));
    let none = compile(&json!({ "version": 1, "approvals": { "routes": [] } }));
    assert_eq!((none.approvals().routes(), none.approvals().max_pending()), (Some(&[][..]), 16));
    let shown = |policy: &Policy, name: &str| {
        policy.explain(None).into_iter().find(|setting| setting.name == name).expect("a setting").value
    };
    assert_eq!(shown(&policy, "approvals.notify"), "notify-send 'a b'");
    assert_eq!(
        shown(&compile(&json!({ "version": 1 })), "approvals.routes"),
        "cli, terminal, socket, gateway"
    );
    let capped = |security: &str| {
        let document = json!({ "version": 1, "exec": { "security": security, "askFallback": "full" } });
        let parsed = Document::parse("guard.json", &document.to_string()).expect("a policy");
        let fallback =
            compile(&document).explain(Some(&parsed)).into_iter().find(|one| one.name == "exec.askFallback");
        let fallback = fallback.expect("a setting");
        (fallback.value, fallback.note.starts_with("capped: guard.json says full"))
    };
    assert_eq!(capped("allowlist"), ("allowlist".to_owned(), true));
    assert_eq!(capped("full"), ("full".to_owned(), false));
    let problem = &problems(r#"{"version": 1, "approvals": {"routes": ["cli", "gatewy"]}}"#)[0];
    assert_eq!(
        problem,
        "guard.json:1:48: approvals.routes[1]: \"gatewy\" is not one of cli, terminal, socket, gateway; did you mean \"gateway\"?"
    );
}

#[test]
fn the_nodes_settings_have_the_defaults_of_openclaws_node() {
    let policy = compile(&json!({"version": 1}));
    let node = policy.node();
    assert_eq!((node.commands.len(), node.cwd.as_str(), node.max_running), (5, "~", 8));
    assert_eq!((node.output_bytes, node.event_tail_bytes), (200_000, 20_000));
    let policy =
        compile(&json!({"version": 1, "node": {"commands": ["system.which", "system.run", "system.which"]}}));
    let commands: Vec<_> = policy.node().commands.iter().map(|command| command.as_str()).collect();
    assert_eq!(commands, ["system.run", "system.which"]);
}

#[test]
fn settings_without_effect_are_warnings() {
    let policy = compile(&json!({
        "version": 1,
        "exec": { "safeBins": ["cut", "cat", "AWK"], "strictInlineEval": true, "skills": {} },
        "network": { "unixDatagram": false },
        "audit": { "path": "/var/log/a", "onError": "continue", "maxBytes": 65536, "keep": 0, "journald": true },
        "agents": { "main": { "allowlist": [
            { "pattern": "  " }, { "pattern": "/usr/bin/git", "argPattern": "^(?=status)" },
        ] } },
    }));
    assert!(!policy.unix_datagram());
    let audit = AuditSettings {
        path: Some("/var/log/a".to_owned()),
        on_error: OnError::Continue,
        max_bytes: 65536,
        keep: 0,
        journald: true,
    };
    assert_eq!(*policy.audit(), audit);
    assert_eq!(
        policy.warnings(),
        [
            "agents.main.allowlist[0]: a blank pattern matches nothing",
            "agents.main.allowlist[1]: its argPattern is not a regular expression, or could take forever: \
             look-around, back-references and repetitions that share characters are not allowed",
            "exec.safeBins: \"cat\" has no profile in exec.safeBinProfiles and is never safe",
            "exec.safeBins: \"awk\" runs programs from its arguments and is never safe",
        ]
    );
}

#[test]
fn a_rule_that_a_longer_one_overrules_is_reported() {
    let guard = json!({
        "version": 1,
        "permissions": { "filesystem": { "rules": {
            "/w/**": "rw-", "/w/k": "---", "/w/j": "rw-", "/w/kk": "---", "/x/**": "r--", "/x/*": "r-x", "/w/l": "---", "/w/l/**": "---",
        } } },
    });
    let policy = compile(&guard);
    let found = policy.lint(&parse(&guard.to_string()).unwrap(), &|_| true);
    let rules = "permissions.filesystem.rules";
    let overruled = |rule: &str, by: &str| {
        format!(
            "{rules}[\"{rule}\"]: has no effect, because {rules}[\"{by}\"] covers all of it, and the longer pattern counts"
        )
    };
    assert_eq!(found, [overruled("/w/k", "/w/**"), overruled("/x/*", "/x/**")]);
    assert_eq!(file(&policy, "/w/k", Access::WRITE).outcome, Outcome::Allow);
    assert_eq!(file(&policy, "/w/kk", Access::WRITE).outcome, Outcome::Deny);
}
