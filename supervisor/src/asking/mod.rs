//! Holds a call while a human decides.
//!
//! A handler does not wait. It notes what it would have to ask, refuses, and is done: no lock, descriptor or judgement of
//! it lasts while a human reads. Then the human is asked, and the call is handled once more, from the beginning and under
//! the policy that is in force by then. What it is now is compared with what was approved.

mod consent;
mod log;
mod question;

use std::time::Duration;

use rustix::io::Errno;

pub use consent::{Consent, Stand};
pub use log::{Announce, ApprovalLog};
pub use question::{about_exec, about_file};

use crate::answer::{Answer, Outcome};
use crate::approval::{Approvals, Asked, Decision, End, Manager, Question, Refusal, Ticket};
use crate::broker::{Request, handle};
use crate::caller::Caller;
use crate::current::Current;
use crate::pool;

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
pub fn answer(current: &Current, caller: &mut Caller<'_>) -> Outcome {
    for _ in 0..MOST_QUESTIONS {
        let guard = current.guard();
        let outcome = handle(&Request { guard: &guard, caller });
        let Some(question) = caller.consent().take_question() else { return outcome };
        let Some(approvals) = guard.approvals() else { return outcome };
        // Whatever else is wrong needs no human.
        if !matches!(outcome, Err(Errno::ACCESS)) {
            return outcome;
        }
        // Another guard may have saved the answer a moment ago.
        if current.newer(&guard).is_some() {
            caller.start_again();
            continue;
        }
        match ask(approvals, caller, question.clone())? {
            Reply::Stands(stand) => caller.consent().settle(&question, stand),
            Reply::Interrupted => return Ok(Answer::Interrupted),
        }
        caller.start_again();
    }
    Err(Errno::ACCESS)
}

fn ask(approvals: &Approvals, caller: &Caller<'_>, question: Question) -> Result<Reply, Errno> {
    let stand = match approvals.ask(question) {
        Asked::Granted(grant) if grant.until.is_none() => Stand::Approved("granted for the session"),
        Asked::Granted(_) => Stand::Approved("granted for a time"),
        Asked::Refused(Refusal::NoRoute) => Stand::Unanswered(Refusal::NoRoute.to_string()),
        Asked::Refused(refusal) => Stand::Refused(refusal.to_string()),
        Asked::Ended(end) => stand(end, || false),
        Asked::Waiting(ticket) => return wait(approvals.manager(), caller, ticket),
    };
    Ok(Reply::Stands(stand))
}

fn wait(manager: &Manager, caller: &Caller<'_>, ticket: Ticket) -> Result<Reply, Errno> {
    let call = ticket.call();
    let end = pool::asking(caller, ticket.canceller(), || ticket.wait());
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
        End::Resolved(Decision::Deny) => Stand::Refused("denied by the operator".to_owned()),
        End::Resolved(_) if consume() => Stand::Approved("approved by the operator"),
        End::Resolved(_) => Stand::Refused("approved, but too late for this call".to_owned()),
        End::Expired => Stand::Unanswered("nobody answered in time".to_owned()),
        End::Withdrawn => Stand::Refused("nobody can answer any more".to_owned()),
    }
}
