//! What the tree may not leave behind: what would run later, outside the guard.
//!
//! It takes `w` from places, whoever grants it: a rule, an answer, the default. Reading and starting stay as they are.
//! The places are literal paths and whole directories, for a pattern that could match anywhere would leave no hierarchy of
//! which everything may be written.

mod lists;
mod protected;
mod set;

use std::collections::HashSet;
use std::sync::Arc;

use super::exec_roots::is_below;
use super::glob::Glob;
use super::path_rules::{Entry, Reason};
use crate::config::document::{Document, Persistence};
use crate::{Because, Grant, Host, Policy, Rights, Source};
use lists::{Start, places};
pub(crate) use protected::Kept;
pub(crate) use set::Set;

/// Where things are that run by themselves, as far as it is not the same everywhere. All of it as it was at the start.
#[derive(Clone, Debug, Default)]
pub struct Premises {
    /// Where programs may look for what is in the home directory, beside [`Host::home`]: `$HOME`, `$ZDOTDIR`.
    pub homes: Vec<Vec<u8>>,
    /// `$XDG_CONFIG_HOME` and `$XDG_DATA_HOME`, where they are set.
    pub config: Option<Vec<u8>>,
    /// See `config`.
    pub data: Option<Vec<u8>>,
    /// The start directory, and the top of the repository that it is in.
    pub workspaces: Vec<Vec<u8>>,
    /// The directories of that repository that are its `.git`: that of a worktree, the common one, those of its modules.
    pub git_directories: Vec<Vec<u8>>,
    /// What else git goes by there: a `.git` that is a file, the hooks' directory and what the configuration includes.
    pub git_others: Vec<Vec<u8>>,
    /// The guard's own program.
    pub guard: Vec<Vec<u8>>,
}

/// What is taken away: `w`.
const CEILING: Rights = Rights { r: Grant::Yes, w: Grant::No, x: Grant::Yes };

/// How a denial says what would allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The key of the guard.json that there is.
    Key,
    /// There is none, and one that is written for this alone would replace the whole policy.
    WithoutFile,
}

/// Who has switched a set off, and where; `None` where it is on. `said` is what the sections of a document say, the most
/// specific first.
pub(crate) fn switched_off<'d>(
    said: impl IntoIterator<Item = (Option<&'d Persistence>, Source, &'d str)>,
    set: Set,
) -> Option<(Source, String)> {
    let on_or_off = |(persistence, source, prefix): (Option<&Persistence>, Source, &str)| match persistence? {
        Persistence::All(on) => Some((*on, source, format!("{prefix}permissions.persistence"))),
        Persistence::Each(sets) => {
            let on = *sets.get(&set)?;
            Some((on, source, format!("{prefix}permissions.persistence.{}", set.as_str())))
        }
    };
    let (on, source, path) = said.into_iter().find_map(on_or_off)?;
    (!on).then_some((source, path))
}

/// The places of all sets that are on.
pub(crate) fn kept(host: &Host<'_>, hint: Hint, is_on: impl Fn(Set) -> bool) -> Kept {
    let mut making = Making { host, entries: Vec::new(), seen: HashSet::new() };
    for set in Set::ALL.into_iter().filter(|set| is_on(*set)) {
        let reason = Arc::new(reason(set, hint));
        for (start, rest) in places(set) {
            for top in tops(host, start) {
                making.add(&[top, rest.as_bytes()].concat(), &reason);
            }
        }
        let premises = &host.premises;
        match set {
            Set::Git => premises.git_others.iter().for_each(|path| {
                making.add(path, &reason);
                making.add(&[path, &b"/"[..]].concat(), &reason);
            }),
            Set::Guard => premises.guard.iter().for_each(|path| making.add(path, &reason)),
            Set::Path => host.path_dirs.iter().filter(|dir| is_kept_of_path(host, dir)).for_each(|dir| {
                making.add(&[dir, &b"/"[..]].concat(), &reason);
            }),
            _ => {}
        }
    }
    Kept::new(making.entries)
}

fn reason(set: Set, hint: Hint) -> Reason {
    let (name, when) = (set.as_str(), set.when());
    let rule = format!("builtin persistence \"{name}\": runs outside the guard {when}");
    let rule = match hint {
        Hint::Key => {
            format!("{rule}; \"permissions\": {{\"persistence\": {{\"{name}\": false}}}} allows it")
        }
        Hint::WithoutFile => rule,
    };
    Reason {
        source: Source::Builtin,
        path: format!("permissions.persistence.{name}"),
        rule,
        text: format!("what is written there runs outside the guard {when} (persistence \"{name}\")"),
    }
}

/// The directories that a list's patterns begin with.
fn tops<'h>(host: &'h Host<'_>, start: Start) -> Vec<&'h [u8]> {
    let premises = &host.premises;
    let homes = || [host.home].into_iter().chain(premises.homes.iter().map(Vec::as_slice));
    match start {
        Start::Root => vec![b""],
        Start::Home => homes().collect(),
        Start::Config => premises.config.iter().map(Vec::as_slice).collect(),
        Start::Data => premises.data.iter().map(Vec::as_slice).collect(),
        Start::Workspace => premises.workspaces.iter().map(Vec::as_slice).collect(),
        Start::Git => premises.git_directories.iter().map(Vec::as_slice).collect(),
    }
}

/// Whether programs of a directory of `PATH` are kept: not where all the work is, nor where package managers of the
/// workspace put what they install there.
fn is_kept_of_path(host: &Host<'_>, dir: &[u8]) -> bool {
    let premises = &host.premises;
    let holds_work = is_below(host.cwd, dir) || premises.workspaces.iter().any(|top| is_below(top, dir));
    let is_in_work = premises.workspaces.iter().any(|top| is_below(dir, top));
    let around = dir.iter().rposition(|byte| *byte == b'/').map_or(dir, |at| &dir[..at]);
    let is_environment = || {
        dir.ends_with(b"/node_modules/.bin") || (host.realpath)(&[around, b"/pyvenv.cfg"].concat()).is_some()
    };
    !(holds_work || is_in_work && is_environment())
}

struct Making<'a> {
    host: &'a Host<'a>,
    entries: Vec<Entry>,
    seen: HashSet<(Vec<u8>, bool)>,
}

impl Making<'_> {
    /// Adds a path, which with a slash at its end is a directory with all that is in it: as it is written, as it is, and
    /// the links by which the one leads to the other.
    fn add(&mut self, path: &[u8], reason: &Arc<Reason>) {
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
        // A link to /dev/null is how a file is switched off.
        let is_place = |end: &Vec<u8>| {
            !is_below(self.host.home, end) && ![&b"/dev"[..], b"/proc"].iter().any(|top| is_below(end, top))
        };
        if let Some(end) = end.filter(|end| end != path && is_place(end)) {
            self.one(&end, is_directory, reason);
        }
    }

    fn one(&mut self, path: &[u8], is_directory: bool, reason: &Arc<Reason>) {
        if !is_below(self.host.home, path) && self.seen.insert((path.to_vec(), is_directory)) {
            let glob = Glob::new(path, if is_directory { "/**" } else { "" }, true);
            self.entries.push(Entry { glob, rights: CEILING, reason: Arc::clone(reason) });
        }
    }
}

impl Policy {
    /// Why no symbolic link may stand at a real path, if none may: below it is a place where nothing may be left behind,
    /// and that would be somewhere else then.
    pub fn keeps_below(&self, path: &[u8]) -> Option<Because<'_>> {
        self.map.kept.any_below(path).map(|entry| entry.reason.because())
    }

    /// The sets that the document switches off, with who does.
    pub(crate) fn not_kept(&self, document: &Document) -> Vec<(Set, Source, String)> {
        let layers = crate::compile::layers(document, &self.agent);
        let off = |set| {
            let (source, path) = switched_off(layers.iter().map(crate::compile::Layer::persistence), set)?;
            Some((set, source, path))
        };
        Set::ALL.into_iter().filter_map(off).collect()
    }

    /// What a rule is without effect for, if persistence takes its `w` from all that it names.
    pub(crate) fn kept(&self, glob: &Glob, reason: &Reason) -> Option<String> {
        let kept = self.map.kept.all_of(glob)?;
        Some(format!("{}: grants no w, for {} takes it away", reason.path, kept.reason.path))
    }
}
