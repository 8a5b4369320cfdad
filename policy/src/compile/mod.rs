//! Compiles a document to a policy for one agent: agents.NAME over agents."*" over the top level.

mod builder;
pub(crate) mod builtin;
pub(crate) mod enclosure;
mod every_policy;
mod gateway_token;
pub(crate) mod host;
pub(crate) mod modes;
mod profile_rules;
pub(crate) mod profiles;
pub(crate) mod project;
pub(crate) mod stores;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::allowlist_entry::AllowlistEntry;
use crate::config::approvals::Approvals;
use crate::config::audit::AuditSettings;
use crate::config::document::{Document, SkillBin};
use crate::config::elevated_policy;
use crate::config::layers::{ExtendedTemplate, Layer, layers};
use crate::config::limits::Limits;
use crate::config::network::PrivateAccess;
use crate::config::node::NodeSettings;
use crate::config::persistence::protection;
use crate::environment::path_directories;
use crate::network::Network;
use crate::paths::exec_roots;
use crate::paths::expansion::{Expanded, Paths, expand_home, show};
use crate::paths::path_rules::PathRules;
use crate::paths::persistence::{self, Asking, Hint};
use crate::paths::read_bound::ReadBound;
use crate::paths::workspace::{Workspace, names_workspace};
use crate::programs::DEFAULT_CARRIERS;
use crate::programs::allowlist::CompiledEntry;
use crate::programs::safe_bins::SafeBins;
use crate::tools::ToolLists;
use crate::verdict::CompiledReason;
use crate::{Ask, Host, Overrides, Permission, Policy, Problem, Rights, Source};
use builder::MapBuilder;
use every_policy::{
    DEFAULT_RUNNING_NOTICE_MS, DEFAULT_TIMEOUT_MS, always_denied, default_reason, host_entries, programs,
};
use gateway_token::TokenFile;
use modes::modes;
use stores::openclaw::Stores;

impl Policy {
    /// Compiles a document for one agent.
    pub fn compile(
        doc: &Document,
        agent: &str,
        host: &Host,
        overrides: &Overrides,
    ) -> Result<Policy, Vec<Problem>> {
        let extended = template::extended(doc, host)?;
        let layers = layers(doc, extended.as_ref(), agent);
        let paths = host.paths();
        let stores = Stores::new(host, doc.approvals.gateway.admin());
        let modes = modes(&layers).tightened(agent, &stores, overrides, host.projects);

        let token = doc.approvals.gateway.token_file().map(|written| TokenFile::new(written, host.home));
        let (map, mut warnings) = path_rules(host, agent, &layers, modes.ask(), token.as_ref());
        warnings.extend(host.profile.and_then(|profile| profile.warning(&map, host.home)));
        let gateway_token = token.map(|token| token.vetted_path(&map, &paths));
        warnings.extend(gateway_token::warning(gateway_token.as_ref()));
        let is_of_workspaces = doc.names_workspace();
        warnings.extend(host.workspace.note.clone().filter(|_| is_of_workspaces));
        let written = Paths { workspace: host.workspace.root.as_deref(), ..paths };

        let (mut entries, notes) = allowlist(&layers, &written, &map);
        warnings.extend(notes);
        let has_skills = has_skills(&layers);
        let (on_host, notes) = host_entries(host, agent, modes.ask(), &stores, has_skills, &map);
        entries.extend(on_host);
        warnings.extend(notes);
        let skills = if has_skills { skills(doc, &paths, &map) } else { Vec::new() };
        let (safe_bins, unsafe_bins) = SafeBins::compile(&layers, &paths);
        warnings.extend(unsafe_bins);
        let prepended = doc.exec.path_prepend.as_deref().unwrap_or_default();
        let path_prepend = path_directories(prepended, &paths, &map, &mut warnings);
        let configured = configured_roots(doc, host.home);
        let roots = exec_roots::roots(configured.as_deref(), &map, &paths, &mut warnings);
        let (mut network, notes) = network(doc, host, agent);
        warnings.extend(notes);
        let mut programs = programs(&modes, entries, skills, carriers(doc), safe_bins, strict(&layers));
        let (outside, notes) = elevated_policy::outside(doc, &written, &map);
        programs.outside = outside;
        warnings.extend(notes);
        project::restrict(host.projects, &mut programs, &mut network);
        warnings.extend(project::warnings(host, agent, &map, &programs));
        let mut policy = Policy {
            agent: agent.to_owned(),
            home: host.home.to_vec(),
            workspace: host.workspace.root.clone().filter(|_| is_of_workspaces),
            map,
            read_bound: ReadBound::compile(doc, &layers),
            programs,
            roots,
            timeout_ms: doc.exec.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
            running_notice_ms: doc.exec.running_notice_ms.unwrap_or(DEFAULT_RUNNING_NOTICE_MS),
            approvals: approvals(doc, extended.as_ref()),
            gateway_token,
            unix_datagram: doc.network.unix_datagram.unwrap_or(true),
            network,
            tools: ToolLists {
                allow: doc.tools.allow.clone(),
                also_allow: None,
                deny: doc.tools.deny.clone(),
            },
            allow_ptrace: doc.exec.allow_ptrace.unwrap_or(false),
            audit: AuditSettings::from_document(&doc.audit),
            node: NodeSettings::from_document(&doc.node),
            limits: Limits::from_document(&doc.limits),
            elevated: elevated_policy::settings(doc, agent),
            inherit: doc.exec.environment.unwrap_or_default(),
            path_prepend,
            warnings,
            extended: extended.map(Arc::new),
        };
        if let Some(enclosure) = host.enclosure {
            enclosure.close(&mut policy);
        }
        Ok(policy)
    }
}

/// Compiles what a document says of files, and what answers, projects and persistence add. Returns warnings about it, too.
fn path_rules(
    host: &Host<'_>,
    agent: &str,
    layers: &[Layer<'_>],
    ask: Ask,
    token: Option<&TokenFile<'_>>,
) -> (PathRules, Vec<String>) {
    let mut builder = MapBuilder::new(host, ask);
    builder.enclose(host.enclosure);
    always_denied(&mut builder, host);
    if let Some(token) = token {
        token.deny(&mut builder);
    }
    denies(&mut builder, layers, &host.workspace);
    rules(&mut builder, layers, &host.workspace);
    quiet(&mut builder, layers, &host.workspace);
    if let Some(profile) = host.profile {
        // After the rules: of two equal patterns the first counts.
        profile.add_rules(&mut builder);
    }
    if layers.iter().find_map(|l| l.permissions.base).unwrap_or(true) {
        builder.base();
    }
    let (default, default_reason) = default(layers);
    builder.answers(&host.own, agent);
    let protection = |set| protection(layers.iter().map(Layer::persistence), set);
    let asking = if ask == Ask::Off { Asking::No } else { Asking::Yes };
    builder.persistence(persistence::protected_paths(host, Hint::Key, asking, protection));
    builder.projects(host.projects, agent);
    builder.former_policies(&host.former_policies);
    builder.finish(default, default_reason)
}

/// Compiles the allowlists of the agent's sections. Returns warnings about them, too.
fn allowlist(layers: &[Layer<'_>], paths: &Paths<'_>, map: &PathRules) -> (Vec<CompiledEntry>, Vec<String>) {
    let (mut entries, mut warnings) = (Vec::new(), Vec::new());
    for layer in layers {
        let list = layer.agent.map_or(&[][..], |a| &a.allowlist);
        for (i, entry) in list.iter().enumerate() {
            let path = format!("{}allowlist[{i}]", layer.prefix);
            let reason = CompiledReason {
                source: layer.source,
                rule: format!("{}allowlist \"{}\"", layer.prefix, entry.pattern),
                text: format!("the allowlist has \"{}\"", entry.pattern),
                path,
            };
            let compiled = CompiledEntry::compile(entry, paths, map, reason);
            entries.extend(compiled.entry);
            warnings.extend(compiled.warning);
        }
    }
    (entries, warnings)
}

/// Returns the carriers, and what has set them.
fn carriers(doc: &Document) -> (Vec<String>, Source) {
    match &doc.exec.carriers {
        Some(list) => (list.clone(), Source::Global),
        None => (DEFAULT_CARRIERS.map(str::to_owned).to_vec(), Source::Default),
    }
}

/// Returns `exec.roots` as paths.
fn configured_roots(doc: &Document, home: &[u8]) -> Option<Vec<Vec<u8>>> {
    let root = |dir: &String| {
        let Expanded { literal, pattern } = expand_home(dir, home);
        let whole = [&literal, pattern.as_bytes()].concat();
        if whole.len() > 1 { whole.strip_suffix(b"/").unwrap_or(&whole).to_vec() } else { whole }
    };
    doc.exec.roots.as_ref().map(|list| list.iter().map(root).collect())
}

/// Compiles `network`, with the origins that a human has allowed "always". Returns warnings about it, too.
fn network(doc: &Document, host: &Host<'_>, agent: &str) -> (Network, Vec<String>) {
    let asked = doc.approvals.gateway.url();
    let (mut network, mut warnings) =
        Network::compile(&doc.network, &host.gateway, asked, &host.resolvers, PrivateAccess::Deny);
    let (origins, notes) = host.own.origins(agent);
    network.answer(origins);
    warnings.extend(notes);
    (network, warnings)
}

/// Returns `approvals`; the routes may be the template's.
fn approvals(doc: &Document, extended: Option<&ExtendedTemplate>) -> Approvals {
    let mut approvals = doc.approvals.clone();
    if let (None, Some(extended)) = (&approvals.routes, extended) {
        approvals.routes.clone_from(&extended.document.approvals.routes);
    }
    approvals
}

/// Returns whether the programs of skills count.
fn has_skills(layers: &[Layer<'_>]) -> bool {
    layers.iter().find_map(|layer| layer.mode.auto_allow_skills).unwrap_or(false)
}

/// Returns what set `strictInlineEval`, if it is on.
fn strict(layers: &[Layer<'_>]) -> Option<(Source, String)> {
    let (layer, on) = layers.iter().find_map(|layer| layer.mode.strict_inline_eval.map(|on| (layer, on)))?;
    on.then(|| (layer.source, format!("{}exec.strictInlineEval", layer.prefix)))
}

fn skills(doc: &Document, paths: &Paths<'_>, map: &PathRules) -> Vec<CompiledEntry> {
    let entry = |(i, bin): (usize, &SkillBin)| {
        let reason = CompiledReason {
            source: Source::Global,
            path: format!("exec.skills.bins[{i}]"),
            rule: format!("exec.skills.bins \"{}\"", bin.name),
            text: format!("{} belongs to a skill, and exec.autoAllowSkills is on", bin.name),
        };
        let written = AllowlistEntry { pattern: bin.resolved_path.clone(), ..AllowlistEntry::default() };
        CompiledEntry::compile(&written, paths, map, reason).entry
    };
    doc.exec.skills.bins.iter().enumerate().filter_map(entry).collect()
}

fn denies(builder: &mut MapBuilder<'_>, layers: &[Layer<'_>], workspace: &Workspace) {
    for layer in layers {
        let section = format!("{}permissions.filesystem.deny", layer.prefix);
        for pattern in &layer.permissions.filesystem.deny {
            for expanded in workspace.denials(pattern, builder.paths.home) {
                let reason = CompiledReason {
                    source: layer.source,
                    path: format!("{section}[\"{pattern}\"]"),
                    rule: format!("{section} \"{pattern}\""),
                    text: format!("\"{pattern}\" is denied{}", here(pattern, &expanded)),
                };
                builder.deny(&expanded, &reason);
            }
        }
    }
}

fn quiet(builder: &mut MapBuilder<'_>, layers: &[Layer<'_>], workspace: &Workspace) {
    for layer in layers {
        let section = format!("{}permissions.filesystem.quiet", layer.prefix);
        for pattern in &layer.permissions.filesystem.quiet {
            for expanded in workspace.denials(pattern, builder.paths.home) {
                let reason = CompiledReason {
                    source: layer.source,
                    path: format!("{section}[\"{pattern}\"]"),
                    rule: format!("{section} \"{pattern}\""),
                    text: format!(
                        "\"{pattern}\" is quiet{}: what no rule allows is denied there, and nobody is asked",
                        here(pattern, &expanded)
                    ),
                };
                builder.quiet(&expanded, reason);
            }
        }
    }
}

fn rules(builder: &mut MapBuilder<'_>, layers: &[Layer<'_>], workspace: &Workspace) {
    // Keyed by the expanded pattern, so that `~/a/` replaces `/home/u/a/**`. If one layer has two spellings, both stay.
    // They are equally long, so they grant only what both grant.
    let mut decided: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for (depth, layer) in layers.iter().enumerate() {
        let section = format!("{}permissions.filesystem.rules", layer.prefix);
        for (pattern, permission) in &layer.permissions.filesystem.rules {
            for expanded in workspace.rules(pattern, *permission, builder.paths.home) {
                let key = [&expanded.literal, expanded.pattern.as_bytes()].concat();
                if *decided.entry(key).or_insert(depth) != depth {
                    continue;
                }
                let reason = CompiledReason {
                    source: layer.source,
                    path: format!("{section}[\"{pattern}\"]"),
                    rule: format!("{section} \"{pattern}\": \"{permission}\""),
                    text: format!("\"{pattern}\" {}{}", permission.in_words(), here(pattern, &expanded)),
                };
                builder.rule(&expanded, *permission, reason);
            }
        }
    }
}

/// Returns what a pattern with a placeholder stands for on this host, as a remark. Empty for other patterns.
fn here(pattern: &str, expanded: &Expanded) -> String {
    match names_workspace(pattern) {
        true => format!(" (here {}{})", show(&expanded.literal), expanded.pattern),
        false => String::new(),
    }
}

fn default(layers: &[Layer<'_>]) -> (Permission, CompiledReason) {
    let found = layers.iter().find_map(|l| l.permissions.filesystem.default.map(|d| (d, l)));
    let (permission, source, prefix) = match found {
        Some((permission, layer)) => (permission, layer.source, layer.prefix.as_str()),
        None => (Permission(Rights::NONE), Source::Default, ""),
    };
    (permission, default_reason(permission, source, &format!("{prefix}permissions.filesystem.default")))
}
