//! Checks what only the guard's own store has: file rules and origins of agents.

use serde_json::{Map, Value};

use super::shape::{Misshapen, OBJECT};
use super::{Store, origins, rules};

/// The sections of an agent, each with the keys that lead to it.
const SECTIONS: [&[&str]; 2] = [&rules::SECTION, &origins::SECTION];

/// Checks that every section on the way to the rules and to the origins is an object.
pub(super) fn own_shape(root: &Map<String, Value>) -> Result<(), Misshapen> {
    let agents = root.get("agents").and_then(Value::as_object);
    for (name, agent) in agents.into_iter().flatten() {
        for keys in SECTIONS {
            let mut path = vec!["agents".to_owned(), name.clone()];
            let mut section = agent;
            for name in keys {
                let Some(next) = section.get(*name) else { break };
                path.push((*name).to_owned());
                if !next.is_object() {
                    return Err((path, OBJECT));
                }
                section = next;
            }
        }
    }
    Ok(())
}

/// Keys that have a meaning in OpenClaw's store but not here.
const MODES: [&str; 4] = ["security", "ask", "askFallback", "autoAllowSkills"];

impl Store {
    /// Notes on settings that have no effect in the guard's own store, a sentence each: somebody may rely on them.
    pub(super) fn idle(&self) -> Vec<String> {
        let modes = |section_path: &str, section: &Map<String, Value>| -> Vec<String> {
            let present = MODES.iter().filter(|key| section.contains_key(**key));
            present.map(|key| elsewhere(section_path, key)).collect()
        };
        let mut notes = self.section("defaults").map_or_else(Vec::new, |section| modes("defaults", section));
        for (name, agent) in self.section("agents").into_iter().flatten() {
            let Some(agent) = agent.as_object() else { continue };
            let agent_path = format!("agents.{name}");
            notes.extend(modes(&agent_path, agent));
            if let Some((path, rules)) = last(agent, &agent_path, &rules::SECTION, &mut notes) {
                let bad = rules.iter().filter(|(_, bits)| rules::bits(bits).is_none());
                notes.extend(bad.map(|(pattern, bits)| {
                    format!("{path}[\"{pattern}\"]: {bits} is ignored: it is not one of r, w, x, rw, …")
                }));
            }
            if let Some((path, web)) = last(agent, &agent_path, &origins::SECTION, &mut notes) {
                let others = web.keys().filter(|key| *key != origins::LIST);
                notes.extend(others.map(|key| elsewhere(&path, key)));
                let path = format!("{path}.{}", origins::LIST);
                match web.get(origins::LIST) {
                    None => {}
                    Some(Value::Array(list)) => {
                        let bad = list.iter().enumerate().filter(|(_, origin)| !origin.is_string());
                        notes.extend(bad.map(|(i, origin)| {
                            format!("{path}[{i}]: {origin} is ignored: it is not an origin")
                        }));
                    }
                    Some(other) => notes.push(format!("{path}: {other} is ignored: it is not a list")),
                }
            }
        }
        notes
    }
}

fn elsewhere(section_path: &str, key: &str) -> String {
    format!("{section_path}.{key} has no effect here: it belongs in guard.json")
}

/// Returns the section to which `keys` lead, with its path. `None` if it does not exist. Adds notes on other keys on the way.
fn last<'s>(
    agent: &'s Map<String, Value>,
    agent_path: &str,
    keys: &[&str],
    notes: &mut Vec<String>,
) -> Option<(String, &'s Map<String, Value>)> {
    let (mut section, mut path) = (agent, agent_path.to_owned());
    for (i, name) in keys.iter().enumerate() {
        section = section.get(*name)?.as_object()?;
        path = format!("{path}.{name}");
        if let Some(only) = keys.get(i + 1) {
            notes.extend(section.keys().filter(|key| key != only).map(|key| elsewhere(&path, key)));
        }
    }
    Some((path, section))
}
