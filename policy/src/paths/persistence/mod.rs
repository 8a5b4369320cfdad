//! Persistence: places where the tree could leave something that runs later, outside the guard.
//!
//! The guard denies `w` there or asks about it, even if a rule, an answer or the default grants it. Reading and
//! executing are unaffected. Some are literal paths and whole directories; others are known by their shape, wherever
//! they are. While a shape is protected, no directory is writable as a whole, so the guard leaves no writes to the
//! kernel.

mod components;
mod git_data;
mod git_directory;
mod git_locked;
mod git_parts;
mod listed_places;
mod lists;
mod protected;
mod set;
mod shapes;
mod sites;
mod tails;
mod variables;

use std::sync::Arc;

use foldhash::{HashSet, HashSetExt};

use super::exec_roots::is_below;
use super::glob::Glob;
use crate::config::persistence::Protection;
use crate::paths::entry::CompiledPattern;
use crate::programs::name::basename;
use crate::verdict::CompiledReason;
use crate::{Grant, Host, Rights, Source};
pub use components::{Shape, ShapeKind};
use git_locked::is_config;
pub use git_locked::{GitContent, GitLockedNames};
pub use git_parts::{GitLook, GitPart};
use lists::{Start, paths_of};
pub(crate) use protected::ProtectedPaths;
pub use protected::REPLACEMENT;
pub use set::LinkedSet;
pub(crate) use set::Set;
pub(crate) use shapes::{Shapes, lies_in_packages};
pub use sites::PersistenceSites;

/// The most that a protected place grants: everything, but `w` is denied or asked about.
fn ceiling(w: Grant) -> Rights {
    Rights { r: Grant::Yes, w, x: Grant::Yes }
}

/// Whether somebody can be asked under this policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// `exec.ask` lets questions be asked.
    Yes,
    /// Nobody is asked.
    No,
}

/// The usual directories of programs of a Python environment (venv(3py), virtualenv, uv).
const ENVIRONMENTS: [&[u8]; 2] = [b"/venv/bin", b"/.venv/bin"];

/// What a denial suggests so that the write is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The key to set in the existing guard.json.
    Key,
    /// Nothing: there is no guard.json, and one written for this key alone would replace the whole policy.
    WithoutFile,
}

/// Returns the protected places of all sets that are on.
pub(crate) fn protected_paths(
    host: &Host<'_>,
    hint: Hint,
    asking: Asking,
    protection: impl Fn(Set) -> Protection,
) -> ProtectedPaths {
    let mut making = Making { host, entries: Vec::new(), own: None, others: HashSet::new(), w: Grant::No };
    let (mut reasons, mut configs) = (Vec::new(), HashSet::new());
    let is_asked = |set: Set, start: Start, rest: &str| match protection(set) {
        _ if asking == Asking::No || set == Set::Guard => false,
        Protection::Project => lists::is_asked(set, start, rest),
        Protection::Ask => lists::may_be_asked(rest),
        Protection::Off | Protection::Deny => false,
    };
    let is_on = |set: &Set| protection(*set) != Protection::Off;
    let moved = host.persistence_sites.moved_homes(host.home);
    let config_reason = is_on(&Set::Git).then(|| Arc::new(git_config_reason(hint)));
    for set in Set::ALL.into_iter().filter(is_on) {
        let reason = Arc::new(reason(set, hint));
        reasons.push((set, Arc::clone(&reason)));
        // A name with a number is known by its shape.
        for (start, rest) in paths_of(set).filter(|(_, rest)| !rest.contains('#')) {
            making.w = if is_asked(set, start, rest) { Grant::Ask } else { Grant::No };
            for (top, rest) in places(host, &moved, start, rest) {
                let whole = rest.trim_end_matches('/');
                if let Some(at) = rest.find('*').and_then(|star| whole[..star].rfind('/')) {
                    let directory = [top, &rest.as_bytes()[..at]].concat();
                    making.add_names(&directory, &whole[at..], &reason);
                    if whole != rest {
                        making.add_names(&directory, &format!("{}/**", &whole[at..]), &reason);
                    }
                    continue;
                }
                let path = [top, rest.as_bytes()].concat();
                let reason = match &config_reason {
                    Some(config) if start == Start::Git && is_config(&rest.as_bytes()[1..]) => {
                        configs.insert(path.clone());
                        making.own = Some(path.clone());
                        config
                    }
                    _ => &reason,
                };
                making.add(&path, reason);
                making.own = None;
                if set == Set::Shell {
                    // Instead of a file zsh reads a newer compiled one beside it, and instead of a directory of
                    // functions a digest (zshbuiltins(1), `source`; zshmisc(1), "Autoloading Functions").
                    making.add(&[path.strip_suffix(b"/").unwrap_or(&path), b".zwc"].concat(), reason);
                }
            }
        }
        let sites = &host.persistence_sites;
        // Ask about these places as about places in a workspace.
        making.w = if is_asked(set, Start::Workspace, "/") { Grant::Ask } else { Grant::No };
        for path in sites.named_by_variables(set, host.home) {
            // Some variables of git and Mercurial name directories.
            match set == Set::Git && !is_below(host.cwd, &path) {
                true => making.add_whole(&path, &reason),
                false => making.add(&path, &reason),
            }
        }
        match set {
            Set::Agents => sites.agents.iter().for_each(|path| making.add(path, &reason)),
            Set::Git => sites.git_others.iter().for_each(|path| making.add_whole(path, &reason)),
            Set::Guard => sites.guard.iter().for_each(|path| making.add(path, &reason)),
            Set::Editors => sites.tmux.iter().for_each(|path| making.add_whole(path, &reason)),
            Set::Path => {
                let written = sites.path_as_written.iter().filter(|dir| !host.path_dirs.contains(dir));
                // An entry of PATH as written may lead to the work, through a link or as `.`.
                let leads_to_protected = |dir: &&Vec<u8>| {
                    is_protected_path_directory(host, dir)
                        && (host.trail)(dir).last().is_none_or(|end| is_protected_path_directory(host, end))
                };
                host.path_dirs.iter().chain(written).filter(leads_to_protected).for_each(|dir| {
                    making.add(&[dir, &b"/"[..]].concat(), &reason);
                    // With this file, the directory would count as one of an environment at the next start, and would
                    // not be protected.
                    making.add(&[around(dir), b"/pyvenv.cfg"].concat(), &reason);
                    // bash-completion loads completions from beside each directory of programs (its README, "FAQ").
                    if dir.ends_with(b"/bin") || dir.ends_with(b"/sbin") {
                        making.add(&[around(dir), b"/share/bash-completion/"].concat(), &reason);
                    }
                });
            }
            _ => {}
        }
    }
    let homes = tops(host, Start::Home).into_iter().map(<[u8]>::to_vec).collect();
    let asked: Vec<Set> = Set::ALL.into_iter().filter(|set| is_asked(*set, Start::Workspace, "/")).collect();
    let is_asking = !asked.is_empty() || making.entries.iter().any(|entry| entry.rights.w == Grant::Ask);
    let shapes = Shapes::new(reasons, config_reason, homes, &host.persistence_sites, asked);
    configs.retain(|path| !making.others.contains(path));
    ProtectedPaths::new(making.entries, configs, shapes, is_asking.then(replacement_reason))
}

fn reason(set: Set, hint: Hint) -> CompiledReason {
    let (name, when) = (set.as_str(), set.when());
    let rule = format!("builtin persistence \"{name}\": runs outside the guard {when}");
    let rule = match hint {
        Hint::Key => {
            format!("{rule}; \"permissions\": {{\"persistence\": {{\"{name}\": false}}}} allows it")
        }
        Hint::WithoutFile => rule,
    };
    CompiledReason {
        source: Source::Builtin,
        path: format!("permissions.persistence.{name}"),
        rule,
        text: format!("what is written there runs outside the guard {when} (persistence \"{name}\")"),
    }
}

/// The reason for the guard's own file beside one that it is about to replace.
fn replacement_reason() -> CompiledReason {
    let rule = "the name .openclaw-guard.new is reserved for the guard's own files".to_owned();
    CompiledReason {
        source: Source::Builtin,
        path: "permissions.persistence.guard".to_owned(),
        rule: format!("builtin persistence: {rule}"),
        text: rule,
    }
}

/// The reason for a repository's configuration, in which git may change keys that run nothing.
fn git_config_reason(hint: Hint) -> CompiledReason {
    let CompiledReason { source, path, rule, text } = reason(Set::Git, hint);
    let but = "without a question, only git itself may change keys there, and only those that run nothing";
    let (what, more) = rule.split_once("; ").unwrap_or((&rule, ""));
    let end = if more.is_empty() { String::new() } else { format!("; {more}") };
    CompiledReason { source, path, rule: format!("{what}; {but}{end}"), text: format!("{text}; {but}") }
}

/// Returns the directories that places with this start are relative to.
fn tops<'h>(host: &'h Host<'_>, start: Start) -> Vec<&'h [u8]> {
    let sites = &host.persistence_sites;
    let homes = || [host.home].into_iter().chain(sites.homes.iter().map(Vec::as_slice));
    match start {
        Start::Root => vec![b""],
        Start::Home => homes().collect(),
        Start::Config => sites.config.iter().map(Vec::as_slice).collect(),
        Start::Data => sites.data.iter().map(Vec::as_slice).collect(),
        Start::Cache => sites.cache.iter().map(Vec::as_slice).collect(),
        Start::Workspace => sites.workspaces.iter().map(Vec::as_slice).collect(),
        Start::Git => sites.git_directories.iter().map(Vec::as_slice).collect(),
    }
}

/// Returns the places that a listed one stands for: the directory that it is relative to, and the rest. `moved` are the
/// directories that variables name in place of those in a home.
fn places<'p>(
    host: &'p Host<'_>,
    moved: &'p [(&'static str, Vec<u8>)],
    start: Start,
    rest: &'static str,
) -> Vec<(&'p [u8], &'static str)> {
    let holds_work = |dir: &[u8]| {
        is_below(host.cwd, dir) || host.persistence_sites.workspaces.iter().any(|top| is_below(top, dir))
    };
    let elsewhere = moved.iter().filter(|_| start == Start::Home).filter_map(|(place, dir)| {
        let rest = rest.strip_prefix(place).filter(|rest| rest.starts_with('/'))?;
        // If the directory contains the work, only single files directly in it count.
        let is_file = !rest.ends_with('/') && rest.matches('/').count() == 1;
        // CURL_HOME takes the place of the whole home, but for curl alone.
        let is_meant = !place.is_empty() || rest == "/.curlrc";
        (is_meant && (is_file || !holds_work(dir))).then_some((dir.as_slice(), rest))
    });
    tops(host, start).into_iter().map(|top| (top, rest)).chain(elsewhere).collect()
}

/// Returns whether a directory of `PATH` is protected. A directory is not protected if it contains the work, or if it
/// is in a workspace and a package manager installs programs there (`node_modules/.bin`, a Python environment).
fn is_protected_path_directory(host: &Host<'_>, dir: &[u8]) -> bool {
    let sites = &host.persistence_sites;
    let holds_work = is_below(host.cwd, dir) || sites.workspaces.iter().any(|top| is_below(top, dir));
    let is_in_work = sites.workspaces.iter().any(|top| is_below(dir, top));
    let exists = |path: &[u8]| (host.realpath)(path).is_some();
    let is_environment = || {
        dir.ends_with(b"/node_modules/.bin")
            || exists(&[around(dir), b"/pyvenv.cfg"].concat())
            // If somebody has removed an environment while it was active, it is made again under its name.
            || ENVIRONMENTS.iter().any(|name| dir.ends_with(name)) && !exists(dir)
    };
    !(holds_work || is_in_work && is_environment())
}

/// Returns the directory that contains another.
fn around(dir: &[u8]) -> &[u8] {
    dir.iter().rposition(|byte| *byte == b'/').map_or(dir, |at| &dir[..at])
}

struct Making<'a> {
    host: &'a Host<'a>,
    entries: Vec<CompiledPattern>,
    /// The configuration of git's that is being added.
    own: Option<Vec<u8>>,
    /// Files named like a configuration of git's that were also added for another reason.
    others: HashSet<Vec<u8>>,
    /// The most that `w` becomes at the places that are being added.
    w: Grant,
}

impl Making<'_> {
    /// Adds a path as written, as resolved, and each symbolic link on the way. A trailing slash means a
    /// directory with everything in it.
    fn add(&mut self, path: &[u8], reason: &Arc<CompiledReason>) {
        let (path, is_directory) = match path.strip_suffix(b"/") {
            Some(path) => (path, true),
            None => (path, false),
        };
        if !path.starts_with(b"/") {
            return;
        }
        self.one(path, is_directory, reason);
        let mut trail = (self.host.trail)(path);
        let end = trail.pop();
        for link in trail {
            self.one(&link, false, reason);
        }
        // A link to /dev/null switches a file off: the guard does not protect its target.
        let is_protected = |end: &Vec<u8>| {
            !is_below(self.host.home, end) && ![&b"/dev"[..], b"/proc"].iter().any(|top| is_below(end, top))
        };
        if let Some(end) = end.filter(|end| end != path && is_protected(end)) {
            self.one(&end, is_directory, reason);
        }
    }

    /// Adds a path that may be a file or a directory. A directory is then protected with everything in it.
    fn add_whole(&mut self, path: &[u8], reason: &Arc<CompiledReason>) {
        self.add(path, reason);
        self.add(&[path, &b"/"[..]].concat(), reason);
    }

    /// Adds the names in a directory that a pattern with its leading slash stands for. Also adds them where the directory
    /// really is.
    fn add_names(&mut self, directory: &[u8], names: &str, reason: &Arc<CompiledReason>) {
        if !directory.starts_with(b"/") {
            return;
        }
        self.pattern(directory, names, reason);
        let mut trail = (self.host.trail)(directory);
        if let Some(end) = trail.pop() {
            self.pattern(&end, names, reason);
        }
        for link in trail {
            self.one(&link, false, reason);
        }
    }

    fn one(&mut self, path: &[u8], is_directory: bool, reason: &Arc<CompiledReason>) {
        if !is_below(self.host.home, path) {
            self.pattern(path, if is_directory { "/**" } else { "" }, reason);
        }
    }

    fn pattern(&mut self, literal: &[u8], pattern: &str, reason: &Arc<CompiledReason>) {
        if pattern.is_empty() && is_config(basename(literal)) && self.own.as_deref() != Some(literal) {
            self.others.insert(literal.to_vec());
        }
        let glob = Glob::new(literal, pattern, true);
        self.entries.push(CompiledPattern { glob, rights: ceiling(self.w), reason: Arc::clone(reason) });
    }
}
