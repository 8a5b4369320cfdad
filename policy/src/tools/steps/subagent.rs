//! The tools that sub-agents lack (`src/agents/agent-tools.policy.ts`).

use super::session_key;
use crate::tools::catalogue::{Catalogue, Trait};
use crate::tools::context::ToolContext;
use crate::tools::lists::{StepLists, merged};
use crate::tools::settings::ToolSettings;

/// How deep the sub-agent is, as the question or the session says; none for other sessions.
pub(super) fn depth(context: &ToolContext) -> Option<u32> {
    let named = context.subagent.as_ref().map(|subagent| subagent.depth);
    let of_session =
        context.session_key.as_deref().map(session_key::subagent_depth).filter(|depth| *depth > 0);
    named.or(of_session)
}

/// The tools that no sub-agent has, those that only sub-agents with sub-agents have, and `tools.subagents.tools`.
pub(super) fn lists(
    settings: &ToolSettings,
    context: &ToolContext,
    catalogue: &Catalogue,
) -> Option<StepLists> {
    let depth = depth(context)?;
    let configured = &settings.subagents;
    let most = settings.max_spawn_depth.unwrap_or(catalogue.spawn_depth);
    let of_leaf = if depth >= most { catalogue.leaf_deny } else { &[] };
    let also = configured.also_allow.as_deref().unwrap_or_default();
    let lifted: Vec<String> = if catalogue.has(Trait::SubagentAllowLifts) {
        configured.allow.iter().flatten().chain(also).map(|entry| catalogue.name(entry)).collect()
    } else {
        Vec::new()
    };
    let denied = catalogue.subagent_deny.iter().chain(of_leaf).map(|tool| (*tool).to_owned());
    let denied = denied.filter(|tool| !lifted.contains(tool));
    let denied = denied.chain(configured.deny.iter().flatten().cloned()).collect();
    let allow = configured.allow.as_ref().map(|allow| merged(allow, also));
    Some(StepLists { allow, deny: Some(denied) })
}

/// What the parent passed on.
pub(super) fn inherited(context: &ToolContext) -> Option<StepLists> {
    let subagent = context.subagent.as_ref()?;
    let list = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let (allow, deny) = (list(&subagent.inherited_allow), list(&subagent.inherited_deny));
    (allow.is_some() || deny.is_some()).then_some(StepLists { allow, deny })
}
