//! Reads `guard.json` from its syntax tree, so that every problem has a line and a column.

use std::collections::{BTreeMap, BTreeSet};

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Map;

use crate::document::{
    Agent, AllowlistEntry, Audit, Document, ExecSection, Filesystem, Mode, Network, Permissions,
};
use crate::problem::nearest;
use crate::safe_bins::Profile;
use crate::{Ask, Permission, Problem, Security, pattern};

const TOP: [&str; 7] = ["version", "exec", "permissions", "agents", "approvals", "network", "audit"];
const EXEC: [&str; 12] = [
    "security",
    "ask",
    "askFallback",
    "timeoutMs",
    "strictInlineEval",
    "safeBins",
    "safeBinTrustedDirs",
    "safeBinProfiles",
    "skills",
    "carriers",
    "roots",
    "allowPtrace",
];
const PROFILE: [&str; 5] =
    ["minPositional", "maxPositional", "allowedValueFlags", "allowedBooleanFlags", "deniedFlags"];
const AGENT_EXEC: [&str; 3] = ["security", "ask", "askFallback"];
const AGENT: [&str; 3] = ["exec", "allowlist", "permissions"];
const PERMISSIONS: [&str; 2] = ["filesystem", "base"];
const FILESYSTEM: [&str; 3] = ["rules", "deny", "default"];
const ENTRY: [&str; 8] = [
    "id",
    "pattern",
    "argPattern",
    "source",
    "commandText",
    "lastUsedAt",
    "lastUsedCommand",
    "lastResolvedPath",
];

/// Reads the text.
pub(crate) fn document(file: &str, text: &str) -> Result<Document, Vec<Problem>> {
    let strict = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let mut reader = Reader { file, text, problems: Vec::new() };
    let tree = match parse_to_ast(text, &CollectOptions::default(), &strict) {
        Ok(tree) => tree.value,
        Err(error) => {
            reader.at(error.range().start, "", error.kind().to_string(), None);
            return Err(reader.problems);
        }
    };
    let mut document = Document::default();
    match &tree {
        Some(value) => reader.top(value, &mut document),
        None => reader.at(0, "", "the file is empty; it needs at least {\"version\": 1}".into(), None),
    }
    if reader.problems.is_empty() { Ok(document) } else { Err(reader.problems) }
}

struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn at(&mut self, offset: usize, key: &str, message: String, nearest: Option<String>) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        self.problems.push(Problem {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            key: key.to_owned(),
            message,
            nearest,
        });
    }

    fn wrong(&mut self, value: &Value<'_>, key: &str, message: impl Into<String>) {
        self.at(value.start(), key, message.into(), None);
    }

    /// The properties of an object: known keys, each once.
    fn object<'v, 'a>(
        &mut self,
        value: &'v Value<'a>,
        key: &str,
        known: Option<&[&str]>,
    ) -> Vec<(String, String, &'v ObjectProp<'a>)> {
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

    fn string(&mut self, value: &Value<'_>, key: &str) -> Option<String> {
        match value {
            Value::StringLit(s) => Some(s.value.to_string()),
            _ => {
                self.wrong(value, key, "must be a string");
                None
            }
        }
    }

    fn boolean(&mut self, value: &Value<'_>, key: &str) -> Option<bool> {
        match value {
            Value::BooleanLit(b) => Some(b.value),
            _ => {
                self.wrong(value, key, "must be true or false");
                None
            }
        }
    }

    fn strings(&mut self, value: &Value<'_>, key: &str, check: Check) -> Option<Vec<String>> {
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

    fn word<T>(
        &mut self,
        value: &Value<'_>,
        key: &str,
        names: &[&str],
        from_name: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.string(value, key)?;
        let word = from_name(&text);
        if word.is_none() {
            let message = format!("\"{text}\" is none of {}", names.join(", "));
            self.at(value.start(), key, message, nearest(&text, names));
        }
        word
    }

    fn permission(&mut self, value: &Value<'_>, key: &str) -> Option<Permission> {
        let text = self.string(value, key)?;
        let permission = Permission::parse(&text);
        if permission.is_none() {
            let message = format!(
                "\"{text}\" is no permission: three characters, r or - or ?, then w or - or ?, then x or - or ?"
            );
            self.wrong(value, key, message);
        }
        permission
    }

    fn top(&mut self, value: &Value<'_>, document: &mut Document) {
        let before = self.problems.len();
        let mut version = false;
        for (name, key, property) in self.object(value, "", Some(&TOP)) {
            let value = &property.value;
            match name.as_str() {
                "version" => {
                    version = true;
                    document.version = 1;
                    if !matches!(value, Value::NumberLit(n) if n.value == "1") {
                        self.wrong(value, &key, "must be 1: this guard reads no other version");
                    }
                }
                "exec" => document.exec = self.exec(value, &key),
                "permissions" => document.permissions = self.permissions(value, &key),
                "agents" => {
                    for (name, key, property) in self.object(value, &key, None) {
                        let agent = self.agent(&property.value, &key);
                        document.agents.insert(name, agent);
                    }
                }
                "approvals" => document.approvals = self.free(value, &key),
                "network" => {
                    let (mut network, mut other) = (Network::default(), self.free(value, &key));
                    network.unix_datagram =
                        self.free_key(value, "unixDatagram", &key, &mut other, Self::boolean);
                    document.network = Network { other, ..network };
                }
                _ => {
                    let (mut audit, mut other) = (Audit::default(), self.free(value, &key));
                    audit.path = self.free_key(value, "path", &key, &mut other, Self::string);
                    document.audit = Audit { other, ..audit };
                }
            }
        }
        if !version && self.problems.len() == before {
            self.wrong(value, "version", "is missing: write \"version\": 1");
        }
    }

    /// A section whose keys are not fixed yet.
    fn free(&mut self, value: &Value<'_>, key: &str) -> Map<String, serde_json::Value> {
        let properties = self.object(value, key, None);
        properties.into_iter().map(|(name, _, p)| (name, plain(&p.value))).collect()
    }

    /// A typed key of such a section.
    fn free_key<T>(
        &mut self,
        value: &Value<'_>,
        name: &str,
        key: &str,
        other: &mut Map<String, serde_json::Value>,
        read: fn(&mut Self, &Value<'_>, &str) -> Option<T>,
    ) -> Option<T> {
        other.remove(name)?;
        let property = value.as_object()?.get(name)?;
        read(self, &property.value, &join(key, name))
    }

    fn mode(&mut self, name: &str, value: &Value<'_>, key: &str, mode: &mut Mode) -> bool {
        match name {
            "security" => mode.security = self.word(value, key, &Security::NAMES, Security::from_name),
            "ask" => mode.ask = self.word(value, key, &Ask::NAMES, Ask::from_name),
            "askFallback" => mode.ask_fallback = self.word(value, key, &Security::NAMES, Security::from_name),
            _ => return false,
        }
        true
    }

    fn exec(&mut self, value: &Value<'_>, key: &str) -> ExecSection {
        let mut exec = ExecSection::default();
        for (name, key, property) in self.object(value, key, Some(&EXEC)) {
            let value = &property.value;
            if self.mode(&name, value, &key, &mut exec.mode) {
                continue;
            }
            match name.as_str() {
                "timeoutMs" => match value {
                    Value::NumberLit(n) if n.value.parse::<u64>().is_ok_and(|ms| ms > 0) => {
                        exec.timeout_ms = n.value.parse().ok();
                    }
                    _ => self.wrong(value, &key, "must be a whole number of milliseconds above 0"),
                },
                "carriers" => exec.carriers = self.strings(value, &key, carrier_problem),
                "safeBins" => exec.safe_bins = self.strings(value, &key, safe_bin_problem),
                "safeBinTrustedDirs" => {
                    exec.safe_bin_trusted_dirs = self.strings(value, &key, root_problem);
                }
                "safeBinProfiles" => exec.safe_bin_profiles = self.profiles(value, &key),
                "roots" => exec.roots = self.strings(value, &key, root_problem),
                "allowPtrace" => exec.allow_ptrace = self.boolean(value, &key),
                _ => {
                    exec.other.insert(name, plain(value));
                }
            }
        }
        exec
    }

    fn profiles(&mut self, value: &Value<'_>, key: &str) -> BTreeMap<String, Profile> {
        let mut profiles = BTreeMap::new();
        for (name, key, property) in self.object(value, key, None) {
            if let Some(message) = safe_bin_problem(&name) {
                self.at(property.start(), &key, message, None);
            }
            let mut profile = Profile::default();
            for (name, key, property) in self.object(&property.value, &key, Some(&PROFILE)) {
                let value = &property.value;
                let flags = |reader: &mut Self| {
                    reader.strings(value, &key, flag_problem).unwrap_or_default().into_iter().collect()
                };
                match name.as_str() {
                    "minPositional" => profile.min_positional = self.count(value, &key).unwrap_or(0),
                    "maxPositional" => profile.max_positional = self.count(value, &key),
                    "allowedValueFlags" => profile.value_flags = flags(self),
                    "allowedBooleanFlags" => profile.boolean_flags = flags(self),
                    _ => profile.denied_flags = flags(self),
                }
            }
            profiles.insert(name, profile);
        }
        profiles
    }

    fn count(&mut self, value: &Value<'_>, key: &str) -> Option<usize> {
        let count = match value {
            Value::NumberLit(number) => number.value.parse().ok(),
            _ => None,
        };
        if count.is_none() {
            self.wrong(value, key, "must be a whole number, 0 or more");
        }
        count
    }

    fn permissions(&mut self, value: &Value<'_>, key: &str) -> Permissions {
        let mut permissions = Permissions::default();
        for (name, key, property) in self.object(value, key, Some(&PERMISSIONS)) {
            match name.as_str() {
                "filesystem" => permissions.filesystem = self.filesystem(&property.value, &key),
                _ => permissions.base = self.boolean(&property.value, &key),
            }
        }
        permissions
    }

    fn filesystem(&mut self, value: &Value<'_>, key: &str) -> Filesystem {
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

    fn rules(&mut self, value: &Value<'_>, key: &str) -> BTreeMap<String, Permission> {
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

    fn agent(&mut self, value: &Value<'_>, key: &str) -> Agent {
        let mut agent = Agent::default();
        for (name, key, property) in self.object(value, key, Some(&AGENT)) {
            let value = &property.value;
            match name.as_str() {
                "exec" => {
                    for (name, key, property) in self.object(value, &key, Some(&AGENT_EXEC)) {
                        self.mode(&name, &property.value, &key, &mut agent.exec);
                    }
                }
                "allowlist" => agent.allowlist = self.allowlist(value, &key),
                _ => agent.permissions = self.permissions(value, &key),
            }
        }
        agent
    }

    fn allowlist(&mut self, value: &Value<'_>, key: &str) -> Vec<AllowlistEntry> {
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

type Check = fn(&str) -> Option<String>;

fn carrier_problem(name: &str) -> Option<String> {
    (name.is_empty() || name.contains('/'))
        .then(|| "a carrier is a program's name, without a path".to_owned())
}

fn safe_bin_problem(name: &str) -> Option<String> {
    (name.trim().is_empty() || name.contains('/'))
        .then(|| "a safe bin is a program's name, without a path".to_owned())
}

fn flag_problem(flag: &str) -> Option<String> {
    let is_flag = match flag.strip_prefix("--") {
        Some(long) => !long.is_empty() && !long.contains('='),
        None => flag.starts_with('-') && flag.len() == 2,
    };
    (!is_flag).then(|| "a flag is --name or -x".to_owned())
}

fn root_problem(dir: &str) -> Option<String> {
    if dir.contains(['*', '?']) || !dir.starts_with(['/', '~']) {
        return Some("a root is a directory that starts with / or ~/, without wildcards".to_owned());
    }
    pattern::problem(dir)
}

fn join(key: &str, name: &str) -> String {
    let plain =
        name == "*" || !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    match (key, plain) {
        ("", true) => name.to_owned(),
        (_, true) if name != "*" => format!("{key}.{name}"),
        _ => format!("{key}[\"{name}\"]"),
    }
}

/// A value as plain JSON.
fn plain(value: &Value<'_>) -> serde_json::Value {
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
