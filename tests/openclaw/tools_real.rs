//! `tools explain` beside real gateways: the same tools for the same configuration.

use std::collections::BTreeSet;
use std::process::Command;

use guard_tests::gateway::{Client, Gateway, Login, Release, gateway};
use guard_tests::model::set_in_openclaw;
use guard_tests::{ended, guard, is_foreign};
use serde_json::{Value, json};

use crate::gate::invoke;

for_each_release! { explained_as_they_are, over_http_as_explained }

/// Tools that a caller of `POST /tools/invoke` may want.
const WANTED: [&str; 18] = [
    "exec",
    "sessions_spawn",
    "sessions_send",
    "gateway",
    "nodes",
    "automations",
    "terminal",
    "plugins",
    "openclaw",
    "computer",
    "read",
    "write",
    "apply_patch",
    "session_status",
    "sessions_list",
    "agents_list",
    "web_fetch",
    "message",
];

/// `tools` of the whole configuration.
fn globals() -> [Value; 3] {
    [
        json!({}),
        json!({"profile": "coding", "alsoAllow": ["message", "browser"], "deny": ["sessions_send"]}),
        json!({"allow": ["group:fs", "group:runtime", "group:sessions", "group:web", "nodes", "message"],
            "byProvider": {"scripted": {"deny": ["exec"]}, "another": {"deny": ["*"]}}}),
    ]
}

/// `tools` of each agent.
fn agents() -> [(&'static str, Value); 10] {
    [
        ("plain", json!({})),
        ("minimal", json!({"profile": "minimal"})),
        ("messaging", json!({"profile": "messaging"})),
        ("coding", json!({"profile": "coding", "deny": ["exec", "web_*"]})),
        ("full", json!({"profile": "full"})),
        ("listed", json!({"allow": ["read", "sessions_*", "session_status"]})),
        ("denied", json!({"deny": ["group:web", "group:fs", "apply_patch"]})),
        ("widened", json!({"profile": "minimal", "alsoAllow": ["read", "group:memory", "canvas"]})),
        ("provider", json!({"byProvider": {"scripted": {"profile": "minimal"}}})),
        (
            "model",
            json!({"byProvider": {"scripted/m": {"deny": ["write", "edit"]}, "scripted/n": {"deny": ["read"]}}}),
        ),
    ]
}

fn configure(gateway: &Gateway, tools: &Value) {
    gateway.configure(|config| {
        // Nothing is asked of the model.
        set_in_openclaw(config, "http://127.0.0.1:9");
        let list = agents().map(|(id, tools)| json!({"id": id, "tools": tools}));
        config["agents"]["list"] = json!(list);
        config["tools"] = tools.clone();
    });
}

/// The tools that the gateway gives a session of the agent, and which of them plugins bring.
fn effective(operator: &Client, agent: &str) -> (BTreeSet<String>, Vec<String>) {
    let key = format!("agent:{agent}:main");
    operator.call("sessions.create", json!({"key": key, "agentId": agent})).expect("a session");
    let found =
        operator.call("tools.effective", json!({"sessionKey": key, "agentId": agent})).expect("tools");
    let groups = found["groups"].as_array().expect("groups");
    let tools = groups.iter().flat_map(|group| group["tools"].as_array().expect("tools"));
    let (mut names, mut plugins) = (BTreeSet::new(), Vec::new());
    for tool in tools {
        let name = tool["id"].as_str().expect("a name");
        names.insert(name.to_owned());
        if let Some(plugin) = tool["pluginId"].as_str() {
            plugins.push(format!("--plugin-tool={name}={plugin}"));
        }
    }
    // The older release makes it only where a profile or a list names it: a matter of its presence, too.
    names.remove("update_plan");
    (names, plugins)
}

fn explained(gateway: &Gateway, agent: &str, more: &[String]) -> BTreeSet<String> {
    let mut command = Command::new(guard());
    command.env_clear().env("HOME", gateway.home()).args(["tools", "explain", "--json", "--owner"]);
    command.args([
        "--release",
        gateway.release().version(),
        "--agent",
        agent,
        "--provider",
        "scripted",
        "--model",
        "m",
    ]);
    let output = ended(command.args(more));
    let explained: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let allowed = explained["allowed"].as_array().expect("a list").iter();
    allowed.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

fn explained_as_they_are(release: Release) {
    if !is_foreign() {
        return drop(gateway(release));
    }
    // Which tools there are depends on more than the policy: on keys of providers and on plugins. They are those of an agent
    // whose tools nobody restricts.
    let mut present = None;
    let mut wrong = Vec::new();
    for (number, tools) in globals().iter().enumerate() {
        let mut gateway = Gateway::new(release);
        configure(&gateway, tools);
        gateway.ensure();
        let login = Login {
            scopes: vec!["operator.admin", "operator.read", "operator.write"],
            ..Login::approver(gateway.token())
        };
        let operator = Client::connect(gateway.port(), &login).expect("to be let in");
        for (agent, own) in agents() {
            let (there, plugins) = effective(&operator, agent);
            let (all, all_plugins) = present.get_or_insert_with(|| (there.clone(), plugins));
            let expected: BTreeSet<String> =
                explained(&gateway, agent, all_plugins).intersection(all).cloned().collect();
            if there != expected {
                let [more, less] = [there.difference(&expected), expected.difference(&there)]
                    .map(|names| names.cloned().collect::<Vec<_>>());
                wrong.push(format!(
                    "{number} {agent} {tools} {own}: the gateway also has {more:?} and lacks {less:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn over_http_as_explained(release: Release) {
    if !is_foreign() {
        return drop(gateway(release));
    }
    let mut gateway = Gateway::new(release);
    gateway.ensure();
    let there = explained(&gateway, "main", &["--surface=http".to_owned()]);
    for tool in WANTED {
        let response = invoke(&gateway, tool, &json!({}));
        let status = response.split(' ').nth(1).unwrap_or_default();
        if there.contains(tool) {
            // The arguments may be wrong.
            assert!(matches!(status, "200" | "400"), "{tool} is there: {response}");
        } else {
            let refused = format!("Tool not available: {tool}");
            assert!(status == "404" && response.contains(&refused), "{tool} is not there: {response}");
        }
    }
    assert_eq!(WANTED.iter().filter(|tool| there.contains(**tool)).count(), 5, "{there:?}");
}
