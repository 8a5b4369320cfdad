//! Reads `permissions`, at the top level and in an agent.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

use super::syntax::Reader;
use crate::Permission;
use crate::config::document::{Filesystem, Permissions};
use crate::config::persistence::{Persistence, Protection};
use crate::paths::expansion;
use crate::paths::persistence::Set;

pub(super) const PERMISSIONS: [&str; 3] = ["filesystem", "base", "persistence"];
pub(super) const FILESYSTEM: [&str; 5] = ["rules", "deny", "quiet", "default", "maxReadBytes"];

impl Reader<'_> {
    pub(super) fn permissions(&mut self, value: &Value<'_>, key: &str) -> Permissions {
        let mut permissions = Permissions::default();
        for (name, key, property) in self.object(value, key, Some(&PERMISSIONS)) {
            match name.as_str() {
                "filesystem" => permissions.filesystem = self.filesystem(&property.value, &key),
                "base" => permissions.base = self.boolean(&property.value, &key),
                _ => permissions.persistence = self.persistence(&property.value, &key),
            }
        }
        permissions
    }

    fn persistence(&mut self, value: &Value<'_>, key: &str) -> Option<Persistence> {
        match value {
            Value::Object(_) => {}
            _ => {
                let what = "must be true, false, \"ask\" or \"deny\", or an object { \"shell\": false, … }";
                return self.protection(value, key, what).map(Persistence::All);
            }
        }
        let mut sets = BTreeMap::new();
        for (name, key, property) in self.object(value, key, Some(&Set::NAMES)) {
            let one = self.protection(&property.value, &key, "must be true, false, \"ask\" or \"deny\"");
            sets.extend(Set::from_name(&name).zip(one));
        }
        Some(Persistence::Each(sets))
    }

    fn protection(&mut self, value: &Value<'_>, key: &str, what: &str) -> Option<Protection> {
        let found = match value {
            Value::BooleanLit(on) => Some(Protection::from_bool(on.value)),
            Value::StringLit(word) => Protection::from_word(&word.value),
            _ => None,
        };
        if found.is_none() {
            self.wrong(value, key, what);
        }
        found
    }

    pub(super) fn filesystem(&mut self, value: &Value<'_>, key: &str) -> Filesystem {
        let mut filesystem = Filesystem::default();
        for (name, key, property) in self.object(value, key, Some(&FILESYSTEM)) {
            let value = &property.value;
            match name.as_str() {
                "rules" => filesystem.rules = self.rules(value, &key),
                "deny" => {
                    filesystem.deny = self.strings(value, &key, expansion::problem).unwrap_or_default();
                }
                "quiet" => {
                    filesystem.quiet = self.strings(value, &key, expansion::problem).unwrap_or_default();
                }
                "default" => filesystem.default = self.permission(value, &key),
                _ => filesystem.max_read_bytes = self.byte_count(value, &key),
            }
        }
        filesystem
    }

    pub(super) fn rules(&mut self, value: &Value<'_>, key: &str) -> BTreeMap<String, Permission> {
        let mut rules = BTreeMap::new();
        for (pattern, _, property) in self.object(value, key, None) {
            let key = format!("{key}[\"{pattern}\"]");
            if let Some(message) = expansion::rule_problem(&pattern) {
                self.at(property.start(), &key, message, None);
            }
            if let Some(permission) = self.permission(&property.value, &key) {
                rules.insert(pattern, permission);
            }
        }
        rules
    }
}
