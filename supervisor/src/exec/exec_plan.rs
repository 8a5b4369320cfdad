//! The judged files of one program start: the script, its interpreters and loaders. A human is asked about them
//! together.

use std::os::fd::AsFd;

use guard_approvals::{Always, DenyReason, Question};
use guard_policy::{Exec, Outcome, Policy, Reason, Request as Asked, Role, Verdict};
use rustix::io::Errno;

use crate::audit::Operation;
use crate::config::node_run::ApprovedStart;
use crate::judge::consent::{ConsentState, about_exec};
use crate::resolve::Object;
use crate::syscall::Request;

/// One file of a program's start, and the policy's verdict on it.
#[derive(Debug)]
pub struct PlannedFile<'p> {
    path: Vec<u8>,
    argv: Vec<Vec<u8>>,
    cwd: Vec<u8>,
    role: Role,
    verdict: Verdict<'p>,
    /// The real paths of the programs that this file is a copy of.
    originals: Vec<Vec<u8>>,
}

/// All files of the start; none of them is denied.
#[derive(Debug, Default)]
pub struct ExecPlan<'p> {
    files: Vec<PlannedFile<'p>>,
    /// Whether the tree can change the loader, which the kernel starts before the program.
    pub has_changeable_loader: bool,
}

impl<'p> PlannedFile<'p> {
    /// The policy query for this file.
    fn exec(&self) -> Exec<'_> {
        Exec { path: &self.path, argv: &self.argv, cwd: &self.cwd, role: self.role }
    }

    /// The queries for this file: as itself, and as each program that it is a copy of.
    pub fn requests(&self) -> impl Iterator<Item = Asked<'_>> {
        let copies = self.originals.iter().map(|path| Exec { path, ..self.exec() });
        std::iter::once(self.exec()).chain(copies).map(Asked::Exec)
    }

    /// The verdict if nobody answers. If this file is a copy of a withheld program, it is withheld, too.
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

    /// The verdict, with the reason to ask a human.
    pub fn verdict(&self) -> &Verdict<'p> {
        &self.verdict
    }
}

impl<'p> ExecPlan<'p> {
    /// Judges one more file, and returns the programs that it is a copy of.
    ///
    /// # Errors
    /// EACCES if it is refused; the kernel's, if it cannot be compared; ESRCH if the caller is gone.
    pub fn judge(
        &mut self,
        request: &Request<'p, '_>,
        exec: Exec<'_>,
        object: &Object,
    ) -> Result<Vec<Vec<u8>>, Errno> {
        let Request { guard, caller, .. } = request;
        let originals = guard.copies.originals(exec.path, object.fd.as_fd(), &|| caller.check())?;
        if let Some(warning) = guard.copies.new_warning() {
            guard.reporter.remark(format!("openclaw-guard: {warning}"));
        }
        let is_own =
            object.stat.st_uid == rustix::process::geteuid().as_raw() || object.stat.st_mode & 0o022 != 0;
        self.has_changeable_loader |=
            exec.role == Role::Loader && is_own && guard.policy().writable(exec.path);
        let verdict = guard.judge_exec(caller, exec, &originals)?;
        if verdict.outcome == Outcome::Deny {
            // The guard only observes, and has reported the denial.
            return Ok(originals);
        }
        if verdict.outcome == Outcome::Allow && exec.role == Role::Loader {
            // This file is part of a program's start, which is reported as a whole.
            return Ok(originals);
        }
        let Exec { path, argv, cwd, role } = exec;
        let (path, argv, cwd) = (path.to_vec(), argv.to_vec(), cwd.to_vec());
        self.files.push(PlannedFile { path, argv, cwd, role, verdict, originals: originals.clone() });
        Ok(originals)
    }

    /// The files that a human must be asked about.
    pub fn asked(&self) -> impl Iterator<Item = &PlannedFile<'p>> {
        self.files.iter().filter(|step| step.verdict.outcome == Outcome::Ask)
    }

    fn question(&self, request: &Request<'_, '_>, subject: guard_approvals::Exec) -> Question {
        // There is always such a file: otherwise nobody is asked.
        let reason = self.asked().next().map(|step| step.verdict().reason.clone());
        let reason = reason.unwrap_or_else(|| Reason::unmentioned("nothing is asked"));
        let asked: Vec<_> = self.asked().flat_map(PlannedFile::requests).collect();
        let question = about_exec(&request.guard.background(), request.caller, subject, &reason, &asked);
        if self.has_changeable_loader {
            // An allowlist entry does not say which loader runs.
            let why = "a loader that the tree can change runs before the program";
            return Question { always: Always::Never(why.to_owned()), ..question };
        }
        question
    }

    /// Settles the start as a whole. `argv` are the arguments as the caller gives them. If a human has approved it, returns
    /// the approved `subject`.
    ///
    /// # Errors
    /// EACCES if it is refused, or has no answer yet.
    pub fn settle(
        &self,
        request: &Request<'_, '_>,
        argv: &[Vec<u8>],
        subject: impl FnOnce() -> Result<guard_approvals::Exec, Errno>,
    ) -> Result<Option<guard_approvals::Exec>, Errno> {
        let (guard, caller) = (request.guard, request.caller);
        let first = guard.starts.take_first();
        let mut approved = None;
        let mut state = ConsentState::Unanswered(DenyReason::Failed, String::new());
        let may_be_approved =
            guard.approvals().is_some() || first.is_some() || guard.starts.has_approved_code();
        if self.asked().next().is_some() && may_be_approved {
            let subject = subject()?;
            let covers = |start: &ApprovedStart| start.covers(argv, &subject);
            // Nobody approved the variables that the first program has set for the next, so only PATH may be among
            // them: /etc/profile sets it, and each program that is found by it is judged when it starts.
            let is_path = |variable: &Vec<u8>| variable.starts_with(b"PATH=");
            let covers_code =
                |code: &ApprovedStart| covers(code) && subject.program_variables.iter().all(is_path);
            let is_first = first.is_some_and(|first| covers(&first));
            state = if is_first || guard.starts.take_approved_code(covers_code) {
                ConsentState::Approved("approved at OpenClaw's gateway")
            } else {
                guard.consent(caller, || self.question(request, subject.clone()))
            };
            approved = Some(subject);
        }
        if state == ConsentState::Unasked {
            return Err(Errno::ACCESS);
        }
        self.conclude(request, &state)?;
        Ok(approved.filter(|_| matches!(state, ConsentState::Approved(_))))
    }

    /// Reports the start, with this state of its question, and applies the verdicts.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn conclude(&self, request: &Request<'_, '_>, state: &ConsentState) -> Result<(), Errno> {
        let (guard, caller) = (request.guard, request.caller);
        for step in &self.files {
            let mut verdict = step.verdict.clone();
            if verdict.outcome == Outcome::Ask && guard.session.observe {
                guard.note_question(caller, Operation::Exec, &step.path, &step.argv, &verdict.reason);
                continue;
            }
            if verdict.outcome == Outcome::Ask {
                verdict = state.verdict(verdict, |verdict| step.fallback(guard.policy(), verdict));
            }
            // A loader is part of a program's start, which has already been reported.
            if verdict.outcome != Outcome::Allow || step.role != Role::Loader {
                guard.settle(caller, Operation::Exec, &step.path, &step.argv, &verdict)?;
            }
        }
        for step in self.files.iter().filter(|step| step.verdict.outcome == Outcome::Allow) {
            guard.starts.used_entries.record(guard.policy(), &step.exec(), &step.verdict.reason);
        }
        Ok(())
    }
}
