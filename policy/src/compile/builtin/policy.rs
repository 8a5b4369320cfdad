//! The policy without a `guard.json`: ordinary work needs no prompt, secrets are out of reach, the
//! rest is asked for. The lists are in `system.rs`.

use super::system::{DENIED, PROGRAMS, QUIET, RULES, SCRIPTS, TICKETS, TOOLCHAINS};
use crate::compile::builder::MapBuilder;
use crate::compile::every_policy::{
    DEFAULT_RUNNING_NOTICE_MS, DEFAULT_TIMEOUT_MS, always_denied, default_reason, host_entries, programs,
};
use crate::compile::modes::default_modes;
use crate::compile::project;
use crate::compile::stores::openclaw::Stores;
use crate::config::allowlist_entry::AllowlistEntry;
use crate::config::approvals::Approvals;
use crate::config::audit::AuditSettings;
use crate::config::elevated::ElevatedSettings;
use crate::config::limits::Limits;
use crate::config::network::{self, PrivateAccess};
use crate::config::node::NodeSettings;
use crate::config::persistence::Protection;
use crate::environment::Inherit;
use crate::network::Network;
use crate::paths::exec_roots::is_below;
use crate::paths::expansion::{Expanded, expand, show};
use crate::paths::persistence::{Asking, Hint};
use crate::paths::{exec_roots, persistence};
use crate::programs::DEFAULT_CARRIERS;
use crate::programs::allowlist::CompiledEntry;
use crate::programs::modes::Modes;
use crate::programs::safe_bins::SafeBins;
use crate::tools::ToolLists;
use crate::verdict::CompiledReason;
use crate::{Grant, Host, Overrides, Permission, Policy, Rights, Source};

const ASKED: Permission = Permission(Rights::all(Grant::Ask));
const PROJECT: Permission = Permission(Rights::ALL);
const TOOLS: Permission = Permission(Rights { r: Grant::Yes, w: Grant::No, x: Grant::Yes });
/// Without the right to read, a program could not start at all: its directory would be no exec root.
const STARTED_IF_APPROVED: Permission = Permission(Rights { r: Grant::Yes, w: Grant::No, x: Grant::Ask });
const LISTED: Permission = Permission(Rights { r: Grant::Yes, w: Grant::No, x: Grant::No });
const TEMPORARY: Permission = Permission(Rights { r: Grant::Yes, w: Grant::Yes, x: Grant::Ask });

impl Policy {
    /// Returns the policy used without a `guard.json`.
    pub fn without_file(agent: &str, host: &Host, overrides: &Overrides) -> Policy {
        let paths = host.paths();
        let modes = default_modes(agent, host, overrides);
        let is_project = is_project(host);
        let toolchains = toolchains(host, &modes);

        let mut builder = lists(host, &modes);
        for dir in &toolchains {
            rule(&mut builder, &hierarchy(dir), TOOLS);
        }
        for scripts in SCRIPTS.map(|directory| [host.home, directory.as_bytes()].concat()) {
            let is_known = toolchains.iter().any(|dir| is_below(&scripts, dir));
            if !is_known && scripts != host.cwd {
                rule(&mut builder, &hierarchy(&scripts), STARTED_IF_APPROVED);
            }
        }
        builder.warnings.extend(start_warning(host));
        if let Some(profile) = host.profile {
            profile.add_rules(&mut builder);
        }
        builder.base();
        let default = default_reason(ASKED, Source::Builtin, "builtin.default");
        builder.answers(&host.own, agent);
        let asking = if modes.ask() == crate::Ask::Off { Asking::No } else { Asking::Yes };
        let protected =
            persistence::protected_paths(host, Hint::WithoutFile, asking, |_| Protection::DEFAULT);
        builder.persistence(protected);
        builder.projects(host.projects, agent);
        builder.former_policies(&host.former_policies);
        let (map, mut warnings) = builder.finish(ASKED, default);

        let listed = |pattern: &&str| {
            let entry = AllowlistEntry { pattern: (*pattern).to_owned(), ..AllowlistEntry::default() };
            CompiledEntry::compile(&entry, &paths, &map, allowlist_reason(pattern)).entry
        };
        let mut entries: Vec<CompiledEntry> = PROGRAMS.iter().chain(&TOOLCHAINS).filter_map(listed).collect();
        let built = is_project.then(|| [host.cwd.to_vec(), npx(host)]).into_iter().flatten();
        entries.extend(toolchains.iter().cloned().chain(built).map(|dir| {
            let Expanded { literal, pattern } = hierarchy(&dir);
            CompiledEntry::at(&literal, &pattern, allowlist_reason(&format!("{}/**", show(&dir))))
        }));
        let stores = Stores::new(host, false);
        let (on_host, notes) = host_entries(host, agent, modes.ask(), &stores, false, &map);
        entries.extend(on_host);
        warnings.extend(notes);
        let carriers = (DEFAULT_CARRIERS.map(str::to_owned).to_vec(), Source::Builtin);
        let roots = exec_roots::roots(None, &map, &paths, &mut warnings);
        let (mut network, notes) = Network::compile(
            &network::Network::default(),
            &host.gateway,
            None,
            &host.resolvers,
            PrivateAccess::Ask,
        );
        warnings.extend(notes);
        let mut programs = programs(&modes, entries, Vec::new(), carriers, SafeBins::default(), None);
        project::restrict(host.projects, &mut programs, &mut network);
        warnings.extend(project::warnings(host, agent, &map, &programs));
        let mut policy = Policy {
            agent: agent.to_owned(),
            home: host.home.to_vec(),
            workspace: None,
            map,
            programs,
            roots,
            timeout_ms: DEFAULT_TIMEOUT_MS,
            running_notice_ms: DEFAULT_RUNNING_NOTICE_MS,
            approvals: Approvals::default(),
            gateway_token: None,
            read_bound: None,
            unix_datagram: true,
            tools: ToolLists::default(),
            network,
            allow_ptrace: false,
            audit: AuditSettings::default(),
            node: NodeSettings::default(),
            limits: Limits::default(),
            elevated: ElevatedSettings::default(),
            inherit: Inherit::default(),
            path_prepend: Vec::new(),
            extended: None,
            warnings,
        };
        if let Some(enclosure) = host.enclosure {
            enclosure.close(&mut policy);
        }
        policy
    }
}

/// Returns whether the start directory is the project to work on.
fn is_project(host: &Host<'_>) -> bool {
    !is_below(host.home, host.cwd) && host.persistence_sites.start_link.is_none()
}

/// Returns why the start directory is not a project. `None` if it is one.
fn start_warning(host: &Host<'_>) -> Option<String> {
    if let Some(link) = &host.persistence_sites.start_link {
        return Some(format!(
            "{} is a symbolic link that a guarded program may have made, and it led to this directory: the guard \
             asks about every file in it. Start in {} itself to avoid that.",
            show(link),
            show(host.cwd)
        ));
    }
    (!is_project(host)).then(|| {
        format!(
            "{} is your home directory or contains it: the guard asks about every file in it. Start in a \
             project's directory to avoid that.",
            show(host.cwd)
        )
    })
}

/// Where npx unpacks the programs that it starts. In a project, such a program can do no more than a program of the project.
fn npx(host: &Host<'_>) -> Vec<u8> {
    [host.home, b"/.npm/_npx"].concat()
}

/// Collects all rules except those for the toolchains.
fn lists<'a>(host: &Host<'a>, modes: &Modes) -> MapBuilder<'a> {
    let mut builder = MapBuilder::new(host, modes.ask());
    builder.of_many_runs();
    builder.enclose(host.enclosure);
    always_denied(&mut builder, host);
    let is_anothers = |pattern: &&str| host.profile.is_none_or(|profile| !profile.owns(pattern));
    let denied = DENIED.iter().flat_map(|list| list.split_whitespace()).chain(TICKETS);
    for pattern in denied.filter(is_anothers) {
        let reason = CompiledReason {
            source: Source::Builtin,
            path: format!("builtin.deny[\"{pattern}\"]"),
            rule: format!("builtin deny \"{pattern}\""),
            text: format!("\"{pattern}\" holds secrets"),
        };
        builder.deny_around(&expand(pattern, host.home), &reason);
    }
    for (variable, path) in &host.named_secrets {
        let reason = CompiledReason {
            source: Source::Builtin,
            path: format!("builtin.deny[\"{variable}\"]"),
            rule: format!("builtin deny \"{variable}\""),
            text: format!("what {variable} names holds secrets"),
        };
        let named = Expanded { literal: path.clone(), pattern: String::new() };
        builder.deny_around(&named, &reason);
    }
    for pattern in QUIET.iter().flat_map(|list| list.split_whitespace()) {
        let reason = CompiledReason {
            source: Source::Builtin,
            path: format!("builtin.quiet[\"{pattern}\"]"),
            rule: format!("builtin quiet \"{pattern}\""),
            text: format!("\"{pattern}\" is quiet: programs look there at every start, and nobody is asked"),
        };
        builder.quiet(&expand(pattern, host.home), reason);
    }
    for (permission, list) in RULES {
        // The lists are checked by a test.
        let Some(permission) = Permission::parse(permission) else { continue };
        for pattern in list.split_whitespace() {
            rule(&mut builder, &expand(pattern, host.home), permission);
        }
    }
    for dir in &host.temp_dirs {
        if dir.len() > 1 {
            rule(&mut builder, &hierarchy(dir), TEMPORARY);
        }
    }
    // A home below a temporary directory is still a home.
    if host.temp_dirs.iter().any(|dir| dir.len() > 1 && is_below(host.home, dir)) {
        rule(&mut builder, &hierarchy(host.home), ASKED);
    }
    let project = is_project(host);
    rule(&mut builder, &hierarchy(host.cwd), if project { PROJECT } else { ASKED });
    if project {
        rule(&mut builder, &hierarchy(&npx(host)), PROJECT);
    }
    // Tools search upward for the top of a project. The names there are not secret.
    let above = (0..host.cwd.len()).filter(|i| host.cwd[*i] == b'/').map(|i| &host.cwd[..i.max(1)]);
    for dir in above.chain([host.home]) {
        if dir != host.cwd {
            rule(&mut builder, &Expanded { literal: dir.to_vec(), pattern: String::new() }, LISTED);
        }
    }
    builder
}

/// Returns the directories of `$PATH` that neither the tree nor an earlier run can write, with their surroundings: for a
/// `bin` directory its parent, which holds the libraries.
pub(crate) fn toolchains(host: &Host, modes: &Modes) -> Vec<Vec<u8>> {
    if host.path_dirs.is_empty() {
        return Vec::new();
    }
    let reason = default_reason(ASKED, Source::Builtin, "builtin.default");
    let (map, _) = lists(host, modes).finish(ASKED, reason);
    let too_wide = |dir: &[u8]| {
        let local = [host.home, b"/.local"].concat();
        dir.len() <= 1 || dir == local || is_below(host.home, dir) || is_below(host.cwd, dir)
    };
    let mut dirs: Vec<Vec<u8>> = Vec::new();
    for dir in &host.path_dirs {
        let dir = dir.strip_suffix(b"/").unwrap_or(dir);
        let known = map.find(dir).rights;
        let is_written = known.w == Grant::Yes || host.earlier_runs.may_write(dir);
        let elsewhere = !is_written && !known.within(TOOLS.0) && !too_wide(dir);
        if !elsewhere || !dir.starts_with(b"/") {
            continue;
        }
        // npm's node_modules/.bin contains links to the packages beside it.
        let links = dir.strip_suffix(b"/.bin").filter(|parent| parent.ends_with(b"/node_modules"));
        let parent = dir.strip_suffix(b"/bin").or_else(|| dir.strip_suffix(b"/sbin")).or(links);
        let is_deep = |top: &[u8]| top.iter().filter(|b| **b == b'/').count() > 1;
        let top = parent.filter(|top| is_deep(top) && !too_wide(top) && !host.earlier_runs.may_write_in(top));
        dirs.push(top.unwrap_or(dir).to_vec());
    }
    dirs.sort();
    dirs.dedup();
    dirs
}

fn hierarchy(dir: &[u8]) -> Expanded {
    Expanded { literal: dir.strip_suffix(b"/").unwrap_or(dir).to_vec(), pattern: "/**".to_owned() }
}

fn rule(builder: &mut MapBuilder<'_>, expanded: &Expanded, permission: Permission) {
    let home = builder.paths.home.to_vec();
    let shown = match expanded.literal.strip_prefix(&*home) {
        Some(rest) if home.len() > 1 && (rest.is_empty() || rest.starts_with(b"/")) => {
            format!("~{}{}", show(rest), expanded.pattern)
        }
        _ => format!("{}{}", show(&expanded.literal), expanded.pattern),
    };
    let reason = CompiledReason {
        source: Source::Builtin,
        path: format!("builtin.rules[\"{shown}\"]"),
        rule: format!("builtin \"{shown}\": \"{permission}\""),
        text: format!("without a guard.json, \"{shown}\" {}", permission.in_words()),
    };
    builder.rule(expanded, permission, reason);
}

fn allowlist_reason(pattern: &str) -> CompiledReason {
    CompiledReason {
        source: Source::Builtin,
        path: format!("builtin.allowlist[\"{pattern}\"]"),
        rule: format!("builtin allowlist \"{pattern}\""),
        text: format!("without a guard.json, programs at \"{pattern}\" may start"),
    }
}
