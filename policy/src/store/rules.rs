//! File rules of the guard's own store, beside an agent's allowlist:
//! `"permissions": { "filesystem": { "rules": { "/path": "r" } } }`. OpenClaw's store has none.

use serde_json::{Map, Value};

use super::read::{Misshapen, OBJECT};
use super::{Added, Store, key, lists, object, place};
use crate::Bits;
use crate::approval::FileRule;

/// Where an agent's section has them.
const SECTION: [&str; 3] = ["permissions", "filesystem", "rules"];

impl Store {
    /// The file rules of an agent: those of `*`, then its own, each with its place. What is none is left out.
    pub fn rules(&self, agent: &str) -> Vec<(String, FileRule)> {
        let mut rules = Vec::new();
        for name in lists(agent) {
            for (pattern, bits) in self.agent(name).and_then(section).into_iter().flatten() {
                if let Some(bits) = bits.as_str().and_then(Bits::parse) {
                    let place = format!("{}.{}[\"{pattern}\"]", place(name), SECTION.join("."));
                    rules.push((place, FileRule { pattern: pattern.clone(), bits }));
                }
            }
        }
        rules
    }

    /// Adds a file rule to an agent's; bits that are there for the same pattern stay. `None`, and nothing is changed, where
    /// something else stands in its place.
    pub fn add_rule(&mut self, agent: &str, rule: &FileRule) -> Option<Added> {
        let agents = object(self.root.entry("agents"));
        let mut section = object(agents.entry(key(agent)));
        for name in SECTION {
            let next = section.entry(name).or_insert_with(|| Value::Object(Map::new()));
            section = next.as_object_mut()?;
        }
        let (bits, added) = match section.get(&rule.pattern) {
            None => (rule.bits, Added::New),
            Some(known) => {
                let known = known.as_str().and_then(Bits::parse)?;
                (known.union(rule.bits), if known.contains(rule.bits) { Added::Known } else { Added::Marked })
            }
        };
        section.insert(rule.pattern.clone(), bits.to_string().into());
        Some(added)
    }
}

/// The first section on the way to rules that is no object.
pub(super) fn shape(root: &Map<String, Value>) -> Result<(), Misshapen> {
    let agents = root.get("agents").and_then(Value::as_object);
    for (name, agent) in agents.into_iter().flatten() {
        let mut path = vec!["agents".to_owned(), name.clone()];
        let mut section = agent;
        for name in SECTION {
            let Some(next) = section.get(name) else { break };
            path.push(name.to_owned());
            if !next.is_object() {
                return Err((path, OBJECT));
            }
            section = next;
        }
    }
    Ok(())
}

impl Store {
    /// What the guard's own store says to no effect, a sentence each: somebody may count on it.
    pub(super) fn idle(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut modes = |section: &Map<String, Value>, place: &str| {
            for key in ["security", "ask", "askFallback", "autoAllowSkills"] {
                if section.contains_key(key) {
                    notes.push(format!("{place}.{key} does nothing here: it belongs in guard.json"));
                }
            }
        };
        if let Some(defaults) = self.section("defaults") {
            modes(defaults, "defaults");
        }
        let agents = self.section("agents").into_iter().flatten();
        let agents: Vec<_> =
            agents.filter_map(|(name, agent)| Some((format!("agents.{name}"), agent.as_object()?))).collect();
        for (place, agent) in &agents {
            modes(agent, place);
        }
        for (mut place, agent) in agents {
            let mut section = agent;
            for name in SECTION {
                place = format!("{place}.{name}");
                let Some(next) = section.get(name).and_then(Value::as_object) else { break };
                section = next;
                let only = SECTION.iter().skip_while(|own| **own != name).nth(1);
                for key in section.keys().filter(|key| only.is_some_and(|only| key != only)) {
                    notes.push(format!("{place}.{key} does nothing here: it belongs in guard.json"));
                }
                if only.is_none() {
                    let wrong =
                        section.iter().filter(|(_, bits)| bits.as_str().and_then(Bits::parse).is_none());
                    notes.extend(wrong.map(|(pattern, bits)| {
                        format!(
                            "{place}[\"{pattern}\"]: {bits} is none of r, w, x, rw, … and counts for nothing"
                        )
                    }));
                }
            }
        }
        notes
    }
}

fn section(agent: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let mut section = agent;
    for name in SECTION {
        section = section.get(name)?.as_object()?;
    }
    Some(section)
}
