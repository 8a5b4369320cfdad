//! The lists of a step, and how `openclaw.json` writes them.

use super::catalogue::{Catalogue, trimmed};
use super::inventory::Inventory;
use super::pattern::ToolPattern;

/// `allow`, `alsoAllow` and `deny` of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolLists {
    /// What is allowed; an empty list allows everything.
    pub allow: Option<Vec<String>>,
    /// What is allowed besides the profile.
    pub also_allow: Option<Vec<String>>,
    /// What is denied, whatever is allowed.
    pub deny: Option<Vec<String>>,
}

impl ToolLists {
    /// The lists of the place's own step, if it has any (`pickSandboxToolPolicy`). `alsoAllow` without an allow list
    /// restricts nothing.
    pub(super) fn own_step(&self) -> Option<StepLists> {
        let also = self.also_allow.as_deref().unwrap_or_default();
        let allow = match self.allow.as_deref() {
            Some([]) | None if !also.is_empty() => Some(merged(&["*".to_owned()], also)),
            Some(allow) => Some(merged(allow, also)),
            None => None,
        };
        (allow.is_some() || self.deny.is_some()).then(|| StepLists { allow, deny: self.deny.clone() })
    }
}

/// Both lists, without what the second one repeats.
pub(super) fn merged(list: &[String], more: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::with_capacity(list.len() + more.len());
    for entry in list.iter().chain(more) {
        if !all.contains(entry) {
            all.push(entry.clone());
        }
    }
    all
}

pub(super) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What a step allows and denies, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepLists {
    pub(super) allow: Option<Vec<String>>,
    pub(super) deny: Option<Vec<String>>,
}

impl StepLists {
    pub(super) fn deny(list: Vec<String>) -> StepLists {
        StepLists { allow: None, deny: Some(list) }
    }

    pub(super) fn allow(list: Vec<String>) -> StepLists {
        StepLists { allow: Some(list), deny: None }
    }
}

/// A list with the names and patterns that its entries stand for.
#[derive(Debug)]
pub(super) struct CompiledList {
    /// The entry as written, and what it stands for. Blank entries are left out.
    entries: Vec<(String, Vec<ToolPattern>)>,
}

impl CompiledList {
    pub(super) fn new(list: &[String], inventory: &Inventory) -> CompiledList {
        let patterns = |entry: &String| {
            let names = expanded(entry, inventory);
            (!names.is_empty()).then(|| {
                (trimmed(entry).to_owned(), names.iter().map(|name| ToolPattern::parse(name)).collect())
            })
        };
        CompiledList { entries: list.iter().filter_map(patterns).collect() }
    }

    /// A list whose entries are names, and never groups or patterns.
    pub(super) fn from_names(list: &[String], inventory: &Inventory) -> CompiledList {
        let named = |entry: &String| {
            (trimmed(entry).to_owned(), vec![ToolPattern::Name(inventory.catalogue().name(entry))])
        };
        CompiledList { entries: list.iter().map(named).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry that names a tool.
    pub(super) fn entry_for(&self, tool: &str) -> Option<&str> {
        let matching =
            |(_, patterns): &&(String, Vec<ToolPattern>)| patterns.iter().any(|one| one.matches(tool));
        self.entries.iter().find(matching).map(|(entry, _)| entry.as_str())
    }
}

/// The names that an entry stands for: a former name, a plugin's tools, a group's tools.
fn expanded(entry: &str, inventory: &Inventory) -> Vec<String> {
    let catalogue = inventory.catalogue();
    let mut names = Vec::new();
    for name in catalogue.listed(entry) {
        let of_plugin = inventory.of_plugin(&name);
        if of_plugin.is_empty() {
            names.extend(of_group(&name, catalogue));
        } else {
            names.extend(of_plugin);
        }
    }
    names
}

/// A group's tools, or the name itself; nothing for a blank name.
pub(super) fn of_group(name: &str, catalogue: &Catalogue) -> Vec<String> {
    match catalogue.group(name) {
        Some(tools) => owned(&tools),
        None if name.is_empty() => Vec::new(),
        None => vec![name.to_owned()],
    }
}

/// The entries of an allow list that name neither a tool nor a plugin of the inventory (`analyzeAllowlistByToolType`).
pub(super) fn unknown_entries(allow: &[String], inventory: &Inventory) -> Vec<String> {
    let catalogue = inventory.catalogue();
    let mut unknown: Vec<String> = Vec::new();
    for name in allow.iter().flat_map(|entry| catalogue.listed(entry)) {
        let is_known = name.is_empty()
            || name == "*"
            || inventory.is_plugin_entry(&name)
            || of_group(&name, catalogue).iter().any(|tool| inventory.has_core(tool));
        if !is_known && !unknown.contains(&name) {
            unknown.push(name);
        }
    }
    unknown
}
