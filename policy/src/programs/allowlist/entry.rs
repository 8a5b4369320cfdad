//! One entry, compiled.

use super::arguments::ArgumentMatch;
use super::pattern::expand;
use crate::Exec;
use crate::config::allowlist_entry::AllowlistEntry;
use crate::paths::expansion::{Paths, replaceable_link, show, trim};
use crate::paths::glob::Glob;
use crate::paths::path_rules::PathRules;
use crate::verdict::{CompiledReason, Source};

/// Prefixes of patterns that are the hash of a whole command line.
pub(crate) const COMMANDS: [&str; 2] = ["=command:", "=node-command:"];

/// The programs that an entry names.
#[derive(Clone, Debug)]
pub(super) enum ProgramPattern {
    /// `*`.
    Any,
    /// The real path, in one or two forms.
    Path(Vec<Glob>),
    /// A pattern without a slash: the file's name.
    Name(Glob),
}

#[derive(Clone, Debug)]
pub(crate) struct CompiledEntry {
    /// As written, without surrounding white space.
    pub(super) pattern: String,
    pub(super) target: ProgramPattern,
    /// The `argPattern` as written.
    pub(super) arg_pattern: Option<String>,
    pub(super) arguments: ArgumentMatch,
    /// Whether a human's "always" made it.
    pub(super) is_answer: bool,
    pub(super) reason: CompiledReason,
}

/// A compiled entry, and a warning for the operator.
pub(crate) struct Compiled {
    pub(crate) entry: Option<CompiledEntry>,
    pub(crate) warning: Option<String>,
}

impl Compiled {
    fn nothing(path: &str, why: &str) -> Compiled {
        Compiled { entry: None, warning: Some(format!("{path}: {why}")) }
    }
}

impl CompiledEntry {
    /// Compiles an entry. An entry that can match nothing becomes a warning.
    pub(crate) fn compile(
        written: &AllowlistEntry,
        paths: &Paths<'_>,
        map: &PathRules,
        reason: CompiledReason,
    ) -> Compiled {
        let pattern = trim(&written.pattern);
        let Some(expanded) = expand(pattern, paths.bases()) else {
            let why = if pattern.is_empty() { "a blank pattern" } else { "a pattern longer than any path" };
            return Compiled::nothing(&reason.path, &format!("{why} matches nothing"));
        };
        if COMMANDS.iter().any(|prefix| pattern.starts_with(prefix)) {
            let why = "it names the text of one command, which is not known when a program starts; it matches nothing";
            return Compiled::nothing(&reason.path, why);
        }
        let arguments = match ArgumentMatch::new(written.arg_pattern.as_deref(), written.is_generated()) {
            Ok(arguments) => arguments,
            Err(why) => return Compiled::nothing(&reason.path, why),
        };
        let mut warning = None;
        let target = if pattern == "*" {
            // OpenClaw 2026.9.6 accepts `*` only as an operator's own entry for any arguments.
            if !arguments.is_any() {
                let why = "\"*\" with an argPattern matches nothing: name the program";
                return Compiled::nothing(&reason.path, why);
            }
            ProgramPattern::Any
        } else if pattern.contains(['/', '~', '\\']) {
            let mut globs = vec![expanded.glob(false)];
            // Resolves only leading directories: an entry for a link such as /bin/ls must not become one for
            // the multicall binary that it points to.
            let writable = |entry: &[u8]| map.find(entry).is_the_trees();
            if let Some(real) = expanded.resolved(paths, false)
                && replaceable_link(&expanded.leading_dir(), paths, writable).is_none()
            {
                globs.push(real.glob(false));
            }
            warning = elsewhere(&globs, paths).map(|real| {
                format!(
                    "{}: \"{pattern}\" is a link to {real}; programs are compared by their real path: use that",
                    reason.path
                )
            });
            ProgramPattern::Path(globs)
        } else {
            ProgramPattern::Name(Glob::new(b"", pattern, false))
        };
        let (pattern, arg_pattern) = (pattern.to_owned(), written.arg_pattern.clone());
        let is_answer = written.is_generated() || reason.source == Source::Saved;
        let entry = CompiledEntry { pattern, target, arg_pattern, arguments, is_answer, reason };
        Compiled { entry: Some(entry), warning }
    }

    /// Returns an entry for a literal directory and everything below it, or for one file, with any arguments.
    pub(crate) fn at(path: &[u8], tail: &str, reason: CompiledReason) -> CompiledEntry {
        let target = ProgramPattern::Path(vec![Glob::new(path, tail, false)]);
        let pattern = format!("{}{tail}", show(path));
        let arguments = ArgumentMatch::Any;
        CompiledEntry { pattern, target, arg_pattern: None, arguments, is_answer: false, reason }
    }
}

/// Returns where a path without wildcards leads, if the entry does not match that place.
fn elsewhere(globs: &[Glob], paths: &Paths<'_>) -> Option<String> {
    let literal = globs.first().filter(|glob| glob.is_literal())?.literal();
    let real = (paths.realpath)(literal)?;
    (!globs.iter().any(|glob| glob.matches(&real))).then(|| show(&real))
}

/// Returns whether a program was looked up by its bare name, as far as the kernel can tell: argv[0] then has
/// no slash. A caller may lie about it, but not about which file runs.
pub(super) fn is_bare(exec: &Exec<'_>) -> bool {
    exec.argv.first().is_some_and(|name| !name.contains(&b'/'))
}
