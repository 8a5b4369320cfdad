//! What of a program's start has been judged: the script, its interpreters, loaders. Asked for as one.

use std::os::fd::AsFd;

use guard_approvals::{DenyReason, Question};
use guard_policy::{Exec, Outcome, Policy, Reason, Request as Asked, Role, Verdict};
use rustix::io::Errno;

use crate::audit::Operation;
use crate::judge::consent::{ConsentState, about_exec};
use crate::resolve::Object;
use crate::syscall::Request;

/// One file of a program's start, and what the policy says of it.
#[derive(Debug)]
pub struct PlannedFile<'p> {
    path: Vec<u8>,
    argv: Vec<Vec<u8>>,
    cwd: Vec<u8>,
    role: Role,
    verdict: Verdict<'p>,
    /// The real paths of the programs that it is a copy of.
    originals: Vec<Vec<u8>>,
}

/// All of them; none is denied.
#[derive(Debug, Default)]
pub struct ExecPlan<'p>(Vec<PlannedFile<'p>>);

impl<'p> PlannedFile<'p> {
    /// What the policy is asked.
    fn exec(&self) -> Exec<'_> {
        Exec { path: &self.path, argv: &self.argv, cwd: &self.cwd, role: self.role }
    }

    /// The same, and what it is about as a copy.
    pub fn requests(&self) -> impl Iterator<Item = Asked<'_>> {
        let copies = self.originals.iter().map(|path| Exec { path, ..self.exec() });
        std::iter::once(self.exec()).chain(copies).map(Asked::Exec)
    }

    /// What becomes of it where nobody answers: what is withheld of one of these is.
    fn fallback<'v>(&self, policy: &'v Policy, verdict: Verdict<'v>) -> Verdict<'v> {
        let mut settled = verdict.clone();
        for asked in self.requests() {
            settled = policy.fallback(&asked, verdict.clone());
            if settled.outcome != Outcome::Allow {
                break;
            }
        }
        settled
    }

    /// Why a human is to be asked.
    pub fn verdict(&self) -> &Verdict<'p> {
        &self.verdict
    }
}

impl<'p> ExecPlan<'p> {
    /// Judges one more, and says of what programs it is a copy.
    ///
    /// # Errors
    /// EACCES when it is refused; the kernel's, when it cannot be compared; ESRCH when the caller is gone.
    pub fn judge(
        &mut self,
        request: &Request<'p, '_>,
        exec: Exec<'_>,
        object: &Object,
    ) -> Result<Vec<Vec<u8>>, Errno> {
        let Request { guard, caller } = request;
        let originals = guard.copies.originals(exec.path, object.fd.as_fd(), &|| caller.check())?;
        if let Some(warning) = guard.copies.new_warning() {
            guard.reporter.remark(format!("openclaw-guard: {warning}"));
        }
        let verdict = guard.judge_exec(caller, exec, &originals)?;
        if verdict.outcome == Outcome::Deny {
            // Only observed, and told already.
            return Ok(originals);
        }
        if verdict.outcome == Outcome::Allow && exec.role == Role::Loader {
            // Part of a program's start, which is told.
            return Ok(originals);
        }
        let Exec { path, argv, cwd, role } = exec;
        let (path, argv, cwd) = (path.to_vec(), argv.to_vec(), cwd.to_vec());
        self.0.push(PlannedFile { path, argv, cwd, role, verdict, originals: originals.clone() });
        Ok(originals)
    }

    /// Those that a human is to be asked for.
    pub fn asked(&self) -> impl Iterator<Item = &PlannedFile<'p>> {
        self.0.iter().filter(|step| step.verdict.outcome == Outcome::Ask)
    }

    fn question(&self, request: &Request<'_, '_>, subject: guard_approvals::Exec) -> Question {
        // There is one: without any, nobody is asked.
        let because = self.asked().next().map(|step| step.verdict().because.clone());
        let because = because.unwrap_or_else(|| Reason::unmentioned("nothing is asked"));
        let asked: Vec<_> = self.asked().flat_map(PlannedFile::requests).collect();
        about_exec(&request.guard.background(), request.caller, subject, &because, &asked)
    }

    /// Settles the start as a whole. Where a human has approved it, returns what was approved: `subject` is that.
    ///
    /// # Errors
    /// EACCES when it is refused, or not answered yet.
    pub fn settle(
        &self,
        request: &Request<'_, '_>,
        subject: impl FnOnce() -> Result<guard_approvals::Exec, Errno>,
    ) -> Result<Option<guard_approvals::Exec>, Errno> {
        let (guard, caller) = (request.guard, request.caller);
        let mut approved = None;
        let mut stand = ConsentState::Unanswered(DenyReason::Failed, String::new());
        if self.asked().next().is_some() && guard.approvals().is_some() {
            let subject = subject()?;
            stand = guard.consent(caller, || self.question(request, subject.clone()));
            approved = Some(subject);
        }
        if stand == ConsentState::Unasked {
            return Err(Errno::ACCESS);
        }
        for step in &self.0 {
            let mut verdict = step.verdict.clone();
            if verdict.outcome == Outcome::Ask {
                verdict = stand.verdict(verdict, |verdict| step.fallback(guard.policy(), verdict));
            }
            // A loader is part of a program's start, which is told already.
            if verdict.outcome != Outcome::Allow || step.role != Role::Loader {
                guard.settle(caller, Operation::Exec, &step.path, &step.argv, &verdict)?;
            }
        }
        Ok(approved.filter(|_| matches!(stand, ConsentState::Approved(_))))
    }
}
