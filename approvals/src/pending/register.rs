//! Registering new questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use guard_policy::approval::Approvals;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::binding::Binding;
use super::super::decision::{Refusal, Resolution, TemporaryGrant};
use super::super::event::QuestionChange;
use super::super::outcome::Registered;
use super::super::question::{Id, MAX_LEN, PendingRequest, Repeat};
use super::{Pending, PendingApprovals, Waiter};

/// The maximum number of pending questions.
const MAX_PENDING: usize = Approvals::MAX_PENDING as usize;
/// The maximum number of waiting calls. Each holds one of the supervisor's workers.
pub const MAX_WAITERS: usize = 3072;
/// The maximum memory of all pending questions, in bytes.
const MAX_BYTES: usize = 16 << 20;

impl PendingApprovals {
    /// Registers a question. If it, or one with the same binding, is already pending, waits for the same answer.
    pub fn register(
        &mut self,
        request: &Arc<PendingRequest>,
        max_pending: usize,
        has_route: bool,
        now: Instant,
    ) -> Registered {
        self.pass(now);
        let binding = Binding::from_question(&request.question);
        let done = match self.known(request, &binding) {
            Some(known) => known,
            None if request.deadline <= now => Registered::Ended(Resolution::Expired),
            None => self.admit(request, binding, max_pending, has_route),
        };
        match &done {
            Registered::Refused(refusal) => {
                self.note(request.id, QuestionChange::Refused(refusal.clone()), Some(request))
            }
            Registered::Granted(_) => self.note(request.id, QuestionChange::Granted, Some(request)),
            Registered::Waiting(..) | Registered::Ended(_) => {}
        }
        done
    }

    /// The result of a question that need not be asked.
    fn known(&mut self, request: &Arc<PendingRequest>, binding: &Binding) -> Option<Registered> {
        if let Some(question) = self.calls.get(&request.id).copied() {
            // One id stands for one question: a different question must not get its answer.
            if let Some(pending) = self.pending.get(&question) {
                let is_same = pending.binding == *binding;
                return Some(if is_same { self.wait(question, request.id) } else { taken() });
            }
            let record = self.ended.get(&question)?;
            return Some(if record.binding == binding.digest() {
                Registered::Ended(record.end)
            } else {
                taken()
            });
        }
        if self.denials.get(binding).is_some() {
            return Some(Registered::Refused(Refusal::DeniedLately));
        }
        let question = &request.question;
        if let Some(denial) = self.file_denials.denying(question) {
            return Some(Registered::Refused(Refusal::Denied(denial.decision)));
        }
        if let Some((denial, _)) = self.host_denials.covering(question) {
            return Some(Registered::Refused(Refusal::Denied(denial.decision)));
        }
        if let Some(until) = self.grants.get(binding).filter(|_| question.repeat == Repeat::Allowed) {
            return Some(Registered::Granted(TemporaryGrant { is_for_command: false, until }));
        }
        if let Some(grant) =
            self.file_grants.allowing(question).filter(|_| question.repeat == Repeat::Allowed)
        {
            let (is_for_command, until) = (grant.is_for_command(), grant.until);
            return Some(Registered::Granted(TemporaryGrant { is_for_command, until }));
        }
        let host_grant = self.host_grants.covering(question);
        if let Some((_, until)) = host_grant.filter(|_| question.repeat == Repeat::Allowed) {
            return Some(Registered::Granted(TemporaryGrant { is_for_command: false, until }));
        }
        if let Some(returned) = self.returned(request.id, binding, question) {
            return Some(returned);
        }
        if self.expired.get(binding).is_some() {
            return Some(Registered::Ended(Resolution::Expired));
        }
        let question = self.by_binding.get(binding).copied()?;
        let waits = self.wait(question, request.id);
        if matches!(waits, Registered::Waiting(..)) {
            self.note(question, QuestionChange::Joined { call: request.id }, Some(request));
        }
        Some(waits)
    }

    fn admit(
        &mut self,
        request: &Arc<PendingRequest>,
        binding: Binding,
        max_pending: usize,
        has_route: bool,
    ) -> Registered {
        let size = request.question.size();
        let card = binding.card(&request.question);
        let is_full = self.pending.len() >= MAX_PENDING || self.bytes + size > MAX_BYTES;
        let refusal = if !has_route {
            Some(Refusal::NoRoute)
        } else if size > MAX_LEN {
            Some(Refusal::TooLong { size })
        } else if !self.cards.has(&card) && self.cards.count(binding.agent()) >= max_pending {
            Some(Refusal::TooMany { most: max_pending })
        } else if is_full || self.waiters >= MAX_WAITERS {
            Some(Refusal::Full)
        } else {
            None
        };
        if let Some(refusal) = refusal {
            return Registered::Refused(refusal);
        }
        let id = request.id;
        self.bytes += size;
        self.by_binding.insert(binding.clone(), id);
        self.deadlines.insert((request.deadline, id));
        let shown = self.cards.list(&card, id);
        let calls = BTreeMap::new();
        let (without, untaken) = (Vec::new(), Vec::new());
        self.pending.insert(
            id,
            Pending {
                request: Arc::clone(request),
                binding,
                card,
                size,
                calls,
                without,
                untaken,
                is_moved: false,
            },
        );
        self.note(id, QuestionChange::Requested { card: shown }, Some(request));
        self.wait(id, id)
    }

    pub(super) fn wait(&mut self, question: Id, call: Id) -> Registered {
        let Some(pending) = self.pending.get_mut(&question).filter(|_| self.waiters < MAX_WAITERS) else {
            return Registered::Refused(Refusal::Full);
        };
        self.newest_waiter += 1;
        let (sender, receiver) = oneshot::channel();
        pending.calls.entry(call).or_default().push(Waiter { number: self.newest_waiter, sender });
        self.waiters += 1;
        self.calls.insert(call, question);
        Registered::Waiting(self.newest_waiter, receiver)
    }
}

fn taken() -> Registered {
    Registered::Refused(Refusal::Broken("another question has this id".to_owned()))
}
