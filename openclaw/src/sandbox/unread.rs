//! The keys of openclaw.json that cannot be judged, because only OpenClaw itself reads them, or because nothing
//! reads them.

use serde_json::Value;

use super::agents;
use super::section::{SettingError, SettingSection};

/// The keys of a sandbox section (OpenClaw 2026.9.6, src/config/zod-schema.agent-runtime.ts).
const SANDBOX: [&str; 10] = [
    "mode",
    "backend",
    "workspaceAccess",
    "sessionToolsVisibility",
    "scope",
    "workspaceRoot",
    "docker",
    "ssh",
    "browser",
    "prune",
];
/// The keys of `docker` in a sandbox section.
const DOCKER: [&str; 24] = [
    "image",
    "containerPrefix",
    "workdir",
    "readOnlyRoot",
    "tmpfs",
    "network",
    "user",
    "capDrop",
    "env",
    "setupCommand",
    "pidsLimit",
    "memory",
    "memorySwap",
    "cpus",
    "gpus",
    "ulimits",
    "seccompProfile",
    "apparmorProfile",
    "dns",
    "extraHosts",
    "binds",
    "dangerouslyAllowReservedContainerTargets",
    "dangerouslyAllowExternalBindSources",
    "dangerouslyAllowContainerNamespaceJoin",
];

/// Returns the first key, among those that sandboxes depend on, whose text holds a variable.
pub fn unresolved(config: &Value) -> Option<SettingError> {
    let parts = ["agents", "session"].map(|key| config.get(key).map(|value| (key, value)));
    parts.into_iter().flatten().find_map(|(key, value)| find(value, key))
}

fn find(value: &Value, path: &str) -> Option<SettingError> {
    match value {
        Value::Object(values) => values.iter().find_map(|(key, value)| find(value, &format!("{path}.{key}"))),
        Value::Array(values) => {
            let mut values = values.iter().enumerate();
            values.find_map(|(index, value)| find(value, &format!("{path}[{index}]")))
        }
        Value::String(text) if text.contains("${") && path.contains(".sandbox.") => Some(SettingError {
            key: path.to_owned(),
            problem: "it holds a variable, which only OpenClaw resolves; write the value".to_owned(),
        }),
        _ => None,
    }
}

/// Returns the keys of an agent's sandbox settings, and of the default settings, that OpenClaw does not know.
/// OpenClaw's loader refuses a file with such keys.
///
/// # Errors
/// A section that is no object.
pub fn unknown_keys(config: &Value, agent: &str) -> Result<Vec<String>, SettingError> {
    let mut unknown = Vec::new();
    let defaults = SettingSection::new(
        "agents.defaults.sandbox".to_owned(),
        config.pointer("/agents/defaults/sandbox"),
    )?;
    let own = agents::section(config, agent)?;
    for section in [Ok(defaults), own.below("sandbox")] {
        let section = section?;
        unknown.extend(section.unknown(&SANDBOX));
        unknown.extend(section.below("docker")?.unknown(&DOCKER));
    }
    Ok(unknown)
}

/// Returns the agents that openclaw.json lists; `main` where it lists none.
///
/// # Errors
/// What is wrong with the list.
pub fn agent_ids(config: &Value) -> Result<Vec<String>, SettingError> {
    let agents = agents::listed(config)?.unwrap_or_default();
    let mut ids: Vec<_> = agents.into_iter().map(|agent| agent.id).collect();
    if ids.is_empty() {
        ids.push("main".to_owned());
    }
    Ok(ids)
}
