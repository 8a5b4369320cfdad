//! Reads `elevated` and `agents.A.elevated`.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::elevated::{AgentElevated, ElevatedLevel, ElevatedSection};

pub(super) const ELEVATED: [&str; 4] = ["enabled", "allowFrom", "default", "allowlist"];
pub(super) const AGENT_ELEVATED: [&str; 2] = ["enabled", "allowFrom"];

impl Reader<'_> {
    pub(super) fn elevated(&mut self, value: &Value<'_>, key: &str) -> ElevatedSection {
        let mut section = ElevatedSection::default();
        for (name, key, property) in self.object(value, key, Some(&ELEVATED)) {
            let value = &property.value;
            match name.as_str() {
                "enabled" => section.enabled = self.boolean(value, &key),
                "allowFrom" => section.allow_from = Some(self.senders(value, &key)),
                "allowlist" => section.allowlist = self.allowlist(value, &key),
                _ => {
                    section.default = self.word(value, &key, &ElevatedLevel::NAMES, ElevatedLevel::from_name);
                }
            }
        }
        section
    }

    pub(super) fn agent_elevated(&mut self, value: &Value<'_>, key: &str) -> AgentElevated {
        let mut section = AgentElevated::default();
        for (name, key, property) in self.object(value, key, Some(&AGENT_ELEVATED)) {
            let value = &property.value;
            match name.as_str() {
                "enabled" => section.enabled = self.boolean(value, &key),
                _ => section.allow_from = Some(self.senders(value, &key)),
            }
        }
        section
    }

    fn senders(&mut self, value: &Value<'_>, key: &str) -> BTreeMap<String, Vec<String>> {
        let mut lists = BTreeMap::new();
        for (channel, key, property) in self.object(value, key, None) {
            let list = self.strings(&property.value, &key, |entry| {
                entry.trim().is_empty().then(|| "must not be blank".to_owned())
            });
            lists.insert(channel, list.unwrap_or_default());
        }
        lists
    }
}
