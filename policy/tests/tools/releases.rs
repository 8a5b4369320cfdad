//! The catalogues are those of the releases, and releases differ where OpenClaw's do.

use guard_policy::tools::{
    EffectiveTools, Inventory, PROFILES, Release, RemovedBy, SeenWarnings, Sender, Subagent, Surface,
    ToolContext, ToolSettings, Toolset, effective,
};
use serde_json::{Value, json};

use crate::common::data;

fn tools(release: Release, config: &Value, context: &ToolContext) -> EffectiveTools {
    let settings = ToolSettings::from_config(config).unwrap();
    effective(&settings, context, &Inventory::of_release(release), &mut SeenWarnings::default()).unwrap()
}

fn has(release: Release, config: &Value, context: &ToolContext, tool: &str) -> bool {
    tools(release, config, context).allowed.iter().any(|allowed| allowed == tool)
}

fn subagent(depth: u32) -> ToolContext {
    ToolContext { subagent: Some(Subagent { depth, ..Subagent::default() }), ..ToolContext::default() }
}

#[test]
fn catalogues_are_those_of_the_releases() {
    for release in [Release::V2026_4_14, Release::V2026_7_35, Release::V2026_9_6] {
        let theirs = data(&format!("{release}/tool-catalog.json"));
        let ours = release.catalogue();
        let tools: Vec<Value> = ours
            .tools
            .iter()
            .map(|tool| {
                let in_group = tool.made_for == Toolset::Gateway;
                json!({ "id": tool.name, "section": tool.section, "profiles": tool.profiles, "inOpenClawGroup": in_group })
            })
            .collect();
        assert_eq!(Value::from(tools), theirs["tools"], "{release}");
        for profile in PROFILES {
            let allow = theirs["profiles"][profile]["allow"].clone();
            assert_eq!(json!(ours.profile(profile)), allow, "{release} {profile}");
        }
        for (group, tools) in theirs["groups"].as_object().into_iter().flatten() {
            assert_eq!(&json!(ours.group(group)), tools, "{release} {group}");
            assert!(ours.groups().contains(group));
        }
    }
}

#[test]
fn the_lists_of_the_newest_release_are_those_of_the_vectors() {
    let vectors = data("tool-policy.json");
    let ours = Release::V2026_9_6.catalogue();
    assert_eq!(json!(ours.owner_only), vectors["ownerOnly"]);
    assert_eq!(json!(ours.http_deny), vectors["httpDeny"]);
    for (group, tools) in vectors["groups"].as_object().unwrap() {
        assert_eq!(&json!(ours.group(group)), tools, "{group}");
    }
}

#[test]
fn denying_write_denies_patches_in_april_only() {
    let config = json!({ "tools": { "deny": ["write"] } });
    let context = ToolContext::default();
    assert!(!has(Release::V2026_4_14, &config, &context, "apply_patch"));
    assert!(has(Release::V2026_7_35, &config, &context, "apply_patch"));
    assert!(has(Release::V2026_9_6, &config, &context, "apply_patch"));
    let answer = tools(Release::V2026_4_12, &config, &context);
    let (step, removal) = answer.removal("apply_patch").unwrap();
    assert_eq!((&step.label[..], &removal.by), ("tools.allow", &RemovedBy::Deny("write".to_owned())));
}

#[test]
fn sections_widen_a_profile_in_april_only() {
    let config = json!({ "tools": { "profile": "minimal", "exec": { "security": "deny" }, "fs": {} } });
    for tool in ["exec", "process", "read", "write", "edit"] {
        assert!(has(Release::V2026_4_12, &config, &ToolContext::default(), tool), "{tool}");
        assert!(!has(Release::V2026_7_35, &config, &ToolContext::default(), tool), "{tool}");
        assert!(!has(Release::V2026_9_6, &config, &ToolContext::default(), tool), "{tool}");
    }
}

#[test]
fn an_allowance_lifts_what_sub_agents_are_denied_before_september() {
    let config = json!({ "tools": { "subagents": { "tools": { "alsoAllow": ["sessions_send"] } } } });
    assert!(has(Release::V2026_4_14, &config, &subagent(1), "sessions_send"));
    assert!(has(Release::V2026_7_35, &config, &subagent(1), "sessions_send"));
    assert!(!has(Release::V2026_9_6, &config, &subagent(1), "sessions_send"));
}

#[test]
fn sub_agents_may_start_others_where_the_depth_allows_it() {
    let none = json!({});
    assert!(!has(Release::V2026_7_35, &none, &subagent(1), "sessions_spawn"));
    assert!(has(Release::V2026_9_6, &none, &subagent(4), "sessions_spawn"));
    assert!(!has(Release::V2026_9_6, &none, &subagent(5), "sessions_spawn"));
    for wrong in [json!(0), json!(-3), json!(1.9)] {
        let config = json!({ "agents": { "defaults": { "subagents": { "maxSpawnDepth": wrong } } } });
        assert!(!has(Release::V2026_9_6, &config, &subagent(1), "sessions_spawn"), "{config}");
    }
    // A session's key says so, too.
    let context =
        ToolContext { session_key: Some("agent:main:subagent:1".to_owned()), ..ToolContext::default() };
    assert!(!has(Release::V2026_9_6, &none, &context, "gateway"));
}

/// OpenClaw reads `canvas` in a list as both tools, also in the list that a sub-agent inherits.
#[test]
fn an_inherited_name_stands_for_its_second_tool_too() {
    let release = Release::V2026_9_6;
    let parent = tools(release, &json!({ "tools": { "deny": ["group:openclaw"] } }), &ToolContext::default());
    assert!(
        parent.allowed.contains(&"canvas".to_owned()) && !parent.allowed.contains(&"show_widget".to_owned())
    );
    let inherited =
        Subagent { depth: 1, inherited_allow: parent.allowed.clone(), inherited_deny: Vec::new() };
    let child = ToolContext { subagent: Some(inherited), ..ToolContext::default() };
    let mut gained = tools(release, &json!({}), &child).allowed;
    gained.retain(|tool| !parent.allowed.contains(tool));
    assert_eq!(gained, ["show_widget"]);
}

#[test]
fn in_april_whoever_is_not_known_is_not_the_owner() {
    let owner =
        |is_owner| ToolContext { sender: Sender { is_owner, ..Sender::default() }, ..ToolContext::default() };
    for (release, unknown) in [(Release::V2026_4_14, false), (Release::V2026_9_6, true)] {
        assert_eq!(has(release, &json!({}), &owner(None), "gateway"), unknown, "{release}");
        assert!(has(release, &json!({}), &owner(Some(true)), "gateway"));
        assert!(!has(release, &json!({}), &owner(Some(false)), "gateway"));
    }
}

#[test]
fn over_http_what_is_dangerous_or_made_for_sessions_is_missing() {
    let http = |is_owner| ToolContext {
        surface: Surface::Http,
        sender: Sender { is_owner, ..Sender::default() },
        ..ToolContext::default()
    };
    // As a gateway of 2026.9.6 answers POST /tools/invoke.
    let missing = [
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
    ];
    let there = ["session_status", "sessions_list", "agents_list", "web_fetch", "message", "memory_search"];
    let answer = tools(Release::V2026_9_6, &json!({}), &http(None));
    assert!(missing.iter().all(|tool| answer.removal(tool).is_some()), "{:?}", answer.allowed);
    assert!(
        there.iter().all(|tool| answer.allowed.iter().any(|allowed| allowed == tool)),
        "{:?}",
        answer.allowed
    );

    let config = json!({ "gateway": { "tools": { "allow": ["cron", "sessions_send"], "deny": ["web_fetch", "group:web"] } } });
    let owner = http(Some(true));
    assert!(has(Release::V2026_9_6, &config, &owner, "automations"));
    assert!(has(Release::V2026_9_6, &config, &owner, "sessions_send"));
    assert!(!has(Release::V2026_9_6, &config, &http(None), "automations"));
    assert!(!has(Release::V2026_9_6, &config, &owner, "web_fetch"));
    // Groups do not count here.
    assert!(has(Release::V2026_9_6, &config, &owner, "web_search"));
}

#[test]
fn a_removal_names_its_entry() {
    let config = json!({ "agents": { "entries": { "main": { "tools": { "deny": ["GROUP:ui", "cron"], "allow": ["*"] } } } } });
    let answer = tools(Release::V2026_9_6, &config, &ToolContext::default());
    let by =
        |tool: &str| answer.removal(tool).map(|(step, removal)| (step.label.clone(), removal.by.clone()));
    let step = "agents.main.tools.allow".to_owned();
    assert_eq!(by("browser"), Some((step.clone(), RemovedBy::Deny("GROUP:ui".to_owned()))));
    assert_eq!(by("automations"), Some((step, RemovedBy::Deny("cron".to_owned()))));
    assert_eq!(by("read"), None);
}

#[test]
fn what_is_wrong_is_named() {
    let error = |config: Value| ToolSettings::from_config(&config).unwrap_err().to_string();
    assert_eq!(error(json!({ "tools": { "allow": "read" } })), "tools.allow: has to be a list of names");
    assert_eq!(
        error(
            json!({ "agents": { "list": [{ "id": "a", "tools": { "byProvider": { "x": { "deny": {} } } } }] } })
        ),
        "agents.list[0].tools.byProvider.x.deny: has to be a list of names"
    );
    assert_eq!(error(json!([])), "openclaw.json: has to be an object");
    assert_eq!(error(json!({ "tools": { "profile": 3 } })), "tools.profile: has to be a string");
    assert_eq!(
        error(json!({ "agents": { "defaults": { "sandbox": { "mode": "some" } } } })),
        "agents.defaults.sandbox.mode: has to be off, non-main or all"
    );
    let settings =
        ToolSettings::from_config(&json!({ "tools": { "profile": "codin", "allow": [5, "read"] } })).unwrap();
    assert_eq!(
        settings.notes(),
        [
            "tools.profile: unknown profile \"codin\", so no profile applies",
            "tools.allow[0]: 5 is no name, and is ignored"
        ]
    );
    let settings = ToolSettings::default();
    let context = ToolContext {
        agent: Some("work".to_owned()),
        session_key: Some("agent:main:main".to_owned()),
        ..ToolContext::default()
    };
    let inventory = Inventory::of_release(Release::default());
    let error = effective(&settings, &context, &inventory, &mut SeenWarnings::default()).unwrap_err();
    assert_eq!(error.to_string(), "sessionKey: the session belongs to agent main, not to work");
}
