//! Whether this guarded run may write a program or a file that the program runs, or whether an earlier run could.

use super::data_only::is_data_only;
use super::named_files::values;
use super::script::script_operands;
use crate::Exec;
use crate::paths::entry::Match;
use crate::paths::normalize;
use crate::paths::path_rules::PathRules;
use crate::paths::permission::Grant;

/// Who may write what a start runs.
#[derive(Clone, Copy)]
pub(crate) struct Writers<'m> {
    program: Grant,
    /// The map for the other files. Without one, nobody may write them.
    map: Option<&'m PathRules>,
}

impl<'m> Writers<'m> {
    /// Nobody may write any of it.
    pub(crate) const NOBODY: Writers<'static> = Writers { program: Grant::No, map: None };

    /// Returns who may write a program that the map has `found`, and the files that it runs.
    pub(crate) fn new(map: &'m PathRules, found: &Match<'_>) -> Writers<'m> {
        Writers { program: found.granted_write(), map: Some(map) }
    }

    /// Returns whether no run may write the program, not even after asking.
    pub(crate) fn is_protected(self) -> bool {
        self.program == Grant::No
    }

    /// Returns whether an answer that was saved for a program may count: no run can write, unasked, what it runs.
    pub(crate) fn let_answers_count(self, exec: &Exec<'_>) -> bool {
        let is_changeable =
            |map: &PathRules| runs_written_file(map, exec) || names_file_of_earlier_run(map, exec);
        self.program != Grant::Yes && !self.map.is_some_and(is_changeable)
    }
}

/// Returns whether a file that the arguments give a program to run may be written, unasked.
fn runs_written_file(map: &PathRules, exec: &Exec<'_>) -> bool {
    scripts(exec).any(|file| map.find_program(&place(exec, &file)).is_the_trees())
}

/// Returns whether an argument may name a file that only an earlier run could write, for a program that may run it.
fn names_file_of_earlier_run(map: &PathRules, exec: &Exec<'_>) -> bool {
    named(exec).any(|file| map.find_program(&place(exec, &file)).is_of_earlier_run())
}

/// Returns the files that the arguments give a program to run, and those that it may run.
pub(super) fn files<'e>(exec: &'e Exec<'_>) -> impl Iterator<Item = Vec<u8>> + 'e {
    scripts(exec).chain(named(exec))
}

fn scripts<'e>(exec: &'e Exec<'_>) -> impl Iterator<Item = Vec<u8>> + 'e {
    script_operands(exec.path, exec.argv).into_files(exec.argv)
}

fn named<'e>(exec: &'e Exec<'_>) -> impl Iterator<Item = Vec<u8>> + 'e {
    let arguments =
        exec.argv.get(1..).filter(|arguments| !is_data_only(exec.path, arguments)).unwrap_or_default();
    arguments.iter().flat_map(|argument| values(argument))
}

/// Returns where an argument leads by its text alone.
pub(crate) fn place(exec: &Exec<'_>, file: &[u8]) -> Vec<u8> {
    normalize::posix(&absolute(exec, file))
}

/// Returns an argument as an absolute path, with its dots: `..` behind a link is another directory than by the text.
pub(crate) fn absolute(exec: &Exec<'_>, file: &[u8]) -> Vec<u8> {
    if file.starts_with(b"/") { file.to_vec() } else { [exec.cwd, b"/", file].concat() }
}
