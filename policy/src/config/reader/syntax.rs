//! Walks a syntax tree and collects its errors with their positions.

use std::collections::BTreeSet;

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use serde_json::Map;

use crate::config::problem::{line_column, nearest};
use crate::{Permission, Problem};

/// Checks a string; returns what is wrong with it, if anything.
pub(super) type Check = fn(&str) -> Option<String>;

/// A property: its name, its full key, and its syntax node.
pub(super) type Property<'v, 'a> = (String, String, &'v ObjectProp<'a>);

pub(super) struct Reader<'t> {
    pub(super) file: &'t str,
    pub(super) text: &'t str,
    pub(super) problems: Vec<Problem>,
}

impl Reader<'_> {
    pub(super) fn at(&mut self, offset: usize, key: &str, message: String, nearest: Option<String>) {
        let (line, column) = line_column(self.text, offset);
        self.problems.push(Problem {
            file: self.file.to_owned(),
            line,
            column,
            key: key.to_owned(),
            message,
            nearest,
        });
    }

    pub(super) fn wrong(&mut self, value: &Value<'_>, key: &str, message: impl Into<String>) {
        self.at(value.start(), key, message.into(), None);
    }

    /// The properties of an object. Reports unknown and duplicate keys.
    pub(super) fn object<'v, 'a>(
        &mut self,
        value: &'v Value<'a>,
        key: &str,
        known: Option<&[&str]>,
    ) -> Vec<Property<'v, 'a>> {
        let Value::Object(object) = value else {
            self.wrong(value, key, "must be an object { … }");
            return Vec::new();
        };
        let mut seen = BTreeSet::new();
        let mut properties = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str().to_owned();
            let path = join(key, &name);
            if known.is_some_and(|known| !known.contains(&name.as_str())) {
                let near = nearest(&name, known.unwrap_or(&[]));
                let message = match (name.as_str(), key) {
                    ("allowlist", "" | "exec") => {
                        "unknown key: an allowlist belongs to an agent, agents.\"*\""
                    }
                    ("allow" | "deny", "tools.read") | ("write", "tools") => {
                        "unknown key: which paths are read and written is in permissions.filesystem, for programs and tools alike"
                    }
                    ("workspaceOnly", "permissions") | ("fs", "tools") => {
                        "unknown key: name ${workspace} in permissions.filesystem.rules, and nothing else with r or w"
                    }
                    _ => "unknown key",
                };
                self.at(property.start(), &path, message.to_owned(), near);
            } else if !seen.insert(name.clone()) {
                self.at(property.start(), &path, "the key occurs twice".to_owned(), None);
            } else {
                properties.push((name, path, property));
            }
        }
        properties
    }

    pub(super) fn string(&mut self, value: &Value<'_>, key: &str) -> Option<String> {
        match value {
            Value::StringLit(s) => Some(s.value.to_string()),
            _ => {
                self.wrong(value, key, "must be a string");
                None
            }
        }
    }

    pub(super) fn boolean(&mut self, value: &Value<'_>, key: &str) -> Option<bool> {
        match value {
            Value::BooleanLit(b) => Some(b.value),
            _ => {
                self.wrong(value, key, "must be true or false");
                None
            }
        }
    }

    pub(super) fn strings(&mut self, value: &Value<'_>, key: &str, check: Check) -> Option<Vec<String>> {
        let Value::Array(array) = value else {
            self.wrong(value, key, "must be a list of strings");
            return None;
        };
        let mut list = Vec::new();
        for (i, element) in array.elements.iter().enumerate() {
            let key = format!("{key}[{i}]");
            let Some(text) = self.string(element, &key) else { continue };
            if let Some(message) = check(&text) {
                self.wrong(element, &key, format!("{text:?}: {message}"));
            }
            list.push(text);
        }
        Some(list)
    }

    pub(super) fn word<T>(
        &mut self,
        value: &Value<'_>,
        key: &str,
        names: &[&str],
        from_name: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.string(value, key)?;
        let word = from_name(&text);
        if word.is_none() {
            let message = format!("\"{text}\" is not one of {}", names.join(", "));
            self.at(value.start(), key, message, nearest(&text, names));
        }
        word
    }

    pub(super) fn permission(&mut self, value: &Value<'_>, key: &str) -> Option<Permission> {
        let text = self.string(value, key)?;
        let permission = Permission::parse(&text);
        if permission.is_none() {
            let message = format!(
                "\"{text}\" is not a permission. Write three characters: r, then w, then x; instead of each, - denies and ? asks"
            );
            self.wrong(value, key, message);
        }
        permission
    }

    pub(super) fn count(&mut self, value: &Value<'_>, key: &str) -> Option<usize> {
        let count = match value {
            Value::NumberLit(number) => number.value.parse().ok(),
            _ => None,
        };
        if count.is_none() {
            self.wrong(value, key, "must be a whole number, 0 or more");
        }
        count
    }

    pub(super) fn byte_count(&mut self, value: &Value<'_>, key: &str) -> Option<u64> {
        let bytes = match value {
            Value::NumberLit(number) => number.value.parse().ok().filter(|bytes| *bytes > 0),
            _ => None,
        };
        if bytes.is_none() {
            self.wrong(value, key, "must be a number of bytes, a whole number from 1");
        }
        bytes
    }
}

pub(crate) fn join(key: &str, name: &str) -> String {
    let plain =
        name == "*" || !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    match (key, plain) {
        ("", true) => name.to_owned(),
        (_, true) if name != "*" => format!("{key}.{name}"),
        _ => format!("{key}[\"{name}\"]"),
    }
}

/// Converts a syntax node to a JSON value.
pub(crate) fn plain(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::StringLit(s) => s.value.to_string().into(),
        Value::NumberLit(n) => serde_json::from_str(n.value).unwrap_or_else(|_| n.value.into()),
        Value::BooleanLit(b) => b.value.into(),
        Value::NullKeyword(_) => serde_json::Value::Null,
        Value::Array(array) => array.elements.iter().map(plain).collect(),
        Value::Object(object) => {
            let properties = object.properties.iter();
            properties.map(|p| (p.name.as_str().to_owned(), plain(&p.value))).collect::<Map<_, _>>().into()
        }
    }
}
