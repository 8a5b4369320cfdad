//! `tools explain` beside real gateways: the same tools for the same configuration.

use std::collections::BTreeSet;
use std::process::Command;

use guard_tests::gateway::{Client, Gateway, Login, Release, gateway};
use guard_tests::{ended, guard, is_foreign};
use serde_json::{Value, json};

for_each_release! { explained_as_they_are }

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
    let file = gateway.home().join(".openclaw/openclaw.json");
    let text = std::fs::read(&file).expect("a configuration");
    let mut config: Value = serde_json::from_slice(&text).expect("JSON");
    // Nothing is asked of the model.
    let provider = json!({"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "none", "api": "openai-completions",
        "models": [{"id": "m", "name": "m", "reasoning": false, "input": ["text"], "contextWindow": 100_000, "maxTokens": 4000}]});
    config["models"] = json!({"mode": "merge", "providers": {"scripted": provider}});
    let list: Vec<Value> =
        agents().into_iter().map(|(id, tools)| json!({"id": id, "tools": tools})).collect();
    config["agents"] =
        json!({"defaults": {"model": {"primary": "scripted/m"}, "skipBootstrap": true}, "list": list});
    config["tools"] = tools.clone();
    std::fs::write(file, config.to_string()).expect("a configuration");
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

fn explained(gateway: &Gateway, agent: &str, plugins: &[String]) -> BTreeSet<String> {
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
    let output = ended(command.args(plugins));
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
