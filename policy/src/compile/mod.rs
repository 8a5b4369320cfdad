//! Compiles a document to a policy for one agent: agents.NAME over agents."*" over the top level.

mod builder;
pub(crate) mod builtin;
mod gateway_token;
pub(crate) mod host;
pub(crate) mod modes;
pub(crate) mod stores;

use std::collections::BTreeMap;

use crate::config::allowlist_entry::AllowlistEntry;
use crate::config::audit::AuditSettings;
use crate::config::document::{Document, SkillBin};
use crate::config::layers::{Layer, layers};
use crate::config::persistence::switched_off;
use crate::environment::path_directories;
use crate::network::Network;
use crate::paths::exec_roots;
use crate::paths::expansion::{Expanded, Paths, expand, expand_home, show};
use crate::paths::path_rules::PathRules;
use crate::paths::persistence::{self, Hint};
use crate::programs::allowlist::{Allowlist, CompiledEntry};
use crate::programs::modes::Modes;
use crate::programs::reasons::ExecReasons;
use crate::programs::safe_bins::SafeBins;
use crate::programs::{DEFAULT_CARRIERS, Programs};
use crate::verdict::CompiledReason;
use crate::{Host, Overrides, Permission, Policy, Problem, Rights, Source};
use builder::MapBuilder;
use gateway_token::TokenFile;
use modes::modes;
use stores::openclaw::Stores;

/// How long a human has to answer if `guard.json` does not set it.
pub(crate) const DEFAULT_TIMEOUT_MS: u64 = 120_000;
/// When OpenClaw 2026.4.12 reports "still running" (src/agents/bash-tools.exec-runtime.ts).
pub(crate) const DEFAULT_RUNNING_NOTICE_MS: u64 = 10_000;

impl Policy {
    /// Compiles a document for one agent.
    pub fn compile(
        doc: &Document,
        agent: &str,
        host: &Host,
        overrides: &Overrides,
    ) -> Result<Policy, Vec<Problem>> {
        let layers = layers(doc, agent);
        let paths = host.paths();
        let stores = Stores::new(host, doc.approvals.gateway.admin());
        let modes = modes(&layers).tightened(agent, &stores, overrides);

        let mut builder = MapBuilder::new(paths, modes.ask());
        always_denied(&mut builder, host);
        let token = doc.approvals.gateway.token_file().map(|written| TokenFile::new(written, host.home));
        if let Some(token) = &token {
            token.deny(&mut builder);
        }
        denies(&mut builder, &layers);
        rules(&mut builder, &layers);
        if layers.iter().find_map(|l| l.permissions.base).unwrap_or(true) {
            builder.base();
        }
        let (default, default_reason) = default(&layers);
        builder.answers(&host.own, agent);
        let is_on = |set| switched_off(layers.iter().map(Layer::persistence), set).is_none();
        builder.persistence(persistence::protected_paths(host, Hint::Key, is_on));
        let (map, mut warnings) = builder.finish(default, default_reason);
        let gateway_token = token.map(|token| token.vetted_path(&map, &paths));
        warnings.extend(gateway_token::warning(gateway_token.as_ref()));

        let mut entries = Vec::new();
        for layer in &layers {
            let list = layer.agent.map_or(&[][..], |a| &a.allowlist);
            for (i, entry) in list.iter().enumerate() {
                let path = format!("{}allowlist[{i}]", layer.prefix);
                let reason = CompiledReason {
                    source: layer.source,
                    rule: format!("{}allowlist \"{}\"", layer.prefix, entry.pattern),
                    text: format!("the allowlist has \"{}\"", entry.pattern),
                    path,
                };
                let compiled = CompiledEntry::compile(entry, &paths, &map, reason);
                entries.extend(compiled.entry);
                warnings.extend(compiled.warning);
            }
        }
        let has_skills = has_skills(&layers);
        let (openclaw, notes) = stores.entries(agent, &paths, &map, has_skills);
        entries.extend(openclaw);
        warnings.extend(notes);
        let (saved, notes) = host.own.entries(agent, &paths, &map);
        entries.extend(saved);
        warnings.extend(notes);
        let skills = if has_skills { skills(doc, &paths, &map) } else { Vec::new() };
        let carriers = match &doc.exec.carriers {
            Some(list) => (list.clone(), Source::Global),
            None => (DEFAULT_CARRIERS.map(str::to_owned).to_vec(), Source::Default),
        };
        let (safe_bins, unsafe_bins) = SafeBins::compile(&doc.exec, &paths);
        warnings.extend(unsafe_bins);
        let configured: Option<Vec<Vec<u8>>> = doc.exec.roots.as_ref().map(|list| {
            let root = |dir: &String| {
                let Expanded { literal, pattern } = expand_home(dir, host.home);
                let whole = [&literal, pattern.as_bytes()].concat();
                if whole.len() > 1 { whole.strip_suffix(b"/").unwrap_or(&whole).to_vec() } else { whole }
            };
            list.iter().map(root).collect()
        });
        let path_prepend = path_directories(
            doc.exec.path_prepend.as_deref().unwrap_or_default(),
            &paths,
            &map,
            &mut warnings,
        );
        let roots = exec_roots::roots(configured.as_deref(), &map, &paths, &mut warnings);
        let asked = doc.approvals.gateway.url();
        let (network, notes) = Network::compile(&doc.network.connect, &host.gateway, asked);
        warnings.extend(notes);
        Ok(Policy {
            agent: agent.to_owned(),
            home: host.home.to_vec(),
            map,
            programs: programs(&modes, entries, skills, carriers, safe_bins, strict(&layers)),
            roots,
            timeout_ms: doc.exec.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
            running_notice_ms: doc.exec.running_notice_ms.unwrap_or(DEFAULT_RUNNING_NOTICE_MS),
            approvals: doc.approvals.clone(),
            gateway_token,
            unix_datagram: doc.network.unix_datagram.unwrap_or(false),
            network,
            allow_ptrace: doc.exec.allow_ptrace.unwrap_or(false),
            audit: AuditSettings::from_document(&doc.audit),
            inherit: doc.exec.environment.unwrap_or_default(),
            path_prepend,
            warnings,
        })
    }
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

/// Compiles the programs of skills.
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

/// Denies the state directory and the guard's own files.
pub(crate) fn always_denied(builder: &mut MapBuilder<'_>, host: &Host) {
    for path in &host.always_denied {
        let shown = show(path);
        let reason = CompiledReason {
            source: Source::Builtin,
            path: format!("builtin.deny[\"{shown}\"]"),
            rule: format!("builtin deny \"{shown}\""),
            text: format!("{shown} is always denied: it belongs to the guard or to OpenClaw"),
        };
        let literal = path.strip_suffix(b"/").unwrap_or(path).to_vec();
        builder.deny(&Expanded { literal, pattern: String::new() }, &reason);
    }
}

fn denies(builder: &mut MapBuilder<'_>, layers: &[Layer<'_>]) {
    for layer in layers {
        let section = format!("{}permissions.filesystem.deny", layer.prefix);
        for pattern in &layer.permissions.filesystem.deny {
            let reason = CompiledReason {
                source: layer.source,
                path: format!("{section}[\"{pattern}\"]"),
                rule: format!("{section} \"{pattern}\""),
                text: format!("\"{pattern}\" is denied"),
            };
            builder.deny(&expand(pattern, builder.paths.home), &reason);
        }
    }
}

fn rules(builder: &mut MapBuilder<'_>, layers: &[Layer<'_>]) {
    // Keyed by the expanded pattern, so that `~/a/` replaces `/home/u/a/**`. Two spellings in one layer both
    // stay; being equally long, they grant what both grant.
    let mut decided: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for (depth, layer) in layers.iter().enumerate() {
        let section = format!("{}permissions.filesystem.rules", layer.prefix);
        for (pattern, permission) in &layer.permissions.filesystem.rules {
            let expanded = expand(pattern, builder.paths.home);
            let key = [&expanded.literal, expanded.pattern.as_bytes()].concat();
            if *decided.entry(key).or_insert(depth) != depth {
                continue;
            }
            let reason = CompiledReason {
                source: layer.source,
                path: format!("{section}[\"{pattern}\"]"),
                rule: format!("{section} \"{pattern}\": \"{permission}\""),
                text: format!("\"{pattern}\" {}", permission.in_words()),
            };
            builder.rule(&expanded, *permission, reason);
        }
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

pub(crate) fn default_reason(permission: Permission, source: Source, path: &str) -> CompiledReason {
    CompiledReason {
        source,
        path: path.to_owned(),
        rule: format!("{path} \"{permission}\""),
        text: format!("no rule covers the path, and the default is {permission}"),
    }
}

/// Builds the exec side of a policy, with its reasons.
pub(crate) fn programs(
    modes: &Modes,
    entries: Vec<CompiledEntry>,
    skills: Vec<CompiledEntry>,
    carriers: (Vec<String>, Source),
    safe_bins: SafeBins,
    strict: Option<(Source, String)>,
) -> Programs {
    let reasons = ExecReasons::new(modes, carriers.1);
    let strict_inline_eval = strict.map(|source| CompiledReason {
        source: source.0,
        path: source.1.clone(),
        rule: source.1,
        text: "its arguments contain code, which is asked about every time".to_owned(),
    });
    Programs {
        strict_inline_eval,
        security: modes.security.value,
        ask: modes.ask.value,
        fallback: modes.fallback.value,
        allowlist: Allowlist::new(entries),
        skills: Allowlist::new(skills),
        carriers: carriers.0,
        safe_bins,
        reasons,
    }
}
