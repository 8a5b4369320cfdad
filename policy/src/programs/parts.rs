//! The policy's view of one program, part by part, for code that reads a command before it runs.
//! [`crate::decide`] combines the parts.

use super::Writers;
use super::allowlist::ProgramMatch;
use super::writers::{absolute, files, place};
use crate::paths::permission::Grant;
use crate::policy::Policy;
use crate::request::Exec;
use crate::verdict::{CompiledReason, Reason};

/// A file that an argument names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Its absolute path, as the kernel would follow it.
    pub path: Vec<u8>,
    /// Where that path leads by its text alone. The policy judges this path.
    pub place: Vec<u8>,
}

impl Policy {
    /// Returns the entry of the allowlist that names this program and its arguments.
    pub fn entry(&self, exec: &Exec<'_>) -> Option<ProgramMatch<'_>> {
        self.programs.allowlist.find(exec, self.writers(exec))
    }

    /// Returns why this program may start as a safe bin, if it may. Never if the tree can write the file: its
    /// name then proves nothing.
    pub fn safe_bin(&self, exec: &Exec<'_>) -> Option<Reason<'_>> {
        let reason = self.programs.safe_bins.allow(exec).filter(|_| self.writers(exec).is_protected());
        reason.map(CompiledReason::to_reason)
    }

    /// Returns why this program may start as one of a skill, if it may. Never if the tree can write the file.
    pub fn skill(&self, exec: &Exec<'_>) -> Option<Reason<'_>> {
        let writers = self.writers(exec);
        self.programs
            .skills
            .allow(exec, writers)
            .filter(|_| writers.is_protected())
            .map(CompiledReason::to_reason)
    }

    /// Returns the files that the arguments name, if a program starts by a saved answer and runs were recorded. A file may be
    /// a link to one that an earlier run could write. [`with_written`](Policy::with_written) then makes the link's place count as
    /// such a file.
    pub fn named_by_answer(&self, exec: &Exec<'_>) -> Vec<NamedFile> {
        let is_by_answer = || self.entry(exec).is_some_and(|entry| entry.is_answer());
        if self.map.earlier_runs().is_empty() || !is_by_answer() {
            return Vec::new();
        }
        let named = |file: Vec<u8>| NamedFile { path: absolute(exec, &file), place: place(exec, &file) };
        files(exec).map(named).collect()
    }

    /// Returns who may write a program and what it runs.
    pub(crate) fn writers(&self, exec: &Exec<'_>) -> Writers<'_> {
        Writers::new(&self.map, &self.map.find_program(exec.path))
    }

    /// Returns what the map grants for starting the program at a path, which need not be a real one.
    pub fn start(&self, path: &[u8]) -> (Grant, Reason<'_>) {
        let found = self.map.find_program(path);
        let (grant, reason) = found.start();
        (grant, reason.to_reason())
    }

    /// Returns why nothing may start, if `exec.security` is deny.
    pub fn nothing_starts(&self) -> Reason<'_> {
        self.programs.reasons.denied.to_reason()
    }

    /// Returns why every program that the map lets run may start, if `exec.security` is full.
    pub fn everything_starts(&self) -> Reason<'_> {
        self.programs.reasons.full.to_reason()
    }

    /// Returns why a program that nothing names is asked about or denied.
    pub fn missed(&self) -> Reason<'_> {
        self.programs.reasons.miss.to_reason()
    }

    /// Returns why every program is asked about, if `exec.ask` is always.
    pub fn asked_each_time(&self) -> Reason<'_> {
        self.programs.reasons.always.to_reason()
    }

    /// Returns why code in arguments is asked about, if `exec.strictInlineEval` is on.
    pub fn code_asked_for(&self) -> Option<Reason<'_>> {
        self.programs.strict_inline_eval.as_ref().map(CompiledReason::to_reason)
    }
}
