//! Tests that the reader and the schema accept the same keys.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    TOP, agents, approvals, audit, elevated, exec, forwarding, gateway, limits, network, node, permissions,
    tools,
};

/// The keys that the reader accepts, by the schema's name of their section.
fn lists() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("guard.json", &TOP[..]),
        ("ExecSection", &exec::EXEC),
        ("Skills", &exec::SKILLS),
        ("SkillBin", &exec::SKILL_BIN),
        ("Profile", &exec::PROFILE),
        ("Approvals", &approvals::APPROVALS),
        ("GatewayRoute", &gateway::GATEWAY),
        ("Forwarding", &forwarding::FORWARDING),
        ("TurnSource", &forwarding::TARGET),
        ("Network", &network::NETWORK),
        ("Connect", &network::CONNECT),
        ("Web", &network::WEB),
        ("Agent", &agents::AGENT),
        ("AgentExec", &agents::AGENT_EXEC),
        ("Audit", &audit::AUDIT),
        ("Node", &node::NODE),
        ("LimitsSection", &limits::LIMITS),
        ("Tools", &tools::TOOLS),
        ("ReadTool", &tools::READ_TOOL),
        ("ElevatedSection", &elevated::ELEVATED),
        ("AgentElevated", &elevated::AGENT_ELEVATED),
        ("AllowlistEntry", &agents::ENTRY),
        ("Permissions", &permissions::PERMISSIONS),
        ("Filesystem", &permissions::FILESYSTEM),
    ])
}

#[test]
fn every_closed_section_has_the_readers_keys() {
    let schema = crate::schema();
    let sections =
        schema["$defs"].as_object().unwrap().iter().map(|(name, section)| (name.as_str(), section));
    let mut unseen = lists();
    for (name, section) in sections.chain([("guard.json", &schema)]) {
        if section["additionalProperties"] != Value::Bool(false) {
            continue;
        }
        let properties: BTreeSet<&str> =
            section["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let keys = unseen.remove(name).unwrap_or_else(|| panic!("no list of the reader for {name}"));
        assert_eq!(properties, keys.iter().copied().collect(), "{name}");
    }
    assert!(unseen.is_empty(), "not in the schema: {unseen:?}");
}

#[test]
fn every_key_is_described() {
    fn walk(path: &str, value: &Value) {
        for (name, property) in value["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{path}.{name}");
        }
    }
    let schema = crate::schema();
    walk("guard.json", &schema);
    for (name, section) in schema["$defs"].as_object().unwrap() {
        walk(name, section);
    }
}
