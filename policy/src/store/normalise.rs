//! Normalises a store as OpenClaw does when it reads one (2026.4 to 2026.7).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{LEGACY_MAIN, MAIN};
use crate::paths::expansion::trim;
use crate::{Ask, Security};

type Object = Map<String, Value>;

/// Normalises a document of the right shape. Returns what it left out, a sentence each.
pub(super) fn normalise(root: &mut Object, id: &mut dyn FnMut() -> String) -> Vec<String> {
    let mut ignored = Vec::new();
    root.insert("version".to_owned(), 1.into());
    for section in ["defaults", "agents"] {
        if root.get(section).is_some_and(Value::is_null) {
            root.shift_remove(section);
        }
    }
    socket(root);
    if let Some(Value::Object(defaults)) = root.get_mut("defaults") {
        scalars(defaults, "defaults", &mut ignored);
    }
    if let Some(Value::Object(agents)) = root.get_mut("agents") {
        for (name, agent) in agents.iter_mut() {
            if let Value::Object(agent) = agent {
                let section_path = format!("agents.{name}");
                scalars(agent, &section_path, &mut ignored);
                allowlist(agent, &section_path, id, &mut ignored);
            }
        }
        fold_legacy_main(agents);
    }
    ignored
}

fn socket(root: &mut Object) {
    match root.get_mut("socket") {
        Some(Value::Object(socket)) => {
            for key in ["path", "token"] {
                let trimmed =
                    socket.get(key).map(|value| trim(value.as_str().unwrap_or_default()).to_owned());
                match trimmed {
                    Some(text) if text.is_empty() => drop(socket.shift_remove(key)),
                    Some(text) => drop(socket.insert(key.to_owned(), text.into())),
                    None => {}
                }
            }
        }
        Some(_) => drop(root.shift_remove("socket")),
        None => {}
    }
}

/// Removes invalid values of the modes: they count as absent.
fn scalars(section: &mut Object, section_path: &str, ignored: &mut Vec<String>) {
    let security: &[&str] = &Security::NAMES;
    for (key, names) in [("security", security), ("ask", &Ask::NAMES), ("askFallback", security)] {
        let is_one = |value: &Value| value.as_str().is_some_and(|name| names.contains(&name));
        keep_if(section, key, is_one, &names.join(", "), section_path, ignored);
    }
    keep_if(section, "autoAllowSkills", Value::is_boolean, "true, false", section_path, ignored);
}

fn keep_if(
    section: &mut Object,
    key: &str,
    is_valid: impl Fn(&Value) -> bool,
    names: &str,
    section_path: &str,
    ignored: &mut Vec<String>,
) {
    if let Some(value) = section.get(key).filter(|value| !is_valid(value)) {
        if !value.is_null() {
            ignored.push(format!("{section_path}.{key}: {value} is ignored: it is not one of {names}"));
        }
        section.shift_remove(key);
    }
}

fn allowlist(
    agent: &mut Object,
    section_path: &str,
    id: &mut dyn FnMut() -> String,
    ignored: &mut Vec<String>,
) {
    match agent.get_mut("allowlist") {
        Some(Value::Array(list)) => {
            let items = std::mem::take(list).into_iter().enumerate();
            list.extend(items.filter_map(|(i, item)| {
                let entry = entry(item, id);
                if entry.is_none() {
                    ignored.push(format!("{section_path}.allowlist[{i}]: is ignored: it has no pattern"));
                }
                entry
            }));
        }
        Some(_) => {
            ignored.push(format!("{section_path}.allowlist: is ignored: it is not a list [ … ]"));
            agent.shift_remove("allowlist");
        }
        None => {}
    }
}

fn entry(item: Value, id: &mut dyn FnMut() -> String) -> Option<Value> {
    let mut entry = match item {
        Value::String(pattern) => Object::from_iter([("pattern".to_owned(), trim(&pattern).into())]),
        Value::Object(entry) => entry,
        _ => return None,
    };
    if trim(entry.get("pattern")?.as_str()?).is_empty() {
        return None;
    }
    entry.shift_remove("commandText");
    if entry.get("id").and_then(Value::as_str).is_none_or(str::is_empty) {
        entry.insert("id".to_owned(), id().into());
    }
    Some(Value::Object(entry))
}

/// Merges `agents.default` into `agents.main`, whose own values win.
fn fold_legacy_main(agents: &mut Object) {
    let Some(Value::Object(legacy)) = agents.shift_remove(LEGACY_MAIN) else { return };
    let Some(Value::Object(main)) = agents.get_mut(MAIN) else {
        agents.insert(MAIN.to_owned(), Value::Object(legacy));
        return;
    };
    for (key, value) in legacy {
        match (key.as_str(), main.get_mut(&key), value) {
            ("allowlist" | "mcpTools", Some(Value::Array(own)), Value::Array(more)) => own.extend(more),
            (_, Some(_), _) => {}
            (_, None, value) => drop(main.insert(key, value)),
        }
    }
    if let Some(Value::Array(list)) = main.get_mut("allowlist") {
        let mut seen = BTreeSet::new();
        list.retain(|entry| seen.insert(sameness(entry)));
    }
}

/// The identity of an entry: OpenClaw treats two entries with the same identity as duplicates when it merges.
fn sameness(entry: &Value) -> String {
    let pattern = entry.get("pattern").and_then(Value::as_str).map(|pattern| trim(pattern).to_lowercase());
    let arguments = match entry.get("argPattern") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    format!("{}\0{arguments}", pattern.unwrap_or_default())
}
