//! The state of all pending and recently ended questions. It has no clock and no thread: each operation gets the time
//! as an argument.
//!
//! Why: docs/decisions.md, "Pending questions are a state machine that takes the time as an argument"

mod answer;
mod late_yes;
mod register;
mod rename;
mod withdraw;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use guard_policy::Access;
use guard_policy::approval::Route;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub use answer::BURST_INTERVAL;
#[cfg(test)]
pub use late_yes::LATE_YES_INTERVAL;
use late_yes::LateAnswers;
pub use register::MAX_WAITERS;
use rename::FreshRule;
#[cfg(test)]
pub use withdraw::LINGER_INTERVAL;

use super::binding::{Binding, CardKey};
use super::cards::Cards;
use super::decision::{Resolution, ResolveError, RouteFailure};
use super::event::QuestionChange;
use super::file_grants::{AskedFile, FileGrants};
use super::grants::TemporaryGrants;
use super::host_grants::HostGrant;
use super::lifecycle::Lifecycle;
use super::outcome::{Happened, Lookup, PendingCard};
use super::question::{Id, PendingRequest};
use super::resolved::ResolvedApprovals;

#[derive(Debug)]
struct Pending {
    request: Arc<PendingRequest>,
    binding: Binding,
    card: CardKey,
    size: usize,
    /// The waiters of each call that waits for the answer. Every call has a waiter. Without calls the question lingers.
    calls: BTreeMap<Id, Vec<Waiter>>,
    /// The routes that cannot answer it, and why.
    without: Vec<(Route, RouteFailure)>,
    /// The routes that have not shown it to anybody yet.
    untaken: Vec<Route>,
    /// Whether the file that the question is about is being moved. Such a question takes no answer any more.
    is_moved: bool,
}

/// One waiter for a call's answer.
#[derive(Debug)]
struct Waiter {
    number: u64,
    sender: oneshot::Sender<Resolution>,
}

/// All questions.
#[derive(Debug, Default)]
pub struct PendingApprovals {
    pending: HashMap<Id, Pending>,
    by_binding: HashMap<Binding, Id>,
    deadlines: BTreeSet<(Instant, Id)>,
    /// Questions whose last caller has a signal to handle, with the time until which they wait for it.
    lingering: BTreeSet<(Instant, Id)>,
    cards: Cards,
    /// The question of each known call.
    calls: HashMap<Id, Id>,
    ended: ResolvedApprovals,
    denials: TemporaryGrants,
    grants: TemporaryGrants,
    file_denials: FileGrants,
    file_grants: FileGrants,
    host_denials: TemporaryGrants<HostGrant>,
    host_grants: TemporaryGrants<HostGrant>,
    /// The rules that were saved by an "always" of a moment ago.
    fresh_rules: Vec<FreshRule>,
    late: LateAnswers,
    /// Questions that timed out a moment ago.
    expired: TemporaryGrants,
    bytes: usize,
    waiters: usize,
    newest_waiter: u64,
    happened: Vec<Happened>,
}

impl PendingApprovals {
    /// Records how a program goes on.
    pub fn report(&mut self, lifecycle: Lifecycle) {
        self.note(lifecycle.id, QuestionChange::Lifecycle(lifecycle), None);
    }

    /// Ends questions that have timed out, and removes expired records.
    pub fn pass(&mut self, now: Instant) {
        while let Some((_, id)) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now).copied() {
            if self.pending.get(&id).is_some_and(Pending::has_failed) {
                self.end(id, Resolution::Failed, QuestionChange::Failed, now);
            } else {
                // A program that walks over PATH repeats the call at once, and nobody is there to be asked again.
                if let Some(pending) = self.pending.get(&id) {
                    self.expired.insert(pending.binding.clone(), Some(now + BURST_INTERVAL));
                }
                self.end(id, Resolution::Expired, QuestionChange::Expired, now);
            }
        }
        while let Some((_, id)) = self.lingering.first().filter(|(until, _)| *until <= now).copied() {
            self.lingering.pop_first();
            if self.pending.get(&id).is_some_and(|pending| pending.calls.is_empty()) {
                self.end(id, Resolution::Withdrawn, QuestionChange::Withdrawn, now);
            }
        }
        let forgotten = self.ended.forget(now);
        self.forget(forgotten);
        self.denials.forget(now);
        self.grants.forget(now);
        self.file_denials.forget(now);
        self.file_grants.forget(now);
        self.host_denials.forget(now);
        self.host_grants.forget(now);
        self.expired.forget(now);
        self.fresh_rules.retain(|rule| rule.until > now);
        self.late.forget(now);
    }

    /// Whether a file may get another name without gaining this bit there, as [`FileGrants::lets_move`] says.
    pub fn lets_move(
        &mut self,
        bit: Access,
        old: Option<AskedFile<'_>>,
        new: AskedFile<'_>,
        now: Instant,
    ) -> bool {
        self.pass(now);
        self.file_grants.lets_move(bit, old, new)
    }

    /// Whether an answer that is kept lets somebody write a file.
    pub fn lets_write(&mut self, file: &AskedFile<'_>, now: Instant) -> bool {
        self.pass(now);
        self.file_grants.lets_write(file)
    }

    /// Keeps only answers for files that the policy still asks about: `asks` returns the rule.
    pub fn keep_file_grants(&mut self, asks: impl Fn(&[u8], Access) -> Option<String>) {
        self.file_grants.retain(&asks);
        self.file_denials.retain(&asks);
    }

    /// When [`PendingApprovals::pass`] has to be called next.
    pub fn next(&self) -> Option<Instant> {
        let first = |times: &BTreeSet<(Instant, Id)>| times.first().map(|(time, _)| *time);
        [first(&self.deadlines), first(&self.lingering), self.ended.next()].into_iter().flatten().min()
    }

    /// Finds the only question with this id prefix, ignoring case. Pending questions come before ended ones.
    ///
    /// # Errors
    /// [`ResolveError::Unknown`], [`ResolveError::Ambiguous`].
    pub fn find(&mut self, prefix: &str, now: Instant) -> Result<Lookup, ResolveError> {
        self.pass(now);
        let prefix = prefix.trim().to_ascii_lowercase();
        if prefix.is_empty() {
            return Err(ResolveError::Unknown);
        }
        if let Some(id) = only(self.pending.keys(), &prefix)? {
            return Ok(Lookup::Pending(id));
        }
        let id = only(self.ended.ids(), &prefix)?.ok_or(ResolveError::Unknown)?;
        let record = self.ended.get(&id).ok_or(ResolveError::Unknown)?;
        Ok(Lookup::Ended(id, record.end))
    }

    /// The pending cards, oldest first.
    pub fn listings(&self) -> Vec<PendingCard> {
        let listed = |id: Id| self.pending.get(&id).map(|one| (Arc::clone(&one.request), one.calls.len()));
        let all = self.cards.all().into_iter();
        all.map(|(card, ids)| PendingCard { card, requests: ids.into_iter().filter_map(listed).collect() })
            .collect()
    }

    /// The events since the last call.
    pub fn happened(&mut self) -> Vec<Happened> {
        std::mem::take(&mut self.happened)
    }

    pub(super) fn note(&mut self, id: Id, what: QuestionChange, request: Option<&Arc<PendingRequest>>) {
        self.happened.push(Happened { id, what, request: request.cloned() });
    }

    pub(super) fn forget(&mut self, calls: Vec<Id>) {
        for call in calls {
            self.calls.remove(&call);
        }
    }

    /// The size of everything that grows with the callers' actions, for tests: questions, calls, bytes, ended
    /// questions, kept answers and expired questions, waiters.
    #[cfg(test)]
    pub fn held(&self) -> [usize; 6] {
        let ended = self.ended.ids().count();
        let lasting = self.denials.len() + self.grants.len() + self.expired.len();
        let lasting = lasting + self.host_denials.len() + self.host_grants.len();
        let lasting = lasting + self.file_denials.len() + self.file_grants.len() + self.late.len();
        [self.pending.len(), self.calls.len(), self.bytes, ended, lasting, self.waiters]
    }
}

/// The only id with this prefix.
fn only<'i>(ids: impl Iterator<Item = &'i Id>, prefix: &str) -> Result<Option<Id>, ResolveError> {
    let mut buffer = uuid::Uuid::encode_buffer();
    let mut found = ids.filter(|id| id.hyphenated().encode_lower(&mut buffer).starts_with(prefix));
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(ResolveError::Ambiguous),
        (one, _) => Ok(one.copied()),
    }
}
