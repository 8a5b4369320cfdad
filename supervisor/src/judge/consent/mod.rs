//! Holds a call while a human decides.
//!
//! A handler does not wait. It notes what it would have to ask, refuses, and is done: no lock, descriptor or judgement of
//! it lasts while a human reads. Then the human is asked, and the call is handled once more, from the beginning and under
//! the policy that is in force by then. What it is now is compared with what was approved.

mod log;
mod question;
mod state;

use std::sync::Arc;
use std::time::Duration;

use guard_approvals::{
    Approvals, Asked, Binding, Decision, End, Going, Id, Manager, Question, Reason, Refusal, Ticket, Told,
};
use guard_shim::failpoints::{Fallible, may_fall};
use rustix::io::Errno;

pub use log::{Announce, ApprovalLog, Way};
pub use question::{Background, about_exec, about_file};
pub use state::{Consent, Stand};

use crate::caller::Caller;
use crate::judge::active::View;
use crate::kernel::ended;
use crate::reply::{Answer, Outcome};
use crate::syscall::{Request, handle};
use crate::worker;

/// A call names two paths at most, and a program has few interpreters. One that goes on finding something else to ask is
/// refused.
const MOST_QUESTIONS: usize = 8;

/// How long a call waits for its "always" to be saved.
const SAVING: Duration = Duration::from_secs(5);

/// What came of asking.
enum Reply {
    /// How the call stands now.
    Stands(Stand),
    /// The caller has a signal to take: the kernel starts the call again after it, or ends it.
    Interrupted,
}

/// Does the held call, or refuses it, after a human where it needs one.
///
/// # Errors
/// As [`handle`].
pub fn answer(current: &mut View, caller: &mut Caller<'_>) -> Outcome {
    let mut program = None;
    for _ in 0..MOST_QUESTIONS {
        let guard = current.guard();
        let outcome = handle(&Request { guard, caller });
        let Some(approvals) = guard.approvals() else { return outcome };
        // Whatever else is wrong needs no human.
        let question = caller.consent().take_question().filter(|_| matches!(outcome, Err(Errno::ACCESS)));
        let Some(question) = question else {
            if let Some(program) = program {
                tell(approvals, caller, program, &outcome);
            }
            return outcome;
        };
        let (guard, approvals) = (Arc::clone(guard), Arc::clone(approvals));
        // Another guard may have saved the answer a moment ago.
        if current.newer(&guard).is_some() {
            caller.start_again();
            continue;
        }
        let command = question.command();
        // All that is kept while it waits: thousands may, each with long arguments.
        let binding = Binding::of(&question);
        let (id, reply) = ask(&approvals, caller, question)?;
        match reply {
            Reply::Stands(stand) => caller.consent().settle(binding, stand),
            Reply::Interrupted => return Ok(Answer::Interrupted),
        }
        if let Some(command) = command {
            // Now, as long as it cannot have ended.
            let process = caller.process().and_then(ended::Process::hold).ok();
            caller.check()?;
            program = Some(Program { id, command, process });
        }
        caller.start_again();
    }
    let text = format!("openclaw-guard: denied a call of process {} that asks for ever more", caller.tid());
    current.guard().reporter.remark(text);
    Err(Errno::ACCESS)
}

/// A program that was asked for.
struct Program {
    id: Id,
    command: String,
    process: Option<ended::Process>,
}

/// Tells how it goes on.
fn tell(approvals: &Approvals, caller: &Caller<'_>, program: Program, outcome: &Outcome) {
    let Program { id, command, process } = program;
    match (outcome, process, caller.consent().reason()) {
        (Ok(Answer::Started), Some(process), _) => approvals.follow(id, command, Box::pin(process.ended())),
        (Err(Errno::ACCESS), _, Some(reason)) => {
            approvals.manager().tell(Told { id, command, going: Going::Denied(reason) });
        }
        _ => {}
    }
}

fn ask(approvals: &Approvals, caller: &Caller<'_>, question: Question) -> Result<(Id, Reply), Errno> {
    may_fall(Fallible::Asking, question.because.text.as_bytes());
    let (id, asked) = approvals.ask(question);
    let stand = match asked {
        Asked::Granted(grant) if grant.until.is_none() => Stand::Approved("granted for the session"),
        Asked::Granted(_) => Stand::Approved("granted for a time"),
        Asked::Refused(refusal) => refused(&refusal),
        Asked::Ended(end) => stand(end, || false),
        Asked::Waiting(ticket) => return Ok((id, wait(approvals.manager(), caller, ticket)?)),
    };
    Ok((id, Reply::Stands(stand)))
}

fn refused(refusal: &Refusal) -> Stand {
    let why = refusal.to_string();
    match refusal {
        Refusal::NoRoute => Stand::Unanswered(Reason::NoRoute, why),
        Refusal::DeniedLately => Stand::Refused(Reason::User, why),
        Refusal::TooMany { .. } | Refusal::Full | Refusal::TooLong { .. } | Refusal::Broken(_) => {
            Stand::Refused(Reason::Failed, why)
        }
    }
}

fn wait(manager: &Manager, caller: &Caller<'_>, ticket: Ticket) -> Result<Reply, Errno> {
    let call = ticket.call();
    let end = worker::asking(caller, ticket.canceller(), || ticket.wait());
    if end == End::Withdrawn {
        caller.check()?;
        if caller.kernel().is_signalled(caller.tid()) {
            return Ok(Reply::Interrupted);
        }
    }
    if matches!(end, End::Resolved(Decision::AllowAlways(_))) {
        // The next call is not to be asked. One that cannot be saved, or not so soon, was approved all the same.
        manager.kept(call, SAVING);
    }
    Ok(Reply::Stands(stand(end, || manager.consume(call))))
}

/// `consume` says whether a yes is this call's to use.
fn stand(end: End, consume: impl FnOnce() -> bool) -> Stand {
    match end {
        End::Resolved(Decision::Deny) => Stand::Refused(Reason::User, "denied by the operator".to_owned()),
        End::Resolved(_) if consume() => Stand::Approved("approved by the operator"),
        End::Resolved(_) => {
            Stand::Refused(Reason::Timeout, "approved, but too late for this call".to_owned())
        }
        End::Expired => Stand::Unanswered(Reason::Timeout, "nobody answered in time".to_owned()),
        End::NoRoute => Stand::Unanswered(Reason::NoRoute, Refusal::NoRoute.to_string()),
        End::Failed => Stand::Refused(Reason::Failed, "it could not be asked for".to_owned()),
        End::Withdrawn => Stand::Refused(Reason::Failed, "nobody can answer any more".to_owned()),
    }
}
