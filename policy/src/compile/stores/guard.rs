//! What the guard's own approvals store adds to a policy. It can only allow, so a broken store counts as an
//! absent one.

use std::fmt::Display;

use super::openclaw::listed;
use crate::compile::host::OwnStore;
use crate::network::WebOrigin;
use crate::paths::expansion::{Paths, expand, file_problem};
use crate::paths::path_rules::PathRules;
use crate::paths::saved_rules::SavedRule;
use crate::programs::allowlist;
use crate::store::StoreEntry;
use crate::verdict::CompiledReason;
use crate::{Ask, Source};

/// The store's name in the state directory, as reasons print it.
const NAME: &str = "guard/approvals.json";

impl OwnStore<'_> {
    /// Returns the file rules that apply to an agent, and warnings about the store.
    pub(crate) fn answers(&self, agent: &str, home: &[u8], ask: Ask) -> (Vec<SavedRule>, Vec<String>) {
        let reading = match self {
            OwnStore::Absent => return (Vec::new(), Vec::new()),
            OwnStore::Broken(line) => return (Vec::new(), vec![broken(line)]),
            OwnStore::Present(reading) => reading,
        };
        let mut warnings: Vec<String> = reading.notes.iter().map(|note| format!("{NAME}: {note}")).collect();
        let mut answers = Vec::new();
        for (path, rule) in reading.store.rules(agent) {
            let path = own_key_path(&path);
            if let Some(problem) = file_problem(&rule.pattern) {
                warnings.push(format!("{path}: {problem}"));
                continue;
            }
            // The pattern is not resolved. It was a real path when it was saved, and a link made since then leads to a
            // place about which nobody has answered.
            let glob = expand(&rule.pattern, home).glob(true);
            answers.push(SavedRule { glob, bits: rule.bits, reason: allowed_always(path, &rule) });
        }
        if ask == Ask::Off && !answers.is_empty() {
            warnings.push(format!("{NAME}: its file rules have no effect while exec.ask is off"));
        }
        (answers, warnings)
    }

    /// Returns the origins of the Web that apply to an agent, and warnings about them.
    pub(crate) fn origins(&self, agent: &str) -> (Vec<(WebOrigin, CompiledReason)>, Vec<String>) {
        let OwnStore::Present(reading) = self else { return Default::default() };
        let (mut origins, mut warnings) = (Vec::new(), Vec::new());
        for (path, text) in reading.store.origins(agent) {
            let path = own_key_path(&path);
            // Other spellings of an origin do not show which host they name.
            let Some(origin) = WebOrigin::parse(&text).filter(|origin| origin.to_string() == text) else {
                warnings.push(format!("{path}: \"{text}\" is ignored: it is not an origin"));
                continue;
            };
            let reason = allowed_always(path, &origin);
            origins.push((origin, reason));
        }
        (origins, warnings)
    }

    /// Returns the entries that apply to an agent, and warnings about them.
    pub(crate) fn entries(
        &self,
        agent: &str,
        paths: &Paths<'_>,
        map: &PathRules,
    ) -> (Vec<allowlist::CompiledEntry>, Vec<String>) {
        match self {
            OwnStore::Present(reading) => {
                listed(&reading.store, agent, paths, map, |path, entry| reason(own_key_path(&path), entry))
            }
            OwnStore::Absent | OwnStore::Broken(_) => (Vec::new(), Vec::new()),
        }
    }
}

/// Returns a place in this store, from its name in OpenClaw's store as [`crate::store::Store`] gives it.
fn own_key_path(path: &str) -> String {
    path.replacen("openclaw.", "saved.", 1)
}

/// The reason of a rule or an origin.
fn allowed_always(path: String, what: &dyn Display) -> CompiledReason {
    CompiledReason {
        source: Source::Saved,
        rule: format!("allowed always: {what} ({NAME})"),
        text: format!("{what} was allowed \"always\" ({NAME})"),
        path,
    }
}

fn reason(path: String, entry: StoreEntry<'_>) -> CompiledReason {
    let list = path.rsplit_once('[').map_or(&*path, |(list, _)| list);
    CompiledReason {
        source: Source::Saved,
        rule: format!("{list} \"{}\"", entry.pattern()),
        text: format!("\"{}\" was allowed \"always\" ({NAME})", entry.pattern()),
        path,
    }
}

fn broken(line: &str) -> String {
    format!(
        "{line}; until it is repaired or moved away, what was allowed \"always\" is not in force, and nothing is \
         saved"
    )
}
