//! All entries, found by the path of a program.

use std::cell::LazyCell;
use std::collections::HashMap;

use super::arguments::{ArgumentMatch, Given};
use super::entry::{CompiledEntry, ProgramPattern, is_bare};
use super::pattern::subject;
use crate::paths::expansion::show;
use crate::paths::glob::Glob;
use crate::paths::index::Index;
use crate::paths::normalize;
use crate::programs::Writers;
use crate::programs::name::basename;
use crate::verdict::{CompiledReason, Reason};
use crate::{Exec, Role, Source};

#[derive(Clone, Debug, Default)]
pub(crate) struct Allowlist {
    entries: Vec<CompiledEntry>,
    /// Every form of every path, with the position of its entry.
    paths: Vec<(Glob, usize)>,
    index: Index,
    /// The entries for names without wildcards.
    names: HashMap<Vec<u8>, Vec<usize>>,
    /// The entries for other names, and those for any program.
    others: Vec<usize>,
}

/// An entry that names a program, but may not count for the program's arguments.
pub(crate) struct NamingEntry<'p> {
    pub(crate) reason: &'p CompiledReason,
    /// It names the file's name rather than its path.
    pub(crate) is_for_name: bool,
    /// It is for exactly some arguments in one directory.
    pub(crate) is_for_directory: bool,
}

/// An entry that names a program.
#[derive(Clone, Copy)]
pub struct ProgramMatch<'p> {
    entry: &'p CompiledEntry,
}

impl<'p> ProgramMatch<'p> {
    /// Returns its pattern as written.
    pub fn pattern(&self) -> &'p str {
        &self.entry.pattern
    }

    /// Returns its `argPattern` as written.
    pub fn arg_pattern(&self) -> Option<&'p str> {
        self.entry.arg_pattern.as_deref()
    }

    /// Returns whether an answer saved it.
    pub(crate) fn is_answer(&self) -> bool {
        self.entry.is_answer
    }

    /// Returns whether it is for exactly some arguments in one directory, of which it has only the hash.
    pub fn is_bound(&self) -> bool {
        matches!(self.entry.arguments, ArgumentMatch::Exactly(_))
    }

    /// Returns its reason, which names its place.
    pub fn reason(&self) -> Reason<'p> {
        self.entry.reason.to_reason()
    }

    /// Returns whether it names the arguments too.
    pub fn names_arguments(&self) -> bool {
        !self.entry.arguments.is_any()
    }

    /// Returns whether the operator wrote it into `guard.json`, and no answer saved it.
    pub fn is_written(&self) -> bool {
        matches!(self.entry.reason.source, Source::Agent | Source::Global)
    }

    /// Returns whether it is for any program at all: `*`.
    pub fn is_for_any(&self) -> bool {
        matches!(self.entry.target, ProgramPattern::Any)
    }
}

impl Allowlist {
    pub(crate) fn new(mut entries: Vec<CompiledEntry>) -> Allowlist {
        // As in OpenClaw, entries that name arguments come first.
        entries.sort_by_key(|entry| entry.arguments.is_any());
        let (mut paths, mut others) = (Vec::new(), Vec::new());
        let mut names: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (i, entry) in entries.iter().enumerate() {
            match &entry.target {
                ProgramPattern::Path(globs) => paths.extend(globs.iter().map(|glob| (glob.clone(), i))),
                ProgramPattern::Name(glob) if glob.is_literal() => {
                    names.entry(glob.literal().to_vec()).or_default().push(i);
                }
                ProgramPattern::Any | ProgramPattern::Name(_) => others.push(i),
            }
        }
        let index = Index::new(paths.iter().map(|(glob, _)| glob));
        Allowlist { entries, paths, index, names, others }
    }

    /// Returns the allowlist with only the entries of one config path.
    pub(crate) fn only(&self, path: &str) -> Allowlist {
        Allowlist::new(self.entries.iter().filter(|entry| entry.reason.path == path).cloned().collect())
    }

    /// Returns every entry in the order of comparison: its patterns, what limits it, and its reason.
    pub(crate) fn listing(&self) -> impl Iterator<Item = (String, &'static str, &CompiledReason)> {
        self.entries.iter().map(|entry| {
            let forms = match &entry.target {
                ProgramPattern::Any => "*".to_owned(),
                ProgramPattern::Path(globs) => globs.iter().map(Glob::text).collect::<Vec<_>>().join(", "),
                ProgramPattern::Name(glob) => glob.text(),
            };
            let limit = if entry.arguments.is_any() { "" } else { "with the arguments of its argPattern" };
            (forms, limit, &entry.reason)
        })
    }

    /// Returns a sentence for each entry that names a single file which does not exist.
    pub(crate) fn missing(&self, exists: &dyn Fn(&[u8]) -> bool) -> impl Iterator<Item = String> {
        self.entries.iter().filter_map(move |entry| {
            let ProgramPattern::Path(globs) = &entry.target else { return None };
            let is_missing = globs.iter().all(|glob| glob.is_literal() && !exists(glob.literal()));
            let file = show(globs.first()?.literal());
            is_missing.then(|| format!("{}: there is no file {file}", entry.reason.path))
        })
    }

    /// Returns an entry that names this program, whatever its arguments. `is_protected` is true when no run
    /// may write the file: an entry for a name counts only then.
    pub(crate) fn naming(&self, exec: &Exec<'_>, is_protected: bool) -> Option<NamingEntry<'_>> {
        let is_named = |entry: &&CompiledEntry| match &entry.target {
            ProgramPattern::Any => true,
            ProgramPattern::Path(globs) => globs.iter().any(|glob| glob.matches(&subject(glob, exec.path))),
            ProgramPattern::Name(glob) => is_protected && glob.matches(basename(exec.path)),
        };
        let entry = self.entries.iter().find(is_named)?;
        Some(NamingEntry {
            reason: &entry.reason,
            is_for_name: matches!(entry.target, ProgramPattern::Name(_)),
            is_for_directory: matches!(entry.arguments, ArgumentMatch::Exactly(_)),
        })
    }

    /// Returns, for each form of each entry, the text before the first wildcard, whether that is all, and the
    /// reason.
    pub(crate) fn literals(&self) -> impl DoubleEndedIterator<Item = (&[u8], bool, &CompiledReason)> {
        self.paths.iter().map(|(glob, i)| (glob.literal(), glob.is_literal(), &self.entries[*i].reason))
    }

    /// Returns why this program may start, if an entry allows it.
    pub(crate) fn allow(&self, exec: &Exec<'_>, writers: Writers<'_>) -> Option<&CompiledReason> {
        self.find(exec, writers).map(|found| &found.entry.reason)
    }

    /// Returns whether an entry for a name can count. It can for a script's interpreter: the script names it,
    /// and the kernel sets its argv[0].
    pub(crate) fn is_by_name(exec: &Exec<'_>) -> bool {
        is_bare(exec) || exec.role == Role::Interpreter
    }

    /// Returns the first entry that allows this program with these arguments. An entry for a name counts only if no run may
    /// write the file, and a saved answer only if no run can change unasked what it was for.
    pub(crate) fn find(&self, exec: &Exec<'_>, writers: Writers<'_>) -> Option<ProgramMatch<'_>> {
        let mut given = Given::new(exec);
        let let_answers_count = LazyCell::new(|| writers.let_answers_count(exec));
        let mut first: Option<usize> = None;
        let mut meet = |i: usize, is_target: bool| {
            let is_better = is_target && first.is_none_or(|first| i < first);
            let entry = &self.entries[i];
            if is_better && given.satisfy(&entry.arguments) && (!entry.is_answer || *let_answers_count) {
                first = Some(i);
            }
        };
        // The path without dots may have other keys in the index.
        let mut look = |path: &[u8]| {
            self.index.candidates(path, |n| {
                let (glob, i) = &self.paths[n];
                meet(*i, glob.matches(&subject(glob, exec.path)));
                true
            });
        };
        look(exec.path);
        let normal = normalize::without_dots(exec.path);
        if *normal != *exec.path {
            look(&normal);
        }
        let is_name = writers.is_protected() && Allowlist::is_by_name(exec);
        let name = basename(exec.path);
        for i in self.names.get(name).into_iter().flatten() {
            meet(*i, is_name);
        }
        for i in &self.others {
            meet(
                *i,
                !matches!(&self.entries[*i].target, ProgramPattern::Name(glob) if !is_name || !glob.matches(name)),
            );
        }
        first.map(|i| ProgramMatch { entry: &self.entries[i] })
    }
}
