//! Which saved entries of the allowlist this session has used: the stores get their last use when the session ends.

use std::collections::HashMap;
use std::path::Path;

use guard_openclaw::approvals_store::{AnswerStore, UpdateError};
use guard_openclaw::clock::now_ms;
use guard_policy::store::EntryUse;
use guard_policy::text::command_line;
use guard_policy::{Exec, Policy, Reason, Source};
use parking_lot::Mutex;

use crate::audit::{MAX_DENIED_ARGV, Secrets, shortened};

/// Returns the store of the entry that gave this reason.
fn store_of(reason: &Reason<'_>) -> Option<AnswerStore> {
    match reason.source {
        Source::Saved => Some(AnswerStore::Own),
        // Only the gateway writes its own store.
        Source::Openclaw if reason.path.starts_with("openclaw.") => Some(AnswerStore::OpenClaw),
        _ => None,
    }
}

/// An entry, as a store knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct EntryKey {
    store: AnswerStore,
    pattern: String,
    arg_pattern: Option<String>,
}

#[derive(Clone, Debug)]
struct ProgramStart {
    at: u64,
    /// `None` where the entry has only a hash of the arguments: they are secret then, as in OpenClaw.
    argv: Option<Vec<Vec<u8>>>,
    path: Vec<u8>,
}

/// The entries that this session has used. There are no more than the stores have.
#[derive(Debug, Default)]
pub struct UsedEntries(Mutex<HashMap<EntryKey, ProgramStart>>);

impl UsedEntries {
    /// Records that a program starts for this reason, if that is an entry of a store.
    pub fn record(&self, policy: &Policy, exec: &Exec<'_>, reason: &Reason<'_>) {
        let Some(store) = store_of(reason) else { return };
        // A file rule of the guard's own store has no entry.
        let Some(entry) = policy.entry(exec).filter(|entry| entry.reason().path == reason.path) else {
            return;
        };
        let key = EntryKey {
            store,
            pattern: entry.pattern().to_owned(),
            arg_pattern: entry.arg_pattern().map(str::to_owned),
        };
        let argv = (!entry.is_bound()).then(|| shortened(exec.argv, MAX_DENIED_ARGV));
        self.0.lock().insert(key, ProgramStart { at: now_ms(), argv, path: exec.path.to_vec() });
    }

    /// Writes the last uses into the stores, without the values of secrets. Blocks on the disk.
    ///
    /// # Errors
    /// If a store cannot be written; the other one may have been. An entry that is gone is left out.
    pub fn save(&self, state: &Path, agent: &str, secrets: &Secrets) -> Result<(), UpdateError> {
        let starts = std::mem::take(&mut *self.0.lock());
        for store in AnswerStore::ALL {
            let of_store = starts.iter().filter(|(key, _)| key.store == store);
            let uses: Vec<EntryUse> = of_store.map(|(key, start)| last_use(key, start, secrets)).collect();
            if uses.is_empty() {
                continue;
            }
            match store.apply(state, |store| uses.iter().for_each(|used| store.record_use(agent, used))) {
                // OpenClaw has meanwhile removed its store, or moved it into its database.
                Ok(()) | Err(UpdateError::Absent { .. } | UpdateError::Database { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn last_use(key: &EntryKey, start: &ProgramStart, secrets: &Secrets) -> EntryUse {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let command =
        |argv: &Vec<Vec<u8>>| command_line(&secrets.masked(&argv.iter().map(text).collect::<Vec<_>>()));
    EntryUse {
        pattern: key.pattern.clone(),
        arg_pattern: key.arg_pattern.clone(),
        at: start.at,
        command: start.argv.as_ref().map(command),
        path: text(&start.path),
    }
}
