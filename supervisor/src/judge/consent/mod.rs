//! Holds a call while a human decides.
//!
//! A handler does not wait. It notes its question, refuses, and is done: none of its locks, descriptors and judgements
//! lasts while a human reads. Then the human is asked, and the call is handled again from the start, under the policy
//! that is in force by then. The call as it is now is compared with what was approved.
//!
//! Why: docs/decisions.md, "A handler asks by refusing."

mod all_paths;
mod ending;
mod log;
mod question;
mod reach;
mod state;
mod unusual;
mod which_file;

use std::sync::Arc;
use std::time::Duration;

use guard_approvals::{
    Approvals, AskOutcome, Binding, Decision, DenyReason, Going, Id, Lifecycle, Manager, Question, Refusal,
    Resolution, Subject, Ticket, WhichFile,
};
use guard_shim::failpoints::{Fallible, fail_point};
use rustix::io::Errno;

pub use all_paths::AllPaths;
pub use ending::end_questions;
pub use log::{Announce, AnswerHint, ApprovalLog};
pub use question::{Background, about_exec, about_file, about_host, about_outside};
pub use reach::directories_above;
pub use state::{Consent, ConsentState};
use which_file::is_replaced;
pub use which_file::which_file;

use crate::caller::Caller;
use crate::judge::active::View;
use crate::judge::guard::Guard;
use crate::kernel::pidfd;
use crate::reply::{HandlerResult, Reply};
use crate::syscall::{Request, handle};
use crate::worker::Worker;

/// A call names two paths at most, and a program has few interpreters. A call that keeps raising new questions is
/// refused, and so is one whose question other threads' signals keep withdrawing.
const MAX_QUESTIONS: usize = 8;

/// How often a call is judged again before its question, because the policy has changed meanwhile. A policy that keeps
/// changing does not keep the question from being asked: after the answer, the call is judged by the policy of then.
const MAX_NEWER_POLICIES: usize = 8;

/// How long a call waits for its "always" to be saved.
const SAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of asking.
enum ConsentOutcome {
    /// The call's consent.
    Settled(ConsentState),
    /// The caller has a pending signal: the kernel restarts the call after it, or ends it.
    Interrupted,
    /// The question ended without an answer, and the caller still waits.
    Withdrawn,
}

/// Performs the held call, or refuses it, after asking a human if needed.
///
/// # Errors
/// As [`handle`].
pub fn answer(worker: &Worker, current: &mut View, caller: &mut Caller<'_>) -> HandlerResult {
    let mut program: Option<AskedProgram> = None;
    let (mut questions, mut newer) = (0, 0);
    loop {
        let guard = current.guard();
        let outcome = handle(&Request { guard, caller, worker });
        let Some(approvals) = guard.approvals() else { return outcome };
        // A human is asked only if nothing else is wrong with the call.
        let question = caller.consent().take_question().filter(|_| matches!(outcome, Err(Errno::ACCESS)));
        let Some(question) = question else {
            if let Some(program) = program {
                if matches!(outcome, Ok(Reply::Started)) && caller.consent().reason().is_none() {
                    guard.session.known_programs.add(&program.path);
                }
                report(approvals, caller, program, &outcome);
            }
            return outcome;
        };
        let (guard, approvals) = (Arc::clone(guard), Arc::clone(approvals));
        // Another guard may have saved the answer a moment ago.
        if newer < MAX_NEWER_POLICIES && current.newer(&guard).is_some() {
            newer += 1;
            caller.start_again();
            continue;
        }
        if questions == MAX_QUESTIONS {
            let tid = caller.tid();
            let text =
                format!("openclaw-guard: denied a call of process {tid} which keeps asking new questions");
            guard.reporter.remark(text);
            return outcome;
        }
        questions += 1;
        let started = match &question.subject {
            Subject::Exec(exec) => {
                question.command().map(|command| (command, unusual::program(exec).to_vec(), exec.is_outside))
            }
            Subject::File { .. } | Subject::Host(_) => None,
        };
        // Only the binding is kept while the call waits: thousands may wait, each with long arguments.
        let binding = Binding::from_question(&question);
        let (id, reply) = ask(worker, &guard, &approvals, caller, question)?;
        match reply {
            ConsentOutcome::Settled(state) => caller.consent().settle(binding, state),
            ConsentOutcome::Interrupted => return Ok(Reply::Interrupted),
            // Another thread has taken the signal. If the guard asks no more questions by then, the next attempt says
            // so.
            ConsentOutcome::Withdrawn => {
                caller.start_again();
                continue;
            }
        }
        if let Some((command, path, is_outside)) = started {
            // The handle is opened now, while the caller is held and cannot have ended.
            let process = caller.process().and_then(pidfd::ProcessHandle::open).ok();
            caller.check()?;
            program = Some(AskedProgram { id, command, path, process, is_outside });
        }
        caller.start_again();
    }
}

/// A program that a human was asked about.
struct AskedProgram {
    id: Id,
    command: String,
    path: Vec<u8>,
    process: Option<pidfd::ProcessHandle>,
    is_outside: bool,
}

/// Reports how the call goes on after the human was asked: the program runs, or was denied.
fn report(approvals: &Approvals, caller: &Caller<'_>, program: AskedProgram, outcome: &HandlerResult) {
    let AskedProgram { id, command, process, is_outside, .. } = program;
    match (outcome, process, caller.consent().reason()) {
        // The process of a command outside also starts after a no, to print the refusal.
        (Ok(Reply::Started), _, Some(reason)) if is_outside => {
            approvals.manager().report(Lifecycle { id, command, going: Going::Denied(reason) });
        }
        (Ok(Reply::Started), Some(process), _) => approvals.follow(id, command, Box::pin(process.ended())),
        (Err(Errno::ACCESS), _, Some(reason)) => {
            approvals.manager().report(Lifecycle { id, command, going: Going::Denied(reason) });
        }
        _ => {}
    }
}

fn ask(
    worker: &Worker,
    guard: &Guard,
    approvals: &Approvals,
    caller: &Caller<'_>,
    question: Question,
) -> Result<(Id, ConsentOutcome), Errno> {
    fail_point(Fallible::Asking, || question.reason.text.as_bytes());
    let file = match &question.subject {
        Subject::File { path, .. } => Some((path.clone(), question.which)),
        Subject::Exec(_) | Subject::Host(_) => None,
    };
    let (id, asked) = approvals.ask(question);
    match settled(asked) {
        Ok(state) => Ok((id, ConsentOutcome::Settled(state))),
        Err(ticket) if file.is_some_and(|(path, which)| is_moved(worker, guard, caller, &path, &which)) => {
            ticket.canceller().cancel();
            Ok((id, ConsentOutcome::Withdrawn))
        }
        Err(ticket) => Ok((id, wait(worker, approvals.manager(), caller, ticket)?)),
    }
}

/// Whether a move that was judged before the question existed has changed what the question is about. Later moves
/// withdraw the question.
fn is_moved(worker: &Worker, guard: &Guard, caller: &Caller<'_>, path: &[u8], which: &WhichFile) -> bool {
    // While another guard keeps this one from moving anything, nothing is moved.
    drop(guard.session.moving.alone(|lock| worker.wait_for_lock(caller, lock)));
    is_replaced(path, which)
}

/// Returns the consent that asking gave at once.
///
/// # Errors
/// The place in the queue, if a human is asked.
pub fn settled(asked: AskOutcome) -> Result<ConsentState, Ticket> {
    Ok(match asked {
        AskOutcome::Granted(grant) if grant.is_for_command => {
            ConsentState::Approved("granted for the command")
        }
        AskOutcome::Granted(grant) if grant.until.is_none() => {
            ConsentState::Approved("granted for the session")
        }
        AskOutcome::Granted(_) => ConsentState::Approved("granted for a time"),
        AskOutcome::Refused(refusal) => refused(&refusal),
        AskOutcome::Ended(end) => consent_state(end, || false),
        AskOutcome::Waiting(ticket) => return Err(ticket),
    })
}

fn refused(refusal: &Refusal) -> ConsentState {
    let why = refusal.to_string();
    match refusal {
        Refusal::NoRoute => ConsentState::Unanswered(DenyReason::NoRoute, why),
        Refusal::DeniedLately | Refusal::Denied(_) => ConsentState::Refused(DenyReason::User, why),
        Refusal::TooMany { .. } | Refusal::Full | Refusal::TooLong { .. } | Refusal::Broken(_) => {
            ConsentState::Refused(DenyReason::Failed, why)
        }
    }
}

fn wait(
    worker: &Worker,
    manager: &Manager,
    caller: &Caller<'_>,
    ticket: Ticket,
) -> Result<ConsentOutcome, Errno> {
    let call = ticket.call();
    let end = worker.wait_for_answer(caller, ticket.canceller(), || ticket.wait());
    let is_allowed = matches!(&end, Resolution::Resolved(decision) if decision.allows());
    if !is_allowed {
        caller.check()?;
        // The signal may be why the question has ended. Its handler runs first, and the call starts again.
        if caller.kernel().is_signalled(caller.tid()) {
            return Ok(ConsentOutcome::Interrupted);
        }
        if end == Resolution::Withdrawn {
            return Ok(ConsentOutcome::Withdrawn);
        }
    }
    if matches!(end, Resolution::Resolved(Decision::AllowAlways(_))) {
        // The next call must not ask again. If the answer cannot be saved, or not in time, this call is approved all
        // the same.
        manager.wait_for_save(call, SAVE_TIMEOUT);
    }
    Ok(ConsentOutcome::Settled(consent_state(end, || manager.consume(call))))
}

/// The consent that a resolution gives. `consume` claims an approval for this call, and returns whether that succeeded.
pub fn consent_state(end: Resolution, consume: impl FnOnce() -> bool) -> ConsentState {
    match end {
        Resolution::Resolved(decision) if !decision.allows() => {
            ConsentState::Refused(DenyReason::User, "denied by the operator".to_owned())
        }
        Resolution::Resolved(_) if consume() => ConsentState::Approved("approved by the operator"),
        Resolution::Resolved(_) => {
            ConsentState::Refused(DenyReason::Timeout, "approved, but too late for this call".to_owned())
        }
        Resolution::Expired => {
            ConsentState::Unanswered(DenyReason::Timeout, "nobody answered in time".to_owned())
        }
        Resolution::NoRoute => ConsentState::Unanswered(DenyReason::NoRoute, Refusal::NoRoute.to_string()),
        Resolution::Failed => {
            ConsentState::Refused(DenyReason::Failed, "the question could not be asked".to_owned())
        }
        Resolution::Withdrawn => {
            ConsentState::Refused(DenyReason::Failed, "no route can answer any more".to_owned())
        }
    }
}
