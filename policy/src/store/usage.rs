//! Recording in a store that its entries were used, as OpenClaw does (`recordAllowlistUse`).

use serde_json::{Map, Value};

use super::{Store, StoreEntry, lists};

/// How much newer a use must be than the recorded one, in milliseconds, so that not every short session writes the store.
const USE_INTERVAL: u64 = 60_000;

/// The last use of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryUse {
    /// The entry's pattern.
    pub pattern: String,
    /// The entry's `argPattern`.
    pub arg_pattern: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The command line. `None` removes the recorded one.
    pub command: Option<String>,
    /// The real path of the program.
    pub path: String,
}

impl Store {
    /// Records a use in every entry for that pattern and `argPattern` that applies to the agent. An entry that was
    /// used within the last minute stays as it is.
    pub fn record_use(&mut self, agent: &str, used: &EntryUse) {
        for section in lists(agent) {
            let agents = self.root.get_mut("agents").and_then(Value::as_object_mut);
            let list =
                agents.and_then(|agents| agents.get_mut(section)?.get_mut("allowlist")?.as_array_mut());
            for entry in list.into_iter().flatten().filter_map(Value::as_object_mut) {
                if StoreEntry::new(entry).is_for(&used.pattern, used.arg_pattern.as_deref()) {
                    record(entry, used);
                }
            }
        }
    }
}

fn record(entry: &mut Map<String, Value>, used: &EntryUse) {
    if last_used(entry).is_some_and(|before| used.at < before.saturating_add(USE_INTERVAL)) {
        return;
    }
    entry.insert("lastUsedAt".to_owned(), used.at.into());
    match &used.command {
        Some(command) => _ = entry.insert("lastUsedCommand".to_owned(), command.as_str().into()),
        None => _ = entry.shift_remove("lastUsedCommand"),
    }
    entry.insert("lastResolvedPath".to_owned(), used.path.as_str().into());
}

/// When an entry was used last, in milliseconds since 1970.
pub(super) fn last_used(entry: &Map<String, Value>) -> Option<u64> {
    entry.get("lastUsedAt")?.as_u64()
}
