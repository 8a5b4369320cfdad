//! File rules in the guard's own store, next to an agent's allowlist:
//! `"permissions": { "filesystem": { "rules": { "/path": "r" } } }`. OpenClaw's store has none.

use serde_json::{Map, Value};

use super::shape::{Misshapen, OBJECT};
use super::{Added, Store, key, lists, object, section_path};
use crate::Bits;
use crate::paths::saved_rules::FileRule;

/// The keys that lead to the rules in an agent's section.
pub(super) const SECTION: [&str; 3] = ["permissions", "filesystem", "rules"];

impl Store {
    /// The file rules of an agent: those of `*`, then its own, each with its key. Invalid rules are skipped.
    pub fn rules(&self, agent: &str) -> Vec<(String, FileRule)> {
        let mut rules = Vec::new();
        for name in lists(agent) {
            for (pattern, bits) in self.agent(name).and_then(section).into_iter().flatten() {
                if let Some(bits) = self::bits(bits) {
                    let key_path = format!("{}.{}[\"{pattern}\"]", section_path(name), SECTION.join("."));
                    rules.push((key_path, FileRule { pattern: pattern.clone(), bits }));
                }
            }
        }
        rules
    }

    /// Adds a file rule to an agent. An existing rule with the same pattern keeps its bits. `None` if another kind of
    /// value is in the way; no rule is added then.
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
                let known = bits(known)?;
                (known.union(rule.bits), if known.contains(rule.bits) { Added::Known } else { Added::Marked })
            }
        };
        section.insert(rule.pattern.clone(), bits.to_string().into());
        Some(added)
    }
}

/// Checks that every section on the way to the rules is an object.
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

/// Keys that have a meaning in OpenClaw's store but not here.
const MODES: [&str; 4] = ["security", "ask", "askFallback", "autoAllowSkills"];

impl Store {
    /// Notes on settings that have no effect in the guard's own store, a sentence each: somebody may rely on them.
    pub(super) fn idle(&self) -> Vec<String> {
        let elsewhere = |section_path: &str, key: &str| {
            format!("{section_path}.{key} has no effect here: it belongs in guard.json")
        };
        let modes = |section_path: &str, section: &Map<String, Value>| -> Vec<String> {
            let present = MODES.iter().filter(|key| section.contains_key(**key));
            present.map(|key| elsewhere(section_path, key)).collect()
        };
        let mut notes = self.section("defaults").map_or_else(Vec::new, |section| modes("defaults", section));
        for (name, agent) in self.section("agents").into_iter().flatten() {
            let Some(mut section) = agent.as_object() else { continue };
            let mut section_path = format!("agents.{name}");
            notes.extend(modes(&section_path, section));
            for (i, name) in SECTION.iter().enumerate() {
                let Some(next) = section.get(*name).and_then(Value::as_object) else { break };
                (section, section_path) = (next, format!("{section_path}.{name}"));
                match SECTION.get(i + 1) {
                    Some(only) => {
                        let others = section.keys().filter(|key| key != only);
                        notes.extend(others.map(|key| elsewhere(&section_path, key)));
                    }
                    None => notes.extend(section.iter().filter(|(_, bits)| self::bits(bits).is_none()).map(
                        |(pattern, bits)| {
                            format!("{section_path}[\"{pattern}\"]: {bits} is ignored: it is not one of r, w, x, rw, …")
                        },
                    )),
                }
            }
        }
        notes
    }
}

pub(super) fn bits(value: &Value) -> Option<Bits> {
    Bits::parse(value.as_str()?)
}

pub(super) fn section(agent: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let mut section = agent;
    for name in SECTION {
        section = section.get(name)?.as_object()?;
    }
    Some(section)
}
