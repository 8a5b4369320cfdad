//! What the policy says of one program, part by part, for whoever reads a command before it runs. [`crate::decide`] says what
//! comes of them.

use super::allowlist::Found;
use crate::paths::permission::Grant;
use crate::policy::Policy;
use crate::request::Exec;
use crate::verdict::{Because, Reason};

impl Policy {
    /// The entry of the allowlist that names this program and its arguments.
    pub fn entry(&self, exec: &Exec<'_>) -> Option<Found<'_>> {
        self.programs.allowlist.find(exec, !self.writable(exec.path))
    }

    /// Why this program may start as a safe bin, if it may. Never where the tree can write the file: only elsewhere is it
    /// what its name says.
    pub fn safe_bin(&self, exec: &Exec<'_>) -> Option<Because<'_>> {
        let reason = self.programs.safe_bins.allow(exec).filter(|_| !self.writable(exec.path));
        reason.map(Reason::because)
    }

    /// Why this program may start as one of a skill, if it may. Never where the tree can write the file.
    pub fn skill(&self, exec: &Exec<'_>) -> Option<Because<'_>> {
        let is_protected = !self.writable(exec.path);
        self.programs.skills.allow(exec, is_protected).filter(|_| is_protected).map(Reason::because)
    }

    /// What the map says of starting the program at a path, which need not be a real one.
    pub fn start(&self, path: &[u8]) -> (Grant, Because<'_>) {
        let found = self.map.find_program(path);
        (found.rights.x, found.x.because())
    }

    /// Why nothing may start, where `exec.security` is deny.
    pub fn nothing_starts(&self) -> Because<'_> {
        self.programs.reasons.denied.because()
    }

    /// Why everything may that the map lets run, where `exec.security` is full.
    pub fn everything_starts(&self) -> Because<'_> {
        self.programs.reasons.full.because()
    }

    /// Why a program that nothing names is asked for, or denied.
    pub fn missed(&self) -> Because<'_> {
        self.programs.reasons.miss.because()
    }

    /// Why every program is asked for, where `exec.ask` is always.
    pub fn asked_each_time(&self) -> Because<'_> {
        self.programs.reasons.always.because()
    }

    /// Why code in arguments is asked for, where `exec.strictInlineEval` is on.
    pub fn code_asked_for(&self) -> Option<Because<'_>> {
        self.programs.strict_inline_eval.as_ref().map(Reason::because)
    }
}
