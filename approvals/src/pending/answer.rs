//! Answering questions, and releasing the calls that waited.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::super::decision::{AnsweredBy, Decision, OperatorAnswer, Resolution, ResolveError};
use super::super::event::QuestionChange;
use super::super::file_grants::{FileGrant, until};
use super::super::host_grants::HostGrant;
use super::super::outcome::{Lookup, Resolved, SaveError, SaveRequest, saves};
use super::super::question::{Id, Question, Repeat};
use super::super::resolved::Record;
use super::rename::FreshRule;
use super::{Pending, PendingApprovals};

/// How long a denial also applies to equal calls, so that a retry loop does not ask a human again. Also how long equal
/// calls are allowed after an "always", until the saved entry is loaded.
pub const BURST_INTERVAL: Duration = Duration::from_secs(5);

impl PendingApprovals {
    /// Answers the question with this id or id prefix. With a revision, answers every question that its card listed at
    /// that revision and still lists.
    ///
    /// # Errors
    /// Returns an error and answers nothing if no such question is pending, or if one of them cannot be given this
    /// answer.
    pub fn resolve(
        &mut self,
        prefix: &str,
        revision: Option<u64>,
        answer: OperatorAnswer<'_>,
        by: AnsweredBy,
        now: Instant,
    ) -> Result<Resolved, ResolveError> {
        let OperatorAnswer { decision, pattern } = answer;
        let id = match self.find(prefix, now)? {
            Lookup::Pending(id) => id,
            Lookup::Ended(id, Resolution::Resolved(before)) if before == decision => {
                return Ok(Resolved { id, answered: Vec::new(), cards: Vec::new(), saves: Vec::new() });
            }
            Lookup::Ended(_, Resolution::Resolved(_)) => return Err(ResolveError::AlreadyResolved),
            Lookup::Ended(_, Resolution::Expired) => return Err(ResolveError::Expired),
            Lookup::Ended(_, Resolution::NoRoute | Resolution::Failed) => return Err(ResolveError::NoRoute),
            Lookup::Ended(_, Resolution::Withdrawn) => return Err(ResolveError::Withdrawn),
        };
        let mut answered = match revision {
            None => vec![id],
            Some(revision) => {
                let card = self.pending.get(&id).map(|pending| &pending.card);
                let listed = card.and_then(|card| self.cards.listed(card, revision));
                listed.filter(|listed| listed.contains(&id)).ok_or(ResolveError::NoRevision(revision))?
            }
        };
        let questions = answered.iter().filter_map(|id| Some((*id, &self.pending.get(id)?.request.question)));
        let saves = saves(questions, decision, pattern)?;
        if answered.iter().any(|id| self.pending.get(id).is_some_and(|pending| pending.is_moved)) {
            return Err(ResolveError::Withdrawn);
        }
        for save in &saves {
            let questions =
                save.questions.iter().filter_map(|id| Some(&self.pending.get(id)?.request.question));
            let until = now + BURST_INTERVAL;
            let fresh = questions.filter_map(|question| FreshRule::new(&save.saving, question, until));
            self.fresh_rules.extend(fresh);
        }
        let mut cards = self.listings();
        for id in &answered {
            self.answer(*id, decision, by, now);
        }
        // Later questions that a wide answer covers are not asked any more.
        for id in self.covered(decision) {
            self.end(id, Resolution::Resolved(decision), QuestionChange::Resolved { decision, by }, now);
            answered.push(id);
        }
        cards.iter_mut().for_each(|card| card.requests.retain(|(request, _)| answered.contains(&request.id)));
        cards.retain(|card| !card.requests.is_empty());
        for question in saves.iter().flat_map(|save| &save.questions) {
            if let Some(record) = self.ended.get_mut(question) {
                record.unsaved += 1;
            }
        }
        Ok(Resolved { id, answered, cards, saves })
    }

    /// The pending questions that this answer also decides.
    fn covered(&self, decision: Decision) -> Vec<Id> {
        let is_covered = |question: &Question| match decision {
            Decision::AllowFor(..) => {
                self.file_grants.allowing(question).is_some() || self.host_grants.covering(question).is_some()
            }
            Decision::DenyFor(..) => {
                self.file_denials.denying(question).is_some()
                    || self.host_denials.covering(question).is_some()
            }
            Decision::AllowOnce | Decision::AllowAlways(_) | Decision::Deny => false,
        };
        let pending = self
            .pending
            .iter()
            .filter(|(_, pending)| !pending.is_moved && is_covered(&pending.request.question));
        pending.map(|(id, _)| *id).collect()
    }

    fn answer(&mut self, id: Id, decision: Decision, by: AnsweredBy, now: Instant) {
        let Some(pending) = self.pending.get(&id) else { return };
        let (binding, question) = (pending.binding.clone(), &pending.request.question);
        match decision {
            Decision::Deny => self.denials.insert(binding, Some(now + BURST_INTERVAL)),
            _ if question.repeat == Repeat::AskedEachTime => {}
            Decision::AllowOnce => {}
            Decision::AllowFor(_, span) => {
                if let Some(grant) = FileGrant::new(&pending.request, decision, now) {
                    self.file_grants.insert(grant);
                } else if let Some(grant) = HostGrant::new(question, decision) {
                    self.host_grants.insert(grant, until(span, now));
                } else {
                    self.grants.insert(binding, until(span, now));
                }
            }
            Decision::DenyFor(_, span) => {
                if let Some(denial) = FileGrant::new(&pending.request, decision, now) {
                    self.file_denials.insert(denial);
                } else if let Some(denial) = HostGrant::new(question, decision) {
                    self.host_denials.insert(denial, until(span, now));
                }
            }
            Decision::AllowAlways(_) => self.grants.insert(binding, Some(now + BURST_INTERVAL)),
        }
        self.end(id, Resolution::Resolved(decision), QuestionChange::Resolved { decision, by }, now);
    }

    pub(super) fn end(&mut self, id: Id, end: Resolution, what: QuestionChange, now: Instant) {
        let Some(pending) = self.pending.remove(&id) else { return };
        let Pending { request, binding, card, size, calls, without: _, untaken: _, is_moved: _ } = pending;
        self.bytes -= size;
        self.by_binding.remove(&binding);
        self.deadlines.remove(&(request.deadline, id));
        self.lingering.retain(|(_, other)| *other != id);
        self.cards.remove(&card, id);
        let is_yes = matches!(end, Resolution::Resolved(decision) if decision.allows());
        if is_yes && calls.is_empty() {
            self.late.insert(id, binding.clone(), &request.question, now);
        }
        let binding = binding.digest();
        let mut record = Record { end, binding, calls: vec![id], claims: BTreeSet::new(), unsaved: 0 };
        for (call, waiters) in calls {
            if call != id {
                record.calls.push(call);
            }
            self.waiters -= waiters.len();
            // A waiter that is gone has already withdrawn, or is about to.
            let mut is_delivered = false;
            for waiter in waiters.into_iter().filter(|waiter| !waiter.sender.is_closed()) {
                is_delivered |= waiter.sender.send(end).is_ok();
            }
            if is_yes && is_delivered {
                record.claims.insert(call);
            }
        }
        // The call that asked first may have gone, but its id still names the question.
        self.calls.insert(id, id);
        let forgotten = self.ended.insert(id, record, now);
        self.forget(forgotten);
        self.note(id, what, Some(&request));
    }

    /// Whether a call may go on because it was approved. True once.
    pub fn consume(&mut self, call: Id, now: Instant) -> bool {
        self.pass(now);
        let question = self.calls.get(&call).copied();
        let record = question.and_then(|question| self.ended.get_mut(&question));
        let is_first = record.is_some_and(|record| record.claims.remove(&call));
        if is_first {
            self.note(call, QuestionChange::Consumed, None);
        }
        is_first
    }

    /// Records the result of a save.
    pub fn saved(&mut self, save: &SaveRequest, outcome: &Result<String, SaveError>) {
        let outcome = match outcome {
            Ok(store) => Ok(store.clone()),
            Err(error) => Err(error.to_string()),
        };
        for question in &save.questions {
            if let Some(record) = self.ended.get_mut(question) {
                record.unsaved = record.unsaved.saturating_sub(1);
            }
            self.note(*question, QuestionChange::Saved(outcome.clone()), None);
        }
    }

    /// Whether the answer to a call's question saves something that is not saved yet.
    pub fn is_saving(&self, call: Id) -> bool {
        let record = self.calls.get(&call).and_then(|question| self.ended.get(question));
        record.is_some_and(|record| record.unsaved > 0)
    }
}
