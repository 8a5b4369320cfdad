//! OpenClaw's tool policy: what OpenClaw 2026.9.6 computed (`../data/README.md`), and what has to hold always.

mod properties;
mod releases;

use crate::common::data;
use guard_policy::tools::{
    Inventory, Release, SeenWarnings, Sender, Subagent, ToolContext, ToolSettings, ToolStep, effective,
};
use serde_json::{Value, json};

/// The tools of the vectors: those of the release, and those of their four plugins.
fn inventory(data: &Value) -> Inventory {
    let mut inventory = Inventory::of_release(Release::V2026_9_6);
    let mut core: Vec<_> =
        data["catalogue"]["core"].as_array().unwrap().iter().map(|tool| tool.as_str().unwrap()).collect();
    let mut known: Vec<_> = inventory.names().collect();
    core.sort_unstable();
    known.sort_unstable();
    assert_eq!(core, known);
    for (tool, plugin) in data["catalogue"]["plugins"].as_object().unwrap() {
        inventory.add_plugin_tool(tool, plugin.as_str().unwrap());
    }
    inventory
}

fn context(written: &Value) -> ToolContext {
    let known = [
        "agent",
        "provider",
        "model",
        "channel",
        "groupId",
        "sessionKey",
        "senderId",
        "senderName",
        "senderUsername",
        "senderIsOwner",
        "subagent",
        "runtimeToolAllowlist",
    ];
    for key in written.as_object().unwrap().keys() {
        assert!(known.contains(&&key[..]), "{key}");
    }
    let text = |key: &str| written[key].as_str().map(str::to_owned);
    let names = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap_or_default() };
    ToolContext {
        agent: text("agent"),
        provider: text("provider"),
        model: text("model"),
        channel: text("channel"),
        group: text("groupId"),
        session_key: text("sessionKey"),
        sender: Sender {
            id: text("senderId"),
            name: text("senderName"),
            username: text("senderUsername"),
            e164: None,
            is_owner: written["senderIsOwner"].as_bool(),
        },
        subagent: written.get("subagent").map(|subagent| Subagent {
            depth: subagent["depth"].as_u64().unwrap() as u32,
            inherited_allow: names(&subagent["inheritedToolAllow"]),
            inherited_deny: names(&subagent["inheritedToolDeny"]),
        }),
        runtime_allow: written.get("runtimeToolAllowlist").map(names),
        ..ToolContext::default()
    }
}

fn removed(step: &ToolStep) -> Value {
    let tools: Vec<_> = step.removed.iter().map(|removal| &removal.tool).collect();
    json!({ "step": step.label, "removed": tools })
}

#[test]
fn vectors() {
    let data = data("tool-policy.json");
    let inventory = inventory(&data);
    let cases = data["cases"].as_array().unwrap();
    let mut wrong = Vec::new();
    for case in cases {
        let settings = ToolSettings::from_config(&case["config"]).unwrap();
        let context = context(&case["context"]);
        let tools = effective(&settings, &context, &inventory, &mut SeenWarnings::default()).unwrap();
        let answer = json!({
            "sandboxed": tools.is_sandboxed,
            "allowed": tools.allowed,
            "steps": tools.steps.iter().map(removed).collect::<Vec<_>>(),
            "warnings": tools.warnings,
        });
        if answer != case["expect"] {
            wrong.push(format!("{}\n  ours   {answer}\n  theirs {}", case["name"], case["expect"]));
        }
        let mut issues: Vec<_> = settings.issues().iter().map(|issue| json!(issue_json(issue))).collect();
        let mut expected: Vec<_> = case["config_issues"].as_array().cloned().unwrap_or_default();
        let by_path = |issue: &Value| issue["path"].as_str().unwrap().to_owned();
        issues.sort_by_key(by_path);
        expected.sort_by_key(by_path);
        if issues != expected || issues.is_empty() != case["config_valid"].as_bool().unwrap() {
            wrong.push(format!("{}: {issues:?}, not {expected:?}", case["name"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    println!("tool policy: {0} of {0}", cases.len());
}

fn issue_json(issue: &guard_policy::tools::ToolIssue) -> Value {
    json!({ "path": issue.path, "message": issue.message })
}
