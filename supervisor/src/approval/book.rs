//! Every question that waits for an answer, and what is remembered of those that do not. No clock and no thread: each
//! operation is told the time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use guard_policy::approval::Approvals;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::binding::{Binding, CardKey};
use super::cards::Cards;
use super::decision::{By, Decision, End, Grant, Refusal, ResolveError, Span};
use super::ended::{Ended, Record};
use super::event::What;
use super::lasting::Lasting;
use super::lifecycle::Told;
use super::outcome::{Found, Happened, Listing, Registered, Resolved, Save, saves};
use super::request::{Id, LONGEST, Repeat, Request};

/// How long a denial stands for equal calls, so that a loop that tries again asks nobody again; and how long after an
/// "always" equal calls are let go, until its entry is read.
pub const BURST: Duration = Duration::from_secs(5);

/// How long a question stays when its last caller has a signal to take: most come back at once, as from the timer by
/// which git(1) shows progress, and a human must not be asked anew each second.
pub const LINGER: Duration = Duration::from_secs(1);

/// Questions that may wait.
const MOST_PENDING: usize = Approvals::MOST_PENDING as usize;
/// Calls that may wait for them. Each holds a worker, of which there are 4096 (`pool`): enough are left for calls that
/// nobody is asked about.
const MOST_WAITERS: usize = 3072;
/// What all waiting questions may take in memory.
const MOST_BYTES: usize = 16 << 20;

/// A question that waits.
#[derive(Debug)]
struct Pending {
    request: Arc<Request>,
    binding: Binding,
    card: CardKey,
    size: usize,
    /// The calls that wait for the answer. None is without a waiter; without any, the question lingers.
    calls: BTreeMap<Id, Vec<Waiter>>,
}

/// Somebody who waits for a call's answer.
#[derive(Debug)]
struct Waiter {
    number: u64,
    sender: oneshot::Sender<End>,
}

/// All questions.
#[derive(Debug, Default)]
pub struct Book {
    pending: HashMap<Id, Pending>,
    by_binding: HashMap<Binding, Id>,
    deadlines: BTreeSet<(Instant, Id)>,
    /// Questions whose last caller has a signal to take, and until when they wait for it to come back.
    lingering: BTreeSet<(Instant, Id)>,
    cards: Cards,
    /// The question of each call, as long as it is known.
    calls: HashMap<Id, Id>,
    ended: Ended,
    denials: Lasting,
    grants: Lasting,
    bytes: usize,
    waiters: usize,
    newest_waiter: u64,
    happened: Vec<Happened>,
}

impl Book {
    /// Registers a question. Where it, or one with the same binding, waits already, its answer is waited for.
    pub fn register(
        &mut self,
        request: &Arc<Request>,
        max_pending: usize,
        has_route: bool,
        now: Instant,
    ) -> Registered {
        self.pass(now);
        let binding = Binding::of(&request.question);
        let done = match self.known(request, &binding) {
            Some(known) => known,
            None if request.deadline <= now => Registered::Ended(End::Expired),
            None => self.admit(request, binding, max_pending, has_route),
        };
        match &done {
            Registered::Refused(refusal) => {
                self.note(request.id, What::Refused(refusal.clone()), Some(request))
            }
            Registered::Granted(_) => self.note(request.id, What::Granted, Some(request)),
            Registered::Waiting(..) | Registered::Ended(_) => {}
        }
        done
    }

    /// What need not be asked.
    fn known(&mut self, request: &Arc<Request>, binding: &Binding) -> Option<Registered> {
        if let Some(question) = self.calls.get(&request.id).copied() {
            // Under one id there is one question: another one must not have its answer.
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
        if let Some(until) = self.grants.get(binding).filter(|_| request.question.repeat == Repeat::Allowed) {
            return Some(Registered::Granted(Box::new(Grant { binding: binding.clone(), until })));
        }
        let question = self.by_binding.get(binding).copied()?;
        let waits = self.wait(question, request.id);
        if matches!(waits, Registered::Waiting(..)) {
            self.note(question, What::Joined { call: request.id }, Some(request));
        }
        Some(waits)
    }

    fn admit(
        &mut self,
        request: &Arc<Request>,
        binding: Binding,
        max_pending: usize,
        has_route: bool,
    ) -> Registered {
        let size = request.question.size();
        let card = binding.card(&request.question);
        let is_full = self.pending.len() >= MOST_PENDING || self.bytes + size > MOST_BYTES;
        let refusal = if !has_route {
            Some(Refusal::NoRoute)
        } else if size > LONGEST {
            Some(Refusal::TooLong { size })
        } else if !self.cards.has(&card) && self.cards.count(binding.agent()) >= max_pending {
            Some(Refusal::TooMany { most: max_pending })
        } else if is_full || self.waiters >= MOST_WAITERS {
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
        self.pending.insert(id, Pending { request: Arc::clone(request), binding, card, size, calls });
        self.note(id, What::Requested { card: shown }, Some(request));
        self.wait(id, id)
    }

    fn wait(&mut self, question: Id, call: Id) -> Registered {
        let Some(pending) = self.pending.get_mut(&question).filter(|_| self.waiters < MOST_WAITERS) else {
            return Registered::Refused(Refusal::Full);
        };
        self.newest_waiter += 1;
        let (sender, receiver) = oneshot::channel();
        pending.calls.entry(call).or_default().push(Waiter { number: self.newest_waiter, sender });
        self.waiters += 1;
        self.calls.insert(call, question);
        Registered::Waiting(self.newest_waiter, receiver)
    }

    /// Answers the question that the id or its beginning names; with a revision, all that its card listed then.
    ///
    /// # Errors
    /// Where nothing is answered: none waits, or for one of them such an answer cannot be given.
    pub fn resolve(
        &mut self,
        prefix: &str,
        revision: Option<u64>,
        decision: Decision,
        by: By,
        now: Instant,
    ) -> Result<Resolved, ResolveError> {
        let id = match self.find(prefix, now)? {
            Found::Pending(id) => id,
            Found::Ended(id, End::Resolved(before)) if before == decision => {
                return Ok(Resolved { id, answered: Vec::new(), saves: Vec::new() });
            }
            Found::Ended(_, End::Resolved(_)) => return Err(ResolveError::AlreadyResolved),
            Found::Ended(_, End::Expired) => return Err(ResolveError::Expired),
            Found::Ended(_, End::Withdrawn) => return Err(ResolveError::Withdrawn),
        };
        let answered = match revision {
            None => vec![id],
            Some(revision) => {
                let card = self.pending.get(&id).map(|pending| &pending.card);
                let listed = card.and_then(|card| self.cards.listed(card, revision));
                listed.filter(|listed| listed.contains(&id)).ok_or(ResolveError::NoRevision(revision))?
            }
        };
        let questions = answered.iter().filter_map(|id| Some((*id, &self.pending.get(id)?.request.question)));
        let saves = saves(questions, decision)?;
        for id in &answered {
            self.answer(*id, decision, by, now);
        }
        for question in saves.iter().flat_map(|save| &save.questions) {
            if let Some(record) = self.ended.get_mut(question) {
                record.unsaved += 1;
            }
        }
        Ok(Resolved { id, answered, saves })
    }

    fn answer(&mut self, id: Id, decision: Decision, by: By, now: Instant) {
        let Some(pending) = self.pending.get(&id) else { return };
        let (binding, repeat) = (pending.binding.clone(), pending.request.question.repeat);
        match decision {
            Decision::Deny => self.denials.insert(binding, Some(now + BURST)),
            _ if repeat == Repeat::AskedEachTime => {}
            Decision::AllowOnce => {}
            Decision::AllowFor(Span::Session) => self.grants.insert(binding, None),
            Decision::AllowFor(Span::Minutes(minutes)) => {
                let minutes = Duration::from_secs(60 * u64::from(minutes.get()));
                self.grants.insert(binding, Some(now + minutes));
            }
            Decision::AllowAlways(_) => self.grants.insert(binding, Some(now + BURST)),
        }
        self.end(id, End::Resolved(decision), What::Resolved { decision, by }, now);
    }

    fn end(&mut self, id: Id, end: End, what: What, now: Instant) {
        let Some(pending) = self.pending.remove(&id) else { return };
        let Pending { request, binding, card, size, calls } = pending;
        self.bytes -= size;
        self.by_binding.remove(&binding);
        self.deadlines.remove(&(request.deadline, id));
        self.lingering.retain(|(_, other)| *other != id);
        self.cards.remove(&card, id);
        let is_yes = matches!(end, End::Resolved(decision) if decision.allows());
        let binding = binding.digest();
        let mut record = Record { end, binding, calls: vec![id], claims: BTreeSet::new(), unsaved: 0 };
        for (call, waiters) in calls {
            if call != id {
                record.calls.push(call);
            }
            self.waiters -= waiters.len();
            // One that is not there any more has said so, or is about to.
            let mut is_told = false;
            for waiter in waiters.into_iter().filter(|waiter| !waiter.sender.is_closed()) {
                is_told |= waiter.sender.send(end).is_ok();
            }
            if is_yes && is_told {
                record.claims.insert(call);
            }
        }
        // The call that asked first may have gone; its id is the question's.
        self.calls.insert(id, id);
        let forgotten = self.ended.insert(id, record, now);
        self.forget(forgotten);
        self.note(id, what, Some(&request));
    }

    /// Whether a call may go on by the yes that it was given: true once.
    pub fn consume(&mut self, call: Id, now: Instant) -> bool {
        self.pass(now);
        let question = self.calls.get(&call).copied();
        let record = question.and_then(|question| self.ended.get_mut(&question));
        let is_first = record.is_some_and(|record| record.claims.remove(&call));
        if is_first {
            self.note(call, What::Consumed, None);
        }
        is_first
    }

    /// Notes what has become of a save.
    pub fn saved(&mut self, save: &Save, outcome: &Result<String, String>) {
        for question in &save.questions {
            if let Some(record) = self.ended.get_mut(question) {
                record.unsaved = record.unsaved.saturating_sub(1);
            }
            self.note(*question, What::Saved(outcome.clone()), None);
        }
    }

    /// Notes how a program goes on.
    pub fn tell(&mut self, told: Told) {
        self.note(told.id, What::Told(told), None);
    }

    /// Whether something that the answer to a call's question saves is still to be saved.
    pub fn is_saving(&self, call: Id) -> bool {
        let record = self.calls.get(&call).and_then(|question| self.ended.get(question));
        record.is_some_and(|record| record.unsaved > 0)
    }

    /// Somebody does not wait for a call's answer any more; `None`: the call itself is gone. The last one takes the
    /// question back; a yes that was not used is void.
    pub fn leave(&mut self, call: Id, waiter: Option<u64>, now: Instant) {
        if let Some(question) = self.take_out(call, waiter, now) {
            self.end(question, End::Withdrawn, What::Withdrawn, now);
        }
    }

    /// A call's caller has a signal to take, and may come back after it with an equal call. Whoever waits for this one is
    /// told that it is withdrawn; the question stays for [`LINGER`].
    pub fn pause(&mut self, call: Id, now: Instant) {
        if let Some(question) = self.take_out(call, None, now) {
            self.lingering.retain(|(_, other)| *other != question);
            self.lingering.insert((now + LINGER, question));
        }
    }

    /// Takes waiters of a call out; the question, where nobody is left that waits for it.
    fn take_out(&mut self, call: Id, waiter: Option<u64>, now: Instant) -> Option<Id> {
        self.pass(now);
        let question = self.calls.get(&call).copied()?;
        if let Some(record) = self.ended.get_mut(&question) {
            record.claims.remove(&call);
            return None;
        }
        let pending = self.pending.get_mut(&question)?;
        let waiters = pending.calls.get_mut(&call)?;
        let before = waiters.len();
        let (gone, stay) = std::mem::take(waiters)
            .into_iter()
            .partition::<Vec<_>, _>(|one| waiter.is_none_or(|number| number == one.number));
        *waiters = stay;
        self.waiters -= before - waiters.len();
        if waiters.is_empty() {
            pending.calls.remove(&call);
            self.calls.remove(&call);
        }
        let is_last = pending.calls.is_empty();
        for one in gone {
            // Where it was the waiter itself that left, nobody listens.
            let _ = one.sender.send(End::Withdrawn);
        }
        is_last.then_some(question)
    }

    /// Ends every question: nobody will answer.
    pub fn close(&mut self, now: Instant) {
        for id in self.pending.keys().copied().collect::<Vec<_>>() {
            self.end(id, End::Withdrawn, What::Withdrawn, now);
        }
        self.grants.clear();
    }

    /// Lets the time pass: ends what nobody answered, and forgets.
    pub fn pass(&mut self, now: Instant) {
        while let Some((_, id)) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now).copied() {
            self.end(id, End::Expired, What::Expired, now);
        }
        while let Some((_, id)) = self.lingering.first().filter(|(until, _)| *until <= now).copied() {
            self.lingering.pop_first();
            if self.pending.get(&id).is_some_and(|pending| pending.calls.is_empty()) {
                self.end(id, End::Withdrawn, What::Withdrawn, now);
            }
        }
        let forgotten = self.ended.forget(now);
        self.forget(forgotten);
        self.denials.forget(now);
        self.grants.forget(now);
    }

    /// When [`Book::pass`] has to be called next.
    pub fn next(&self) -> Option<Instant> {
        let first = |times: &BTreeSet<(Instant, Id)>| times.first().map(|(time, _)| *time);
        [first(&self.deadlines), first(&self.lingering), self.ended.next()].into_iter().flatten().min()
    }

    /// Finds the one question whose id begins so, in whatever case; those that wait before those that have ended.
    ///
    /// # Errors
    /// [`ResolveError::Unknown`], [`ResolveError::Ambiguous`].
    pub fn find(&mut self, prefix: &str, now: Instant) -> Result<Found, ResolveError> {
        self.pass(now);
        let prefix = prefix.trim().to_ascii_lowercase();
        if prefix.is_empty() {
            return Err(ResolveError::Unknown);
        }
        if let Some(id) = only(self.pending.keys(), &prefix)? {
            return Ok(Found::Pending(id));
        }
        let id = only(self.ended.ids(), &prefix)?.ok_or(ResolveError::Unknown)?;
        let record = self.ended.get(&id).ok_or(ResolveError::Unknown)?;
        Ok(Found::Ended(id, record.end))
    }

    /// The cards that wait, the oldest first.
    pub fn listings(&self) -> Vec<Listing> {
        let listed = |id: Id| self.pending.get(&id).map(|one| (Arc::clone(&one.request), one.calls.len()));
        let all = self.cards.all().into_iter();
        all.map(|(card, ids)| Listing { card, requests: ids.into_iter().filter_map(listed).collect() })
            .collect()
    }

    /// What has happened since this was asked last.
    pub fn happened(&mut self) -> Vec<Happened> {
        std::mem::take(&mut self.happened)
    }

    fn note(&mut self, id: Id, what: What, request: Option<&Arc<Request>>) {
        self.happened.push(Happened { id, what, request: request.cloned() });
    }

    fn forget(&mut self, calls: Vec<Id>) {
        for call in calls {
            self.calls.remove(&call);
        }
    }

    /// Everything that grows with what callers do, for tests: questions, calls, bytes, what has ended.
    #[cfg(test)]
    pub fn held(&self) -> [usize; 6] {
        let ended = self.ended.ids().count();
        let lasting = self.denials.len() + self.grants.len();
        [self.pending.len(), self.calls.len(), self.bytes, ended, lasting, self.waiters]
    }
}

fn taken() -> Registered {
    Registered::Refused(Refusal::Broken("another question has this id".to_owned()))
}

/// The one id that begins so.
fn only<'i>(ids: impl Iterator<Item = &'i Id>, prefix: &str) -> Result<Option<Id>, ResolveError> {
    let mut buffer = uuid::Uuid::encode_buffer();
    let mut found = ids.filter(|id| id.hyphenated().encode_lower(&mut buffer).starts_with(prefix));
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(ResolveError::Ambiguous),
        (one, _) => Ok(one.copied()),
    }
}
