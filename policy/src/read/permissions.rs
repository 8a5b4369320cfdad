//! `permissions`, at the top and in an agent.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

use super::reader::Reader;
use crate::document::{Filesystem, Permissions};
use crate::{Permission, pattern};

pub(super) const PERMISSIONS: [&str; 2] = ["filesystem", "base"];
pub(super) const FILESYSTEM: [&str; 3] = ["rules", "deny", "default"];

impl Reader<'_> {
    pub(super) fn permissions(&mut self, value: &Value<'_>, key: &str) -> Permissions {
        let mut permissions = Permissions::default();
        for (name, key, property) in self.object(value, key, Some(&PERMISSIONS)) {
            match name.as_str() {
                "filesystem" => permissions.filesystem = self.filesystem(&property.value, &key),
                _ => permissions.base = self.boolean(&property.value, &key),
            }
        }
        permissions
    }

    pub(super) fn filesystem(&mut self, value: &Value<'_>, key: &str) -> Filesystem {
        let mut filesystem = Filesystem::default();
        for (name, key, property) in self.object(value, key, Some(&FILESYSTEM)) {
            let value = &property.value;
            match name.as_str() {
                "rules" => filesystem.rules = self.rules(value, &key),
                "deny" => {
                    filesystem.deny = self.strings(value, &key, pattern::problem).unwrap_or_default();
                }
                _ => filesystem.default = self.permission(value, &key),
            }
        }
        filesystem
    }

    pub(super) fn rules(&mut self, value: &Value<'_>, key: &str) -> BTreeMap<String, Permission> {
        let mut rules = BTreeMap::new();
        for (pattern, _, property) in self.object(value, key, None) {
            let key = format!("{key}[\"{pattern}\"]");
            if let Some(message) = pattern::problem(&pattern) {
                self.at(property.start(), &key, message, None);
            }
            if let Some(permission) = self.permission(&property.value, &key) {
                rules.insert(pattern, permission);
            }
        }
        rules
    }
}
