//! The lists of a sandbox (`src/agents/sandbox/tool-policy.ts`), and which sessions are in one.

use super::session_key;
use crate::tools::catalogue::Catalogue;
use crate::tools::context::ToolContext;
use crate::tools::lists::{StepLists, merged, of_group, owned};
use crate::tools::pattern::ToolPattern;
use crate::tools::settings::{SandboxMode, ToolScope, ToolSettings};

/// Whether the session runs in a sandbox.
pub(super) fn is_sandboxed(
    settings: &ToolSettings,
    context: &ToolContext,
    agent: &str,
    is_subagent: bool,
) -> bool {
    let of_agent = settings.agent(agent).and_then(|agent| agent.sandbox_mode);
    match of_agent.or(settings.sandbox_mode).unwrap_or(SandboxMode::Off) {
        SandboxMode::Off => false,
        SandboxMode::All => true,
        SandboxMode::NonMain => {
            let key = context.session_key.as_deref();
            let is_main = key.is_none_or(|key| session_key::is_main(key, settings.main_key.as_deref()));
            is_subagent || !(is_main || settings.is_session_global && key == Some("global"))
        }
    }
}

/// The tools of a sandbox, and where the lists are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxTools {
    /// What is allowed; an empty list allows everything.
    pub allow: Vec<String>,
    /// What is denied, whatever is allowed.
    pub deny: Vec<String>,
    /// Where the first list is from.
    pub allow_from: ListOrigin,
    /// Where the second list is from.
    pub deny_from: ListOrigin,
}

/// The key of `openclaw.json` that a list is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListOrigin {
    /// Whose it is.
    pub scope: ListScope,
    /// `allow`, `alsoAllow` or `deny`.
    pub key: &'static str,
}

/// Whose list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListScope {
    /// The agent's.
    Agent,
    /// That of `tools`, for all agents.
    Global,
    /// The release's own: `openclaw.json` has none.
    Default,
}

impl ListScope {
    /// As OpenClaw calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            ListScope::Agent => "agent",
            ListScope::Global => "global",
            ListScope::Default => "default",
        }
    }
}

/// The tools of an agent's sandbox.
pub fn sandbox_tools(settings: &ToolSettings, agent: &str, catalogue: &Catalogue) -> SandboxTools {
    let nothing = ToolScope::default();
    let own = settings.agent_tools(agent).unwrap_or(&nothing);
    let StepLists { allow, deny } = lists(own, &settings.global, catalogue);
    let (own, global) = (&own.sandbox, &settings.global.sandbox);
    let origin = |own: bool, global: bool, key| {
        let scope = match (own, global) {
            (true, _) => ListScope::Agent,
            (false, true) => ListScope::Global,
            (false, false) => ListScope::Default,
        };
        ListOrigin { scope, key }
    };
    let allowed = origin(own.allow.is_some(), global.allow.is_some(), "allow");
    let also = origin(own.also_allow.is_some(), global.also_allow.is_some(), "alsoAllow");
    // An agent's key counts before a key of the file. If both keys are in the same place, `allow` counts.
    let allow_from = match (allowed.scope, also.scope) {
        (ListScope::Agent, _) | (_, ListScope::Default) | (ListScope::Global, ListScope::Global) => allowed,
        _ => also,
    };
    SandboxTools {
        allow: allow.unwrap_or_default(),
        deny: deny.unwrap_or_default(),
        allow_from,
        deny_from: origin(own.deny.is_some(), global.deny.is_some(), "deny"),
    }
}

/// Each list is the agent's, or else the file's, or else the release's.
pub(super) fn lists(own: &ToolScope, global: &ToolScope, catalogue: &Catalogue) -> StepLists {
    let (own, global) = (&own.sandbox, &global.sandbox);
    let allow = own.allow.as_ref().or(global.allow.as_ref());
    let also = own.also_allow.as_ref().or(global.also_allow.as_ref()).map(Vec::as_slice).unwrap_or_default();
    let allowed = match allow {
        Some(list) if list.is_empty() => Vec::new(),
        Some(list) => merged(list, also),
        None => merged(&owned(catalogue.sandbox_allow), also),
    };
    let denied = match own.deny.as_ref().or(global.deny.as_ref()) {
        Some(list) => list.clone(),
        None => default_deny(&merged(allow.map(Vec::as_slice).unwrap_or_default(), also), catalogue),
    };
    with_image(expanded(&allowed, catalogue), expanded(&denied, catalogue), catalogue)
}

/// The release's deny list, without what is allowed by the configuration.
fn default_deny(allowed: &[String], catalogue: &Catalogue) -> Vec<String> {
    let allowed = patterns(&expanded(allowed, catalogue));
    let denied = catalogue.sandbox_deny.iter().chain(catalogue.channels);
    let denied = denied.filter(|tool| !allowed.iter().any(|pattern| pattern.matches(tool)));
    denied.map(|tool| (*tool).to_owned()).collect()
}

/// The tool that looks at images is part of every allow list, unless it is denied, also by its former name.
fn with_image(mut allow: Vec<String>, mut deny: Vec<String>, catalogue: &Catalogue) -> StepLists {
    let image = catalogue.image.to_owned();
    let denies = |tool: &str| patterns(&deny).iter().any(|pattern| pattern.matches(tool));
    if denies("image") && !denies(&image) {
        deny.push(image.clone());
    }
    if !allow.is_empty() && !deny.contains(&image) && !allow.contains(&image) {
        allow.push(image);
    }
    StepLists { allow: Some(allow), deny: Some(deny) }
}

fn expanded(list: &[String], catalogue: &Catalogue) -> Vec<String> {
    let names = list.iter().flat_map(|entry| of_group(&catalogue.name(entry), catalogue));
    merged(&[], &names.collect::<Vec<_>>())
}

fn patterns(names: &[String]) -> Vec<ToolPattern> {
    names.iter().map(|name| ToolPattern::parse(name)).collect()
}
