//! Reads `agents`.

use jsonc_parser::ast::Value;

use super::syntax::{Reader, plain};
use crate::config::allowlist_entry::AllowlistEntry;
use crate::config::document::Agent;

pub(super) const AGENT_EXEC: [&str; 9] = [
    "mode",
    "security",
    "ask",
    "askFallback",
    "strictInlineEval",
    "autoAllowSkills",
    "safeBins",
    "safeBinTrustedDirs",
    "safeBinProfiles",
];
pub(super) const AGENT: [&str; 4] = ["exec", "allowlist", "permissions", "elevated"];
pub(super) const ENTRY: [&str; 10] = [
    "id",
    "pattern",
    "argPattern",
    "source",
    "commandText",
    "lastUsedAt",
    "lastUsedCommand",
    "lastResolvedPath",
    "match",
    "not_match",
];

impl Reader<'_> {
    pub(super) fn agent(&mut self, value: &Value<'_>, key: &str) -> Agent {
        let mut agent = Agent::default();
        for (name, key, property) in self.object(value, key, Some(&AGENT)) {
            let value = &property.value;
            match name.as_str() {
                "exec" => {
                    for (name, key, property) in self.object(value, &key, Some(&AGENT_EXEC)) {
                        let (value, exec) = (&property.value, &mut agent.exec);
                        if !self.mode(&name, value, &key, &mut exec.mode) {
                            self.safe_bins(&name, value, &key, &mut exec.safe_bins);
                        }
                    }
                }
                "allowlist" => agent.allowlist = self.allowlist(value, &key),
                "elevated" => agent.elevated = self.agent_elevated(value, &key),
                _ => agent.permissions = self.permissions(value, &key),
            }
        }
        agent
    }

    pub(super) fn allowlist(&mut self, value: &Value<'_>, key: &str) -> Vec<AllowlistEntry> {
        let Value::Array(array) = value else {
            self.wrong(value, key, "must be a list of { \"pattern\": … }");
            return Vec::new();
        };
        let mut entries = Vec::new();
        for (i, element) in array.elements.iter().enumerate() {
            let key = format!("{key}[{i}]");
            let before = self.problems.len();
            let mut pattern = None;
            let mut entry = AllowlistEntry::default();
            for (name, key, property) in self.object(element, &key, Some(&ENTRY)) {
                match name.as_str() {
                    "pattern" => pattern = self.string(&property.value, &key),
                    "argPattern" => entry.arg_pattern = self.string(&property.value, &key),
                    "match" => entry.matching = self.commands(&property.value, &key),
                    "not_match" => entry.not_matching = self.commands(&property.value, &key),
                    _ => {
                        entry.other.insert(name, plain(&property.value));
                    }
                }
            }
            match pattern {
                Some(pattern) => entries.push(AllowlistEntry { pattern, ..entry }),
                None if self.problems.len() == before => {
                    self.wrong(element, &key, "the entry has no \"pattern\"");
                }
                None => {}
            }
        }
        entries
    }
}
