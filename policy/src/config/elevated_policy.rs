//! What a policy says about commands outside the guard.

use super::document::Document;
use super::elevated::{ElevatedLevel, ElevatedSettings};
use crate::tools::{Inventory, Release, ToolLists, denies_tool};
use crate::{Ask, Policy, Security};

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
        // Nothing runs outside for want of an answer.
        policy.programs.fallback = Security::Deny;
        Some(policy)
    }
}

#[cfg(test)]
#[path = "elevated_tests.rs"]
mod tests;
