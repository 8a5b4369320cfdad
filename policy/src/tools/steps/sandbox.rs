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
