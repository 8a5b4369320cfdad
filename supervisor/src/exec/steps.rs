//! What of a program's start has been judged: the script, its interpreters, loaders. Asked for as one.

use guard_policy::{Exec, Outcome, Request as Asked, Role, Verdict};
use rustix::io::Errno;

use crate::approval::{self, Reason};
use crate::asking::{Stand, about_exec};
use crate::broker::Request;
use crate::report::Operation;

/// One file of a program's start, and what the policy says of it.
#[derive(Debug)]
pub struct Step<'p> {
    path: Vec<u8>,
    argv: Vec<Vec<u8>>,
    cwd: Vec<u8>,
    role: Role,
    verdict: Verdict<'p>,
}

/// All of them; none is denied.
#[derive(Debug, Default)]
pub struct Steps<'p>(Vec<Step<'p>>);

impl<'p> Step<'p> {
    /// What the policy is asked.
    pub fn exec(&self) -> Exec<'_> {
        Exec { path: &self.path, argv: &self.argv, cwd: &self.cwd, role: self.role }
    }

    /// Why a human is to be asked.
    pub fn verdict(&self) -> &Verdict<'p> {
        &self.verdict
    }
}

impl<'p> Steps<'p> {
    /// Judges one more.
    ///
    /// # Errors
    /// EACCES when it is refused.
    pub fn judge(&mut self, request: &Request<'p, '_>, exec: Exec<'_>) -> Result<(), Errno> {
        let verdict = request.guard.judge_exec(request.caller, exec)?;
        if verdict.outcome == Outcome::Deny {
            // Only observed, and told already.
            return Ok(());
        }
        if verdict.outcome == Outcome::Allow && exec.role == Role::Loader {
            // Part of a program's start, which is told.
            return Ok(());
        }
        let Exec { path, argv, cwd, role } = exec;
        self.0.push(Step { path: path.to_vec(), argv: argv.to_vec(), cwd: cwd.to_vec(), role, verdict });
        Ok(())
    }

    /// Those that a human is to be asked for.
    pub fn asked(&self) -> impl Iterator<Item = &Step<'p>> {
        self.0.iter().filter(|step| step.verdict.outcome == Outcome::Ask)
    }

    /// Settles the start as a whole. Where a human has approved it, returns what was approved: `subject` is that.
    ///
    /// # Errors
    /// EACCES when it is refused, or not answered yet.
    pub fn settle(
        &self,
        request: &Request<'_, '_>,
        subject: impl FnOnce() -> Result<approval::Exec, Errno>,
    ) -> Result<Option<approval::Exec>, Errno> {
        let (guard, caller) = (request.guard, request.caller);
        let mut approved = None;
        let mut stand = Stand::Unanswered(Reason::Failed, String::new());
        if self.asked().next().is_some() && guard.approvals().is_some() {
            let subject = subject()?;
            stand = guard.stand(caller, || about_exec(guard, caller, subject.clone(), self));
            approved = Some(subject);
        }
        if stand == Stand::Unasked {
            return Err(Errno::ACCESS);
        }
        for step in &self.0 {
            let asked = Asked::Exec(step.exec());
            let mut verdict = step.verdict.clone();
            if verdict.outcome == Outcome::Ask {
                verdict = stand.verdict(verdict, |verdict| guard.policy().fallback(&asked, verdict));
            }
            // A loader is part of a program's start, which is told already.
            if verdict.outcome != Outcome::Allow || step.role != Role::Loader {
                guard.settle(caller, Operation::Exec, &step.path, &step.argv, &verdict)?;
            }
        }
        Ok(approved.filter(|_| matches!(stand, Stand::Approved(_))))
    }
}
