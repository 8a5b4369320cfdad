//! OpenClaw's own approvals store, `exec-approvals.json`, as releases up to 2026.7 keep it.
//!
//! A [`Store`] is the JSON document itself, normalised as OpenClaw does when it reads one. Unknown keys and the order
//! of keys survive, because the document is not converted to another form. Only this module accesses the document.
//! Reading and normalising are in `read`, `shape` and `normalise`, the allowlist in `entries`, file rules in `rules`,
//! origins in `origins`, the shape of what only the guard has in `own_shape`, the list of all that is saved in `saved`, the
//! last use of an entry in `usage`, text and hash in `print`.
//!
//! Why: docs/decisions.md, "OpenClaw's store is kept as the JSON document that it is"

mod entries;
mod normalise;
mod origins;
mod own_shape;
mod print;
mod read;
mod rules;
mod saved;
mod shape;
mod usage;

use serde_json::{Map, Value};

pub use entries::{Added, Inactive, NewEntry, StoreEntry};
pub use print::BaseHash;
pub use read::StoreContents;
pub use saved::{SavedAnswer, SavedGrant};
pub use usage::EntryUse;

use crate::{Ask, Security};

/// The default agent.
pub const MAIN: &str = "main";

/// The section for every agent.
const EVERYONE: &str = "*";

/// The former name of `main`. OpenClaw merges it into `main`.
const LEGACY_MAIN: &str = "default";

/// A normalised store. Its invariants: `version` is 1; `socket`, `defaults`, `agents` and each agent are objects or
/// absent; `security`, `ask`, `askFallback` and `autoAllowSkills` have a valid value or are absent; an `allowlist` is a
/// list of objects, each with an `id` and a `pattern` that is not blank; there is no agent `default`.
#[derive(Clone, PartialEq)]
pub struct Store {
    root: Map<String, Value>,
}

/// A value that the store sets, with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// The key that sets it: `openclaw.agents.main.security`.
    pub path: String,
}

impl Store {
    /// The agents that have a section, including `*`.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.section("agents").into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// `security` for an agent: its own, otherwise that of `*`, otherwise that of `defaults`.
    pub fn security(&self, agent: &str) -> Option<Setting<Security>> {
        self.setting(agent, "security", |value| Security::from_name(value.as_str()?))
    }

    /// `ask`, found in the same way.
    pub fn ask(&self, agent: &str) -> Option<Setting<Ask>> {
        self.setting(agent, "ask", |value| Ask::from_name(value.as_str()?))
    }

    /// `askFallback`, found in the same way.
    pub fn ask_fallback(&self, agent: &str) -> Option<Setting<Security>> {
        self.setting(agent, "askFallback", |value| Security::from_name(value.as_str()?))
    }

    /// `autoAllowSkills`, found in the same way.
    pub fn auto_allow_skills(&self, agent: &str) -> Option<Setting<bool>> {
        self.setting(agent, "autoAllowSkills", Value::as_bool)
    }

    /// The allowlist of an agent: the entries of `*`, then its own, each with its key
    /// (`openclaw.agents.main.allowlist[3]`).
    pub fn allowlist(&self, agent: &str) -> Vec<(String, StoreEntry<'_>)> {
        let mut list = Vec::new();
        for name in lists(agent) {
            let entries = self.agent(name).and_then(|agent| agent.get("allowlist")?.as_array());
            for (i, entry) in entries.into_iter().flatten().enumerate() {
                if let Some(object) = entry.as_object() {
                    list.push((format!("{}.allowlist[{i}]", section_path(name)), StoreEntry::new(object)));
                }
            }
        }
        list
    }

    /// `socket.path`: the socket of the program that asks a human. As written: `~` is not expanded.
    pub fn socket_path(&self) -> Option<&str> {
        self.section("socket")?.get("path")?.as_str()
    }

    /// `socket.token`: the token for that socket. A secret.
    pub fn socket_token(&self) -> Option<&str> {
        self.section("socket")?.get("token")?.as_str()
    }

    /// Every entry, of any agent, that OpenClaw 2026.6 and newer ignore, with its key.
    pub fn inactive(&self) -> Vec<(String, Inactive)> {
        let own = |name: &str| {
            let section_path = format!("{}.", section_path(name));
            self.allowlist(name).into_iter().filter(move |(path, _)| path.starts_with(&section_path))
        };
        let entries = self.agents().flat_map(own);
        entries.filter_map(|(path, entry)| Some((path, entry.inactive()?))).collect()
    }

    /// Whether two stores are equal, apart from the socket.
    pub fn is_equal_without_socket(&self, other: &Store) -> bool {
        let of = |store: &Store| {
            let mut root = store.root.clone();
            root.shift_remove("socket");
            root
        };
        of(self) == of(other)
    }

    fn setting<T>(&self, agent: &str, key: &str, read: fn(&Value) -> Option<T>) -> Option<Setting<T>> {
        let mut sections: Vec<_> =
            lists(agent).rev().map(|name| (self.agent(name), section_path(name))).collect();
        sections.push((self.section("defaults"), "openclaw.defaults".to_owned()));
        sections.into_iter().find_map(|(section, section_path)| {
            Some(Setting { value: read(section?.get(key)?)?, path: format!("{section_path}.{key}") })
        })
    }

    /// The section of an agent to which these keys lead, made if it is missing. `None` if another kind of value is in the way.
    fn make_section(&mut self, agent: &str, keys: &[&str]) -> Option<&mut Map<String, Value>> {
        let mut section = object(object(self.root.entry("agents")).entry(key(agent)));
        for name in keys {
            let next = section.entry(*name).or_insert_with(|| Value::Object(Map::new()));
            section = next.as_object_mut()?;
        }
        Some(section)
    }

    fn agent(&self, name: &str) -> Option<&Map<String, Value>> {
        self.section("agents")?.get(name)?.as_object()
    }

    fn section(&self, name: &str) -> Option<&Map<String, Value>> {
        self.root.get(name)?.as_object()
    }
}

/// The section of an agent to which these keys lead.
fn section_of<'s>(agent: &'s Map<String, Value>, keys: &[&str]) -> Option<&'s Map<String, Value>> {
    keys.iter().try_fold(agent, |section, name| section.get(*name)?.as_object())
}

/// The section of an agent to which these keys lead, to change it.
fn section_of_mut<'s>(
    agent: &'s mut Map<String, Value>,
    keys: &[&str],
) -> Option<&'s mut Map<String, Value>> {
    keys.iter().try_fold(agent, |section, name| section.get_mut(*name)?.as_object_mut())
}

/// The store's key for an agent.
fn key(agent: &str) -> &str {
    match agent {
        "" | LEGACY_MAIN => MAIN,
        agent => agent,
    }
}

/// The sections that apply to an agent, the general one first.
fn lists(agent: &str) -> impl DoubleEndedIterator<Item = &str> {
    let agent = key(agent);
    std::iter::once(EVERYONE).chain((agent != EVERYONE).then_some(agent))
}

/// The full key of an agent's section.
fn section_path(agent: &str) -> String {
    let plain = agent.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    if plain { format!("openclaw.agents.{agent}") } else { format!("openclaw.agents[\"{agent}\"]") }
}

/// A section, created if missing.
fn object(entry: serde_json::map::Entry<'_>) -> &mut Map<String, Value> {
    match entry.or_insert_with(|| Value::Object(Map::new())) {
        Value::Object(object) => object,
        _ => unreachable!("a store's sections are objects"),
    }
}
