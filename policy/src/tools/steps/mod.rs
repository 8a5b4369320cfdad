//! The steps of a question, in their order, with the lists that they have.

mod group;
mod owner;
mod provider;
mod sandbox;
mod sender;
mod session_key;
mod subagent;

pub use sandbox::{ListOrigin, ListScope, SandboxTools, sandbox_tools};

use super::catalogue::{Catalogue, Trait};
use super::context::{Surface, ToolContext};
use super::inventory::Inventory;
use super::lists::{StepLists, merged, owned};
use super::settings::{ToolIssue, ToolScope, ToolSettings, agent_id};

/// One step that has lists.
#[derive(Debug)]
pub(super) struct PolicyStep {
    pub(super) label: String,
    pub(super) lists: StepLists,
    pub(super) entries: Entries,
}

/// How the entries of a step are read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entries {
    /// As patterns and groups. OpenClaw warns of entries of the allow list that name nothing, except of the entries held here.
    Warned(Vec<String>),
    /// As patterns and groups.
    Patterns,
    /// As names, without groups and patterns.
    Names,
}

#[derive(Debug)]
pub(super) struct PolicySteps {
    /// The agent whose section counts.
    pub(super) agent: String,
    pub(super) is_sandboxed: bool,
    pub(super) steps: Vec<PolicyStep>,
}

/// Finds the steps.
///
/// # Errors
/// The session belongs to another agent than the one that the question names.
pub(super) fn find(
    settings: &ToolSettings,
    context: &ToolContext,
    inventory: &Inventory,
) -> Result<PolicySteps, ToolIssue> {
    let catalogue = inventory.catalogue();
    let agent = agent(settings, context)?;
    let nothing = ToolScope::default();
    let own = settings.agent_tools(&agent).unwrap_or(&nothing);
    let global = &settings.global;
    let global_provider = provider::find(&global.by_provider, context);
    let own_provider = provider::find(&own.by_provider, context);

    let mut steps = Vec::new();
    let mut add = |label: String, lists: Option<StepLists>, entries: Entries| {
        steps.extend(lists.map(|lists| PolicyStep { label, lists, entries }));
    };
    let warned = || Entries::Warned(Vec::new());

    let profile = own.profile.as_deref().or(global.profile.as_deref());
    let also = own.lists.also_allow.as_deref().or(global.lists.also_allow.as_deref());
    let also = merged(also.unwrap_or_default(), &granted(catalogue, own, global));
    add_profile(&mut add, "tools.profile", profile, &also, catalogue);
    let of_provider =
        |tools: Option<&super::settings::ProviderTools>| tools.and_then(|tools| tools.profile.clone());
    let profile = of_provider(own_provider).or_else(|| of_provider(global_provider));
    let also = [own_provider, global_provider]
        .into_iter()
        .flatten()
        .find_map(|tools| tools.lists.also_allow.as_deref());
    add_profile(
        &mut add,
        "tools.byProvider.profile",
        profile.as_deref(),
        also.unwrap_or_default(),
        catalogue,
    );

    add("tools.allow".to_owned(), global.lists.own_step(), warned());
    let lists = global_provider.and_then(|tools| tools.lists.own_step());
    add("tools.byProvider.allow".to_owned(), lists, warned());
    add(format!("agents.{agent}.tools.allow"), own.lists.own_step(), warned());
    let lists = own_provider.and_then(|tools| tools.lists.own_step());
    add(format!("agents.{agent}.tools.byProvider.allow"), lists, warned());
    add("group tools.allow".to_owned(), group::lists(settings, context), warned());
    if catalogue.has(Trait::SenderStep) {
        add("tools.toolsBySender".to_owned(), sender::lists(own, global, context), warned());
    }

    let is_subagent = subagent::depth(context).is_some();
    let is_sandboxed = sandbox::is_sandboxed(settings, context, &agent, is_subagent);
    let lists = is_sandboxed.then(|| sandbox::lists(own, global, catalogue));
    add("sandbox tools.allow".to_owned(), lists, Entries::Patterns);
    let lists = owner::lists(catalogue, context);
    add("gateway sender owner-only tools".to_owned(), lists, Entries::Patterns);
    add("subagent tools.allow".to_owned(), subagent::lists(settings, context, catalogue), Entries::Patterns);
    add(
        "runtime tools.allow".to_owned(),
        context.runtime_allow.clone().map(StepLists::allow),
        Entries::Patterns,
    );
    add("inherited tools".to_owned(), subagent::inherited(context), Entries::Patterns);
    if context.surface == Surface::Http {
        add("gateway http tools".to_owned(), Some(owner::over_http(settings, inventory)), Entries::Names);
    }
    Ok(PolicySteps { agent, is_sandboxed, steps })
}

/// The session's agent counts before the default; a question may not name another one than its session.
fn agent(settings: &ToolSettings, context: &ToolContext) -> Result<String, ToolIssue> {
    let named = context.agent.as_deref().map(agent_id);
    let of_session = context.session_key.as_deref().and_then(session_key::agent).map(agent_id);
    match (named, of_session) {
        (Some(named), Some(of_session)) if named != of_session => Err(ToolIssue {
            path: "sessionKey".to_owned(),
            message: format!("the session belongs to agent {of_session}, not to {named}"),
        }),
        (Some(agent), _) | (None, Some(agent)) => Ok(agent),
        (None, None) => Ok(settings.default_agent().to_owned()),
    }
}

/// What sections `exec` and `fs` add to the profile, in releases where they do.
fn granted(catalogue: &Catalogue, own: &ToolScope, global: &ToolScope) -> Vec<String> {
    let mut names = Vec::new();
    if catalogue.has(Trait::SectionsGrant) {
        if own.has_exec || global.has_exec {
            names.extend(["exec", "process"]);
        }
        if own.has_fs || global.has_fs {
            names.extend(["read", "write", "edit"]);
        }
    }
    owned(&names)
}

/// The step of a profile. The profile's own entries are not warned of: the release names them, not the operator.
fn add_profile(
    add: &mut impl FnMut(String, Option<StepLists>, Entries),
    step: &str,
    profile: Option<&str>,
    also: &[String],
    catalogue: &Catalogue,
) {
    let Some(profile) = profile else { return };
    let Some(allowed) = catalogue.profile(profile) else { return };
    let allowed = owned(&allowed);
    let lists = StepLists::allow(merged(&allowed, also));
    add(format!("{step} ({profile})"), Some(lists), Entries::Warned(allowed));
}
