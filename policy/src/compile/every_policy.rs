//! What a policy has with and without a file.

use super::builder::MapBuilder;
use super::project;
use super::stores::openclaw::Stores;
use crate::paths::expansion::{Expanded, show};
use crate::paths::path_rules::PathRules;
use crate::programs::Programs;
use crate::programs::allowlist::{Allowlist, CompiledEntry};
use crate::programs::modes::Modes;
use crate::programs::reasons::ExecReasons;
use crate::programs::safe_bins::SafeBins;
use crate::verdict::CompiledReason;
use crate::{Ask, Host, Permission, Source};

/// How long a human has to answer if `guard.json` does not set it.
pub(crate) const DEFAULT_TIMEOUT_MS: u64 = 120_000;
/// When OpenClaw 2026.4.12 reports "still running" (src/agents/bash-tools.exec-runtime.ts).
pub(crate) const DEFAULT_RUNNING_NOTICE_MS: u64 = 10_000;

/// Denies the state directory and the guard's own files.
pub(crate) fn always_denied(builder: &mut MapBuilder<'_>, host: &Host) {
    let whole = host.always_denied.iter().map(|path| (path.strip_suffix(b"/").unwrap_or(path).to_vec(), ""));
    let copies = host.copied.iter().map(|path| ([path, &b"."[..]].concat(), "*"));
    for (literal, pattern) in whole.chain(copies) {
        let shown = format!("{}{pattern}", show(&literal));
        let reason = CompiledReason {
            source: Source::Builtin,
            path: format!("builtin.deny[\"{shown}\"]"),
            rule: format!("builtin deny \"{shown}\""),
            text: format!("{shown} is always denied: it belongs to the guard or to OpenClaw"),
        };
        builder.deny_around(&Expanded { literal, pattern: pattern.to_owned() }, &reason);
    }
}

/// Returns the entries for programs that do not come from guard.json: those of the profile, OpenClaw's stores, the guard's
/// own store and projects. Returns warnings about them, too. `has_skills` tells that the programs of skills count.
pub(crate) fn host_entries(
    host: &Host<'_>,
    agent: &str,
    ask: Ask,
    stores: &Stores<'_>,
    has_skills: bool,
    map: &PathRules,
) -> (Vec<CompiledEntry>, Vec<String>) {
    let paths = host.paths();
    let mut entries: Vec<_> =
        host.profile.into_iter().flat_map(|profile| profile.entries(&paths, map)).collect();
    let found = [
        stores.entries(agent, &paths, map, has_skills),
        host.own.entries(agent, &paths, map),
        project::entries(host.projects, agent, ask, &paths, map),
    ];
    let mut warnings = Vec::new();
    for (more, notes) in found {
        entries.extend(more);
        warnings.extend(notes);
    }
    (entries, warnings)
}

/// Returns the reason for a path that no rule covers.
pub(crate) fn default_reason(permission: Permission, source: Source, path: &str) -> CompiledReason {
    CompiledReason {
        source,
        path: path.to_owned(),
        rule: format!("{path} \"{permission}\""),
        text: format!("no rule covers the path, and the default {}", permission.in_words()),
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
        outside: Allowlist::default(),
        skills: Allowlist::new(skills),
        carriers: carriers.0,
        safe_bins,
        reasons,
    }
}
