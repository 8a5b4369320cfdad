//! Goes through the steps.

use super::catalogue::{Release, Trait};
use super::context::ToolContext;
use super::inventory::Inventory;
use super::lists::{CompiledList, ToolLists, unknown_entries};
use super::settings::{ToolIssue, ToolSettings};
use super::steps::{self, Entries, PolicyStep};
use super::warnings::SeenWarnings;

/// The tools that are left, and where the others went.
#[derive(Clone, Debug)]
pub struct EffectiveTools {
    /// The release whose rules counted.
    pub release: Release,
    /// The agent whose section counted.
    pub agent: String,
    /// Whether the session runs in a sandbox.
    pub is_sandboxed: bool,
    /// Sorted.
    pub allowed: Vec<String>,
    /// The steps that have lists, in their order.
    pub steps: Vec<ToolStep>,
    /// The warnings that `seen` did not have yet.
    pub warnings: Vec<String>,
}

impl EffectiveTools {
    /// What removed a tool, and in which step.
    pub fn removal(&self, tool: &str) -> Option<(&ToolStep, &Removal)> {
        self.steps.iter().find_map(|step| {
            let removal = step.removed.iter().find(|removal| removal.tool == tool)?;
            Some((step, removal))
        })
    }
}

/// One step.
#[derive(Clone, Debug)]
pub struct ToolStep {
    /// As OpenClaw calls it, such as `agents.main.tools.allow`; the deny list of the same place is part of it.
    pub label: String,
    /// Sorted by tool.
    pub removed: Vec<Removal>,
}

/// A tool that a step removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The tool.
    pub tool: String,
    /// Why.
    pub by: RemovedBy,
}

/// Why a step removed a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovedBy {
    /// This entry of the deny list names it.
    Deny(String),
    /// No entry of the allow list names it.
    Allow,
}

/// Computes the tools that are left after all steps. Warnings that `seen` remembers are not given again.
///
/// # Errors
/// The session belongs to another agent than the one that the question names.
pub fn effective(
    settings: &ToolSettings,
    context: &ToolContext,
    inventory: &Inventory,
    seen: &mut SeenWarnings,
) -> Result<EffectiveTools, ToolIssue> {
    let found = steps::find(settings, context, inventory)?;
    let mut allowed: Vec<String> = inventory.names().map(str::to_owned).collect();
    allowed.sort();
    let mut steps = Vec::new();
    let mut warnings = Vec::new();
    for step in found.steps {
        warnings.extend(warning(&step, inventory).filter(|warning| seen.remember(warning)));
        steps.push(apply(step, &mut allowed, inventory));
    }
    let (agent, is_sandboxed) = (found.agent, found.is_sandboxed);
    Ok(EffectiveTools { release: inventory.release(), agent, is_sandboxed, allowed, steps, warnings })
}

/// Takes the step of guard.json, the last one. It only removes, as every step does.
pub fn restrict(tools: &mut EffectiveTools, lists: &ToolLists, inventory: &Inventory) {
    let Some(lists) = lists.own_step() else { return };
    let step = PolicyStep { label: GUARD_STEP.to_owned(), lists, entries: Entries::Patterns };
    let taken = apply(step, &mut tools.allowed, inventory);
    tools.steps.push(taken);
}

/// Whether the step of guard.json takes this tool away.
pub(crate) fn denies_tool(lists: &ToolLists, tool: &str, inventory: &Inventory) -> bool {
    let Some(lists) = lists.own_step() else { return false };
    let step = PolicyStep { label: GUARD_STEP.to_owned(), lists, entries: Entries::Patterns };
    Filter::new(&step, inventory).removes(tool).is_some()
}

/// The label of the step of guard.json.
pub const GUARD_STEP: &str = "guard.json tools";

/// Removes the tools that a step denies or does not allow.
fn apply(step: PolicyStep, allowed: &mut Vec<String>, inventory: &Inventory) -> ToolStep {
    let filter = Filter::new(&step, inventory);
    let mut removed = Vec::new();
    allowed.retain(|tool| match filter.removes(tool) {
        Some(by) => {
            removed.push(Removal { tool: tool.clone(), by });
            false
        }
        None => true,
    });
    ToolStep { label: step.label, removed }
}

/// The lists of a step, ready to be asked (`src/agents/tool-policy-match.ts`).
struct Filter {
    allow: CompiledList,
    deny: CompiledList,
    /// If `write` is denied, so is `apply_patch`.
    write_denies_patch: bool,
}

/// If `write` is allowed, so is `apply_patch`.
const PATCH: &str = "apply_patch";
const WRITE: &str = "write";

impl Filter {
    fn new(step: &PolicyStep, inventory: &Inventory) -> Filter {
        let compiled = |list: &Option<Vec<String>>| {
            let list = list.as_deref().unwrap_or_default();
            match step.entries {
                Entries::Names => CompiledList::from_names(list, inventory),
                Entries::Patterns | Entries::Warned(_) => CompiledList::new(list, inventory),
            }
        };
        Filter {
            allow: compiled(&step.lists.allow),
            deny: compiled(&step.lists.deny),
            write_denies_patch: inventory.catalogue().has(Trait::WriteDeniesApplyPatch)
                && step.entries != Entries::Names,
        }
    }

    fn removes(&self, tool: &str) -> Option<RemovedBy> {
        let denies_write =
            || (self.write_denies_patch && tool == PATCH).then(|| self.deny.entry_for(WRITE))?;
        if let Some(entry) = self.deny.entry_for(tool).or_else(denies_write) {
            return Some(RemovedBy::Deny(entry.to_owned()));
        }
        let is_allowed = self.allow.is_empty()
            || self.allow.entry_for(tool).is_some()
            || tool == PATCH && self.allow.entry_for(WRITE).is_some();
        (!is_allowed).then_some(RemovedBy::Allow)
    }
}

/// What OpenClaw warns of: entries of an allow list that name nothing.
fn warning(step: &PolicyStep, inventory: &Inventory) -> Option<String> {
    let Entries::Warned(expected) = &step.entries else { return None };
    let unknown = unknown_entries(step.lists.allow.as_deref()?, inventory);
    let unknown = unknown.into_iter().filter(|entry| !expected.contains(entry));
    let (core, other): (Vec<_>, Vec<_>) = unknown.partition(|entry| inventory.catalogue().is_core(entry));
    let why = match (core.is_empty(), other.is_empty()) {
        (true, true) => return None,
        (true, false) => "These entries won't match any tool unless the plugin is enabled.",
        (false, true) => {
            "These entries are shipped core tools but unavailable in the current runtime/provider/model/config."
        }
        (false, false) => {
            "Some entries are shipped core tools but unavailable in the current runtime/provider/model/config; other \
             entries won't match any tool unless the plugin is enabled."
        }
    };
    let entries = [core, other].concat().join(", ");
    Some(format!("tools: {} allowlist contains unknown entries ({entries}). {why}", step.label))
}
