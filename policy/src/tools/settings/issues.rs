//! The parts of a configuration that OpenClaw's loader refuses, although the tools can be computed.

use serde_json::Value;

use super::{ToolScope, ToolSettings};
use crate::tools::lists::ToolLists;

/// Something wrong in `openclaw.json`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ToolIssue {
    /// The key, such as `agents.entries.main.tools`.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

impl ToolIssue {
    pub(super) fn new(path: impl Into<String>, message: impl Into<String>) -> ToolIssue {
        ToolIssue { path: path.into(), message: message.into() }
    }
}

/// The issues, agents first, as the loader lists them. Agents of `agents.list` are named as in `agents.entries`.
pub(super) fn find(config: &Value, settings: &ToolSettings) -> Vec<ToolIssue> {
    let mut found = Vec::new();
    if config.pointer("/agents/defaults/tools").is_some() {
        found.push(ToolIssue::new("agents.defaults", "Unrecognized key: \"tools\""));
    }
    for agent in settings.agents.iter().flatten() {
        if let Some(tools) = &agent.tools {
            scope(tools, &format!("agents.entries.{}.tools", agent.id), "agent tools", &mut found);
        }
    }
    scope(&settings.global, "tools", "tools", &mut found);
    both(&settings.subagents, "tools.subagents.tools", "tools policy", &mut found);
    found
}

fn scope(tools: &ToolScope, path: &str, what: &str, found: &mut Vec<ToolIssue>) {
    for (name, provider) in &tools.by_provider {
        both(&provider.lists, &format!("{path}.byProvider.{name}"), "tools.byProvider policy", found);
    }
    for (name, lists) in &tools.by_sender {
        both(lists, &format!("{path}.toolsBySender.{name}"), "tools policy", found);
    }
    both(&tools.sandbox, &format!("{path}.sandbox.tools"), "tools policy", found);
    both(&tools.lists, path, what, found);
}

fn both(lists: &ToolLists, path: &str, what: &str, found: &mut Vec<ToolIssue>) {
    let has_any = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
    if has_any(&lists.allow) && has_any(&lists.also_allow) {
        let message = format!(
            "{what} cannot set both allow and alsoAllow in the same scope (merge alsoAllow into allow, or remove allow \
             and use profile + alsoAllow)"
        );
        found.push(ToolIssue::new(path, message));
    }
}
