//! What OpenClaw's own stores, the file and the gateway's, add to a policy: their entries and warnings about
//! them. How they tighten the modes is in `modes`.

use std::collections::BTreeMap;

use crate::compile::host::{Host, OpenclawStore};
use crate::config::allowlist_entry::AllowlistEntry;
use crate::paths::expansion::Paths;
use crate::paths::path_rules::PathRules;
use crate::programs::allowlist;
use crate::store::{Inactive, Store, StoreEntry};
use crate::verdict::{CompiledReason, Source};

/// One of OpenClaw's stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreOwner {
    /// `exec-approvals.json`.
    File,
    /// The gateway's store, which the guard requests from the gateway.
    Gateway,
}

impl StoreOwner {
    /// Returns the prefix of places in it.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            StoreOwner::File => "openclaw",
            StoreOwner::Gateway => "gateway",
        }
    }

    /// Returns a place in this store, from its name in the file as [`Store`] gives it.
    pub(crate) fn key_path(self, path: &str) -> String {
        path.replacen("openclaw", self.prefix(), 1)
    }

    /// Returns its name for a sentence.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreOwner::File => "exec-approvals.json",
            StoreOwner::Gateway => "exec approvals of the gateway",
        }
    }
}

/// Those of OpenClaw's stores that count.
#[derive(Clone, Debug)]
pub(crate) struct Stores<'a>(Vec<(StoreOwner, OpenclawStore<'a>)>);

impl<'a> Stores<'a> {
    /// Selects the stores of a host. The gateway's store counts if guard.json lets the guard request it as an administrator.
    pub(crate) fn new(host: &Host<'a>, is_admin: bool) -> Stores<'a> {
        let mut stores = vec![(StoreOwner::File, host.openclaw)];
        let is_the_file = match (host.openclaw, host.gateways) {
            // A gateway up to 2026.7 on this host uses the same file.
            (OpenclawStore::Present(file), OpenclawStore::Present(gateways)) => {
                file.store.is_equal_without_socket(&gateways.store)
            }
            _ => false,
        };
        if is_admin && !is_the_file {
            stores.push((StoreOwner::Gateway, host.gateways));
        }
        Stores(stores)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StoreOwner, OpenclawStore<'a>)> {
        self.0.iter().copied()
    }

    /// Returns the entries that apply to an agent, and warnings about the stores.
    pub(crate) fn entries(
        &self,
        agent: &str,
        paths: &Paths<'_>,
        map: &PathRules,
        has_skills: bool,
    ) -> (Vec<allowlist::CompiledEntry>, Vec<String>) {
        let (mut entries, mut warnings) = (Vec::new(), Vec::new());
        for (holder, store) in self.iter() {
            let reading = match store {
                OpenclawStore::Absent => continue,
                OpenclawStore::Broken(line) => {
                    warnings.push(broken(holder, line));
                    continue;
                }
                OpenclawStore::Present(reading) => reading,
            };
            warnings.extend(reading.notes.iter().map(|note| format!("{}: {note}", holder.name())));
            let reason = |path: String, entry: StoreEntry<'_>| reason(holder, &path, entry);
            let (listed, more) = listed(&reading.store, agent, paths, map, reason);
            entries.extend(listed);
            warnings.extend(more);
            let skills = reading.store.auto_allow_skills(agent).filter(|set| set.value && !has_skills);
            warnings.extend(skills.map(|set| {
                format!(
                    "{} is on, but the guard uses only exec.autoAllowSkills and exec.skills of guard.json for skills",
                    holder.key_path(&set.path)
                )
            }));
        }
        (entries, warnings)
    }
}

/// Returns the entries of a store that apply to an agent, and warnings about those that match nothing.
/// `reason` receives an entry's place.
pub(crate) fn listed(
    store: &Store,
    agent: &str,
    paths: &Paths<'_>,
    map: &PathRules,
    reason: impl Fn(String, StoreEntry<'_>) -> CompiledReason,
) -> (Vec<allowlist::CompiledEntry>, Vec<String>) {
    let (mut entries, mut warnings) = (Vec::new(), Vec::new());
    let mut inactive: BTreeMap<Inactive, Vec<String>> = BTreeMap::new();
    for (path, entry) in store.allowlist(agent) {
        let reason = reason(path, entry);
        if let Some(why) = entry.inactive() {
            inactive.entry(why).or_default().push(reason.path);
            continue;
        }
        let compiled = allowlist::CompiledEntry::compile(&written(entry), paths, map, reason);
        entries.extend(compiled.entry);
        warnings.extend(compiled.warning);
    }
    warnings.extend(inactive.iter().map(|(why, keys)| asleep(*why, keys)));
    (entries, warnings)
}

fn written(entry: StoreEntry<'_>) -> AllowlistEntry {
    AllowlistEntry {
        pattern: entry.pattern().to_owned(),
        arg_pattern: entry.arg_pattern().map(str::to_owned),
        ..AllowlistEntry::default()
    }
}

fn reason(holder: StoreOwner, path: &str, entry: StoreEntry<'_>) -> CompiledReason {
    let path = holder.key_path(path);
    let list = path.rsplit_once('[').map_or(&*path, |(list, _)| list);
    let whose = match holder {
        StoreOwner::File => "OpenClaw's exec-approvals.json",
        StoreOwner::Gateway => "the gateway's exec approvals",
    };
    CompiledReason {
        source: Source::Openclaw,
        rule: format!("{list} \"{}\"", entry.pattern()),
        text: format!("the allowlist of {whose} has \"{}\"", entry.pattern()),
        path,
    }
}

fn broken(holder: StoreOwner, line: &str) -> String {
    match holder {
        StoreOwner::File => format!(
            "{line}; no program may start until it is repaired or moved away (OpenClaw up to 2026.7 treats such \
             a file as empty and allows everything)"
        ),
        StoreOwner::Gateway => format!(
            "{line}; no program may start until the gateway's exec approvals are fetched, or \
             approvals.gateway.admin is false"
        ),
    }
}

fn asleep(why: Inactive, keys: &[String]) -> String {
    match keys {
        [] => String::new(),
        [key] => format!("{key} matches nothing: {}", why.reason()),
        [key, more @ ..] => format!("{key} and {} more match nothing: {}", more.len(), why.reason()),
    }
}
