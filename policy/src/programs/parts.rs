//! What the policy says of one program, part by part, for whoever reads a command before it runs. [`crate::decide`] says what
//! comes of them.

use super::allowlist::ProgramMatch;
use crate::paths::permission::Grant;
use crate::policy::Policy;
use crate::request::Exec;
use crate::verdict::{CompiledReason, Reason};

impl Policy {
    /// The entry of the allowlist that names this program and its arguments.
    pub fn entry(&self, exec: &Exec<'_>) -> Option<ProgramMatch<'_>> {
        self.programs.allowlist.find(exec, !self.writable(exec.path))
    }

    /// Why this program may start as a safe bin, if it may. Never where the tree can write the file: only elsewhere is it
    /// what its name says.
    pub fn safe_bin(&self, exec: &Exec<'_>) -> Option<Reason<'_>> {
        let reason = self.programs.safe_bins.allow(exec).filter(|_| !self.writable(exec.path));
        reason.map(CompiledReason::to_reason)
    }

    /// Why this program may start as one of a skill, if it may. Never where the tree can write the file.
    pub fn skill(&self, exec: &Exec<'_>) -> Option<Reason<'_>> {
        let is_protected = !self.writable(exec.path);
        self.programs.skills.allow(exec, is_protected).filter(|_| is_protected).map(CompiledReason::to_reason)
    }

    /// What the map says of starting the program at a path, which need not be a real one.
    pub fn start(&self, path: &[u8]) -> (Grant, Reason<'_>) {
        let found = self.map.find_program(path);
        (found.rights.x, found.x.to_reason())
    }

    /// Why nothing may start, where `exec.security` is deny.
    pub fn nothing_starts(&self) -> Reason<'_> {
        self.programs.reasons.denied.to_reason()
    }

    /// Why everything may that the map lets run, where `exec.security` is full.
    pub fn everything_starts(&self) -> Reason<'_> {
        self.programs.reasons.full.to_reason()
    }

    /// Why a program that nothing names is asked for, or denied.
    pub fn missed(&self) -> Reason<'_> {
        self.programs.reasons.miss.to_reason()
    }

    /// Why every program is asked for, where `exec.ask` is always.
    pub fn asked_each_time(&self) -> Reason<'_> {
        self.programs.reasons.always.to_reason()
    }

    /// Why code in arguments is asked for, where `exec.strictInlineEval` is on.
    pub fn code_asked_for(&self) -> Option<Reason<'_>> {
        self.programs.strict_inline_eval.as_ref().map(CompiledReason::to_reason)
    }
}
