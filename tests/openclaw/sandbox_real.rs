//! `sandbox explain --json` beside OpenClaw's own command of that name.

use std::collections::BTreeSet;
use std::process::Command;

use guard_tests::gateway::{Release, node, package};
use guard_tests::{World, ended, is_long_form};
use serde_json::{Value, json};

/// What OpenClaw's answer does not have.
const OURS: [&str; 3] = ["why", "container", "refused"];
/// Channels that a release knows without having them installed.
const NOT_INSTALLED: [&str; 5] = ["bluebubbles", "qa-channel", "qqbot", "raft", "webchat"];

/// A configuration, and the session that is asked about: none is the main one.
fn configurations() -> Vec<(Value, Option<&'static str>)> {
    let telegram = Some("agent:main:telegram:group:-100");
    let sandbox = |sandbox: Value| json!({"agents": {"defaults": {"sandbox": sandbox}}});
    let tools = |tools: Value, own: Value| {
        json!({
            "tools": {"sandbox": {"tools": tools}},
            "agents": {
                "defaults": {"sandbox": {"mode": "all"}},
                "list": [{"id": "main", "default": true, "tools": {"sandbox": {"tools": own}}}],
            },
        })
    };
    let elevated = |global: Value, own: Value| {
        json!({
            "tools": {"elevated": global},
            "agents": {"list": [{"id": "main", "default": true, "tools": {"elevated": own}}, {"id": "work"}]},
        })
    };
    vec![
        (json!({}), None),
        (sandbox(json!({"mode": "off"})), telegram),
        (sandbox(json!({"mode": "all"})), None),
        (sandbox(json!({"mode": "non-main"})), None),
        (sandbox(json!({"mode": "non-main", "scope": "session", "workspaceAccess": "ro"})), telegram),
        (
            sandbox(json!({"mode": "all", "scope": "shared", "workspaceAccess": "rw"})),
            Some("agent:main:cron:1"),
        ),
        (
            json!({
                "agents": {
                    "defaults": {"sandbox": {"mode": "all", "docker": {"workdir": "/inside"}}},
                    "list": [{"id": "main", "default": true}, {"id": "work", "sandbox": {"mode": "off"}}],
                },
            }),
            Some("agent:work:main"),
        ),
        (tools(json!({"allow": ["group:fs", "sessions_*"]}), json!({})), None),
        (tools(json!({"alsoAllow": ["browser", "telegram"]}), json!({})), None),
        (tools(json!({"allow": ["exec"]}), json!({"alsoAllow": ["web_fetch"]})), None),
        (tools(json!({"alsoAllow": ["web_fetch"]}), json!({"allow": ["read", "exec"]})), telegram),
        (tools(json!({"allow": []}), json!({})), None),
        (tools(json!({"deny": ["exec", "group:web"]}), json!({})), None),
        (tools(json!({"deny": ["exec"]}), json!({"deny": ["image"]})), None),
        (elevated(json!({"enabled": false}), json!({})), telegram),
        (elevated(json!({"allowFrom": {"telegram": ["42", " 7 "]}}), json!({})), telegram),
        (
            elevated(json!({"allowFrom": {"telegram": ["*"]}}), json!({"allowFrom": {"telegram": ["*"]}})),
            telegram,
        ),
        (
            elevated(json!({"allowFrom": {"telegram": ["*"]}}), json!({"allowFrom": {"discord": ["1"]}})),
            telegram,
        ),
        (elevated(json!({"allowFrom": {"discord": ["*"]}}), json!({"enabled": false})), telegram),
        (
            json!({"session": {"scope": "global"}, "agents": {"defaults": {"sandbox": {"mode": "non-main"}}}}),
            None,
        ),
        (sandbox(json!({"mode": "non-main"})), Some("agent:main:subagent:1")),
    ]
}

fn answer(text: &str) -> Option<Value> {
    serde_json::from_str(text.get(text.find('{')?..)?).ok()
}

/// The tools that are denied, without channels that nobody has installed, and without an order.
fn denied(answer: &mut Value) -> BTreeSet<String> {
    let denied = answer["sandbox"]["tools"]["deny"].take();
    let denied: Vec<String> = serde_json::from_value(denied).expect("a list");
    denied.into_iter().filter(|tool| !NOT_INSTALLED.contains(&tool.as_str())).collect()
}

fn without_channel(answer: &mut Value) {
    answer.as_object_mut().expect("an object").remove("elevated");
    let keys = answer["fixIt"].as_array_mut().expect("a list");
    keys.retain(|key| !key.as_str().is_some_and(|key| key.ends_with(".telegram")));
}

#[test]
fn explained_as_openclaw_explains() {
    if is_long_form() {
        [Release::Current, Release::Older].into_iter().for_each(explained_as);
    }
}

fn explained_as(release: Release) {
    let program = package("openclaw", Some(release.version())).join("openclaw.mjs");
    for (mut config, session) in configurations() {
        let world = World::bare();
        config["agents"]["defaults"]["workspace"] = json!(world.work());
        let text = config.to_string();
        let home = world.home().display().to_string();
        world.write("home/.openclaw/openclaw.json", &text);
        let mut theirs = Command::new(node());
        theirs.arg(&program).args(["sandbox", "explain", "--json"]).env("HOME", &home);
        let mut ours = world.command();
        ours.args(["sandbox", "explain", "--json", "--release", release.version()]);
        if let Some(session) = session {
            theirs.args(["--session", session]);
            ours.args(["--session-key", session]);
        }
        let theirs = ended(&mut theirs);
        // It may have written it in its own form.
        world.write("home/.openclaw/openclaw.json", &text);
        let ours = ended(&mut ours);
        let (Some(mut theirs), Some(mut ours)) = (answer(&theirs.stdout), answer(&ours.stdout)) else {
            panic!("{config:#}\n{}{}\n{}{}", theirs.stdout, theirs.stderr, ours.stdout, ours.stderr);
        };
        for key in OURS {
            ours.as_object_mut().expect("an object").remove(key);
        }
        // Whether a session's word is a channel depends on the plugins that are installed, of which there are none.
        if session.is_some_and(|session| session.contains(":telegram:")) {
            for answer in [&mut ours, &mut theirs] {
                without_channel(answer);
            }
        }
        assert_eq!(denied(&mut ours), denied(&mut theirs), "{}: {config:#}", release.version());
        assert_eq!(ours, theirs, "{}: {config:#}", release.version());
    }
}
