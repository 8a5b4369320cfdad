//! What a policy says about commands outside the guard.

use super::document::Document;
use super::elevated::{ElevatedLevel, ElevatedSettings};
use crate::paths::expansion::Paths;
use crate::paths::path_rules::PathRules;
use crate::programs::allowlist::{Allowlist, CompiledEntry};
use crate::tools::{Inventory, Release, ToolLists, denies_tool};
use crate::verdict::CompiledReason;
use crate::{Ask, Exec, Policy, Security, Source};

/// The gates of a document, for one agent.
pub(crate) fn settings(document: &Document, agent: &str) -> ElevatedSettings {
    let of = |name: &str| {
        let section = &document.agents.get(name)?.elevated;
        Some((format!("agents.{name}.elevated"), section.clone()))
    };
    let lists = ToolLists {
        allow: document.tools.allow.clone(),
        also_allow: None,
        deny: document.tools.deny.clone(),
    };
    let mut agents: Vec<_> = of("*").into_iter().collect();
    agents.extend(of(agent).filter(|_| agent != "*"));
    let is_denied = denies_tool(&lists, "exec", &Inventory::of_release(Release::default()));
    ElevatedSettings::new(document.elevated.clone(), agents, is_denied.then(|| "tools".to_owned()))
}

/// `elevated.allowlist`, and what the operator should know of it.
pub(crate) fn outside(document: &Document, paths: &Paths<'_>, map: &PathRules) -> (Allowlist, Vec<String>) {
    let (mut entries, mut warnings) = (Vec::new(), Vec::new());
    for (i, entry) in document.elevated.allowlist.iter().enumerate() {
        let path = format!("elevated.allowlist[{i}]");
        if entry.arg_pattern.as_deref().unwrap_or_default().is_empty() {
            let why = "the entry has no argPattern, so it is ignored: outside, nothing judges the files that the \
                       arguments name";
            warnings.push(format!("{path}: {why}"));
            continue;
        }
        let reason = CompiledReason {
            source: Source::Global,
            rule: format!("elevated.allowlist \"{}\"", entry.pattern),
            text: format!("elevated.allowlist has \"{}\" with these arguments", entry.pattern),
            path,
        };
        let compiled = CompiledEntry::compile(entry, paths, map, reason);
        entries.extend(compiled.entry);
        warnings.extend(compiled.warning);
    }
    (Allowlist::new(entries), warnings)
}

impl Policy {
    /// `elevated`.
    pub fn elevated(&self) -> &ElevatedSettings {
        &self.elevated
    }

    /// The policy by which a command outside the guard is judged: this one, with `exec` as strict as the level says.
    /// `None` if nothing may run outside.
    #[must_use]
    pub fn for_elevated(&self, level: ElevatedLevel) -> Option<Policy> {
        let is_open = self.security() == Security::Full && self.ask() == Ask::Off;
        let ask = match level {
            ElevatedLevel::Off => return None,
            ElevatedLevel::Full if is_open => return Some(self.clone()),
            ElevatedLevel::Ask => Ask::Always,
            ElevatedLevel::On | ElevatedLevel::Full => Ask::OnMiss,
        };
        let mut policy = self.clone();
        policy.programs.security = policy.programs.security.min_security(Security::Allowlist);
        policy.programs.ask = policy.programs.ask.max_ask(ask);
        // What is allowed inside, where files and children are judged, need not be allowed outside.
        policy.programs.allowlist = std::mem::take(&mut policy.programs.outside);
        policy.programs.skills = Allowlist::default();
        // Without an answer, nothing runs outside.
        policy.programs.fallback = Security::Deny;
        Some(policy)
    }

    /// Returns why a program does not run outside although a written entry names it with these arguments: the entry is in
    /// the list for inside. Called on the policy itself, not on that of [`Policy::for_elevated`].
    pub fn counts_inside_only(&self, exec: &Exec<'_>) -> Option<String> {
        let entry = self.entry(exec).filter(|entry| entry.is_written() && entry.names_arguments())?;
        let path = entry.reason().path.into_owned();
        Some(format!(
            "{path} counts inside only: to run this outside unasked, write the entry into elevated.allowlist"
        ))
    }
}

#[cfg(test)]
#[path = "elevated_tests.rs"]
mod tests;
