//! What OpenClaw's own store adds to a policy: its entries, and what is to be said of it. How it tightens the modes
//! is in `modes`.

use std::collections::BTreeMap;

use crate::Source;
use crate::allowlist;
use crate::document::AllowlistEntry;
use crate::pattern::Paths;
use crate::rwx::{Map, Reason};
use crate::store::{Entry, Inactive, Reading, Store};

/// OpenClaw's own store, as the host has it.
#[derive(Clone, Copy, Debug, Default)]
pub enum OpenclawStore<'a> {
    /// There is none.
    #[default]
    Absent,
    /// It was read.
    Present(&'a Reading),
    /// It is there and cannot be read: the line that says where and why. Nothing may start.
    Broken(&'a str),
}

impl OpenclawStore<'_> {
    /// The entries that speak for an agent, with what the operator should know of the store.
    pub(crate) fn entries(
        &self,
        agent: &str,
        paths: &Paths<'_>,
        map: &Map,
        has_skills: bool,
    ) -> (Vec<allowlist::Entry>, Vec<String>) {
        let reading = match self {
            OpenclawStore::Absent => return (Vec::new(), Vec::new()),
            OpenclawStore::Broken(line) => return (Vec::new(), vec![broken(line)]),
            OpenclawStore::Present(reading) => reading,
        };
        let mut warnings: Vec<String> =
            reading.notes.iter().map(|note| format!("exec-approvals.json: {note}")).collect();
        let (entries, more) = listed(&reading.store, agent, paths, map, reason);
        warnings.extend(more);
        let skills = reading.store.auto_allow_skills(agent).filter(|set| set.value && !has_skills);
        warnings.extend(skills.map(|set| {
            format!(
                "{} is on, but skills count only by exec.autoAllowSkills and exec.skills of guard.json",
                set.path
            )
        }));
        (entries, warnings)
    }
}

/// The entries of a store that speak for an agent, and warnings of those that match nothing. `reason` is given an
/// entry's place.
pub(crate) fn listed(
    store: &Store,
    agent: &str,
    paths: &Paths<'_>,
    map: &Map,
    reason: impl Fn(String, Entry<'_>) -> Reason,
) -> (Vec<allowlist::Entry>, Vec<String>) {
    let (mut entries, mut warnings) = (Vec::new(), Vec::new());
    let mut inactive: BTreeMap<Inactive, Vec<String>> = BTreeMap::new();
    for (path, entry) in store.allowlist(agent) {
        let reason = reason(path, entry);
        if let Some(why) = entry.inactive() {
            inactive.entry(why).or_default().push(reason.path);
            continue;
        }
        let compiled = allowlist::Entry::compile(&written(entry), paths, map, reason);
        entries.extend(compiled.entry);
        warnings.extend(compiled.warning);
    }
    warnings.extend(inactive.iter().map(|(why, places)| asleep(*why, places)));
    (entries, warnings)
}

fn written(entry: Entry<'_>) -> AllowlistEntry {
    AllowlistEntry {
        pattern: entry.pattern().to_owned(),
        arg_pattern: entry.arg_pattern().map(str::to_owned),
        ..AllowlistEntry::default()
    }
}

fn reason(path: String, entry: Entry<'_>) -> Reason {
    let list = path.rsplit_once('[').map_or(&*path, |(list, _)| list);
    Reason {
        source: Source::Openclaw,
        rule: format!("{list} \"{}\"", entry.pattern()),
        text: format!("the allowlist of OpenClaw's exec-approvals.json has \"{}\"", entry.pattern()),
        path,
    }
}

fn broken(line: &str) -> String {
    format!(
        "{line}; nothing may start until it is repaired or moved away (OpenClaw up to 2026.7 reads such a file as an \
         empty one, and allows everything)"
    )
}

fn asleep(why: Inactive, places: &[String]) -> String {
    match places {
        [] => String::new(),
        [place] => format!("{place} matches nothing: {}", why.reason()),
        [place, more @ ..] => format!("{place} and {} more match nothing: {}", more.len(), why.reason()),
    }
}
