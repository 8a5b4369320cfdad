//! File rules of the guard's own store, beside an agent's allowlist:
//! `"permissions": { "filesystem": { "rules": { "/path": "r" } } }`. OpenClaw's store has none.

use serde_json::{Map, Value};

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

fn section(agent: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let mut section = agent;
    for name in SECTION {
        section = section.get(name)?.as_object()?;
    }
    Some(section)
}
