//! Reads a project's own file: the keys of guard.json that take away, and those that can grant if the operator trusts the
//! file.

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

use super::syntax::{Reader, join};

/// The keys of a project file, by the key of their section.
pub(super) const SECTIONS: [(&str, &[&str]); 8] = [
    ("", &["$schema", "version", "exec", "permissions", "agents", "network"]),
    ("exec", &["mode", "security", "ask", "askFallback", "safeBins", "carriers"]),
    ("permissions", &["filesystem"]),
    ("permissions.filesystem", &["rules", "deny"]),
    ("network", &["connect"]),
    ("network.connect", &["deny", "ports", "private"]),
    ("agents.NAME", &["exec", "allowlist", "permissions"]),
    ("agents.NAME.exec", &["mode", "security", "ask", "askFallback"]),
];

impl Reader<'_> {
    /// Reports the keys of a document that a project file cannot have. `section` is the section's key in [`SECTIONS`].
    pub(super) fn project_keys(&mut self, value: &Value<'_>, section: &str, key: &str) {
        let Value::Object(object) = value else { return };
        let known = SECTIONS.iter().find(|(name, _)| *name == section).map(|(_, keys)| *keys);
        for property in &object.properties {
            let name = property.name.as_str();
            let path = join(key, name);
            let is_agent = section == "agents";
            if known.is_some_and(|known| !known.contains(&name)) {
                let known = known.unwrap_or_default().join(", ");
                let message = format!("a project file cannot have this key; it can have {known} here");
                self.at(property.start(), &path, message, None);
            } else if known.is_some() || is_agent {
                let inner = match (section, is_agent) {
                    (_, true) => "agents.NAME".to_owned(),
                    ("", _) => name.to_owned(),
                    // An agent's permissions have the keys of those at the top.
                    ("agents.NAME", _) if name == "permissions" => name.to_owned(),
                    (section, _) => format!("{section}.{name}"),
                };
                self.project_keys(&property.value, &inner, &path);
            }
        }
    }
}
