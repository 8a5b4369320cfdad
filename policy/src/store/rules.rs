//! File rules in the guard's own store, next to an agent's allowlist:
//! `"permissions": { "filesystem": { "rules": { "/path": "r" } } }`. OpenClaw's store has none.

use serde_json::{Map, Value};

use super::{Added, Store, lists, section_of, section_path};
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
        let section = self.make_section(agent, &SECTION)?;
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

pub(super) fn bits(value: &Value) -> Option<Bits> {
    Bits::parse(value.as_str()?)
}

pub(super) fn section(agent: &Map<String, Value>) -> Option<&Map<String, Value>> {
    section_of(agent, &SECTION)
}
