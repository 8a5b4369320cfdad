//! A yes that comes while the caller handles a signal.
//!
//! Nobody waits at that moment, so the yes is kept for the process that asked, until it comes back with an equal call. Without
//! this a human would have to answer again, and a program with a quick timer might never get its answer.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::binding::Binding;
use super::super::outcome::Registered;
use super::super::question::{Id, Process, Question};
use super::PendingApprovals;

/// How long a yes waits for its caller. On a loaded machine a signal handler may take so long.
pub const LATE_YES_INTERVAL: Duration = Duration::from_secs(10);

/// The maximum number of kept answers. Beyond it the oldest is void.
const MAX_LATE: usize = 64;

/// A yes to a question without waiters.
#[derive(Debug)]
struct LateYes {
    question: Id,
    binding: Binding,
    /// The process that asked.
    caller: (i32, u64),
    until: Instant,
}

/// The answers whose callers have not come back yet.
#[derive(Debug, Default)]
pub struct LateAnswers(Vec<LateYes>);

impl LateAnswers {
    /// Keeps a yes for the process that asked.
    pub fn insert(&mut self, id: Id, binding: Binding, question: &Question, now: Instant) {
        let Some(caller) = question.asked_by.first().map(Process::identity) else { return };
        if self.0.len() >= MAX_LATE {
            self.0.remove(0);
        }
        self.0.push(LateYes { question: id, binding, caller, until: now + LATE_YES_INTERVAL });
    }

    /// Claims the yes for this call, and returns the id of its question.
    fn claim(&mut self, binding: &Binding, question: &Question) -> Option<Id> {
        let caller = question.asked_by.first()?.identity();
        let is_same = |late: &LateYes| late.caller == caller && late.binding == *binding;
        let index = self.0.iter().position(is_same)?;
        Some(self.0.remove(index).question)
    }

    /// Removes the answers that are void by `now`.
    pub fn forget(&mut self, now: Instant) {
        self.0.retain(|late| late.until > now);
    }

    /// Removes all answers.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of kept answers.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl PendingApprovals {
    /// Lets a call go on that has come back for its yes.
    pub(super) fn returned(
        &mut self,
        call: Id,
        binding: &Binding,
        question: &Question,
    ) -> Option<Registered> {
        let id = self.late.claim(binding, question)?;
        let record = self.ended.get_mut(&id)?;
        let (sender, receiver) = oneshot::channel();
        sender.send(record.end).ok()?;
        record.calls.push(call);
        record.claims.insert(call);
        self.calls.insert(call, id);
        self.newest_waiter += 1;
        Some(Registered::Waiting(self.newest_waiter, receiver))
    }
}
