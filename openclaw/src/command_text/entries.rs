//! The entries that "allow always" saves for a command given as text: one for each program in it.

use std::collections::HashSet;

use guard_policy::programs::allow_always::{BoundEntry, StrictInlineEval, literal};
use guard_policy::programs::inline_eval::{inline_eval, is_interpreter};
use guard_policy::programs::starters::is_shell;
use guard_policy::{cwd_argv_pattern, normalize};

use super::evaluation::{Segment, Surroundings};
use super::packages::{self, Runner};
use super::{shells, wrappers};

/// Returns the entries for the commands of a text, without duplicates.
pub(super) fn entries(
    segments: &[Segment],
    around: &Surroundings<'_>,
    strict: StrictInlineEval,
) -> Vec<BoundEntry> {
    let mut seen = HashSet::new();
    let entries = segments.iter().filter_map(|segment| entry(segment, around, strict));
    entries.filter(|entry| seen.insert(entry.clone())).collect()
}

/// Returns the entry for one command, if it can have one.
pub(super) fn entry(
    segment: &Segment,
    around: &Surroundings<'_>,
    strict: StrictInlineEval,
) -> Option<BoundEntry> {
    let tool = match packages::tool(&segment.argv) {
        Runner::Hidden => return None,
        Runner::No => segment.argv.clone(),
        Runner::Runs(tool) => tool,
    };
    let unwrapped = wrappers::unwrap(&tool);
    if unwrapped.blocked.is_some() {
        return None;
    }
    let program = unwrapped.argv;
    let name = program.first()?;
    let (path, arguments) = if is_shell(name) {
        let (at, script) = shells::script(program)?;
        let path = absolute(script, around);
        let real = (around.resolve)(&path).map(|found| found.real);
        (real.unwrap_or(path), &program[at + 1..])
    } else {
        let written = expanded(name, around);
        let path = match (around.resolve)(&written) {
            Some(found) => found.real,
            None if written.contains('/') => absolute(name, around),
            None => return None,
        };
        let is_one = is_interpreter(name) || is_interpreter(&path);
        if is_one && (strict == StrictInlineEval::Off || inline_eval(program).is_some()) {
            return None;
        }
        if is_shell(&path) {
            return None;
        }
        (path, &program[1..])
    };
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    let arg_pattern = cwd_argv_pattern(around.cwd.as_bytes(), &arguments);
    Some(BoundEntry { pattern: literal(&path)?.to_owned(), arg_pattern })
}

/// Expands the `~` at the start of a name.
pub(super) fn expanded(name: &str, around: &Surroundings<'_>) -> String {
    match name.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", around.home.trim_end_matches('/'))
        }
        _ => name.to_owned(),
    }
}

/// Makes a path absolute and removes `.` and `..`, by its text alone.
pub(super) fn absolute(path: &str, around: &Surroundings<'_>) -> String {
    let expanded = expanded(path, around);
    let whole = if expanded.starts_with('/') { expanded } else { format!("{}/{expanded}", around.cwd) };
    String::from_utf8_lossy(&normalize::posix(whole.as_bytes())).into_owned()
}
