//! Callers that stop waiting, and routes that fail.

use std::time::Duration;

use guard_policy::approval::Route;
use tokio::time::Instant;

use super::super::decision::{Resolution, RouteFailure};
use super::super::event::QuestionChange;
use super::super::question::Id;
use super::{Pending, PendingApprovals};

/// How long a question stays if its last caller has a signal to handle. Most callers retry at once (git(1) shows
/// progress with a timer), and a human must not be asked again every second.
pub const LINGER_INTERVAL: Duration = Duration::from_secs(1);

impl PendingApprovals {
    /// Removes one waiter of a call, or all of them (`None`) if the call itself is gone. When the last waiter leaves,
    /// the question is withdrawn and an unused approval becomes void.
    pub fn remove_waiter(&mut self, call: Id, waiter: Option<u64>, now: Instant) {
        let ended = self.calls.get(&call).and_then(|question| self.ended.get_mut(question));
        if let Some(record) = ended {
            record.claims.remove(&call);
        }
        if let Some(question) = self.remove_waiters(call, waiter, now) {
            self.end(question, Resolution::Withdrawn, QuestionChange::Withdrawn, now);
        }
    }

    /// The caller has a signal to handle, and may come back with an equal call. The waiters get
    /// [`Resolution::Withdrawn`]; the question stays for [`LINGER_INTERVAL`]. If the question has just been answered, the
    /// call keeps the answer: its waiter goes on with it despite the signal.
    pub fn pause(&mut self, call: Id, now: Instant) {
        if let Some(question) = self.remove_waiters(call, None, now) {
            self.lingering.retain(|(_, other)| *other != question);
            self.lingering.insert((now + LINGER_INTERVAL, question));
        }
    }

    /// Removes waiters of a call, and the question if no waiter is left.
    pub(super) fn remove_waiters(&mut self, call: Id, waiter: Option<u64>, now: Instant) -> Option<Id> {
        self.pass(now);
        let question = self.calls.get(&call).copied()?;
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
            // This fails if the waiter itself left and dropped its receiver.
            let _ = one.sender.send(Resolution::Withdrawn);
        }
        is_last.then_some(question)
    }

    /// Records that a route brings no answer to a question. `open` says which routes exist. If none is left, the
    /// question ends.
    pub fn route_failed(
        &mut self,
        id: Id,
        route: Route,
        lack: RouteFailure,
        open: impl Fn(Route) -> bool,
        now: Instant,
    ) {
        let Some(pending) = self.pending.get_mut(&id) else { return };
        pending.without.push((route, lack));
        pending.untaken.retain(|other| *other != route);
        let has_failed = pending.has_failed();
        if self.has_other(id, route, open) {
            return;
        }
        if has_failed {
            self.end(id, Resolution::Failed, QuestionChange::Failed, now);
        } else {
            self.end(id, Resolution::NoRoute, QuestionChange::NoRoute, now);
        }
    }

    /// Records whether a route has shown a question to somebody.
    pub fn taken(&mut self, id: Id, route: Route, is_taken: bool) {
        let Some(pending) = self.pending.get_mut(&id) else { return };
        pending.untaken.retain(|other| *other != route);
        if !is_taken {
            pending.untaken.push(route);
        }
    }

    /// Whether a route other than this one may still answer a question.
    pub fn has_other(&self, id: Id, route: Route, open: impl Fn(Route) -> bool) -> bool {
        let Some(pending) = self.pending.get(&id) else { return false };
        let can = |other| open(other) && pending.without.iter().all(|(without, _)| *without != other);
        Route::ALL.into_iter().any(|other| other != route && can(other))
    }

    /// Ends each question that no route can answer any more, as if nobody had been there. `open` says which routes exist.
    pub fn end_unreachable(&mut self, open: impl Fn(Route) -> bool, now: Instant) {
        let can = |pending: &Pending| {
            let is_without = |route| pending.without.iter().any(|(without, _)| *without == route);
            Route::ALL.into_iter().any(|route| open(route) && !is_without(route))
        };
        let ended = self.pending.iter().filter(|(_, pending)| !can(pending));
        let ended: Vec<_> = ended.map(|(id, pending)| (*id, pending.has_failed())).collect();
        for (id, has_failed) in ended {
            match has_failed {
                true => self.end(id, Resolution::Failed, QuestionChange::Failed, now),
                false => self.end(id, Resolution::NoRoute, QuestionChange::NoRoute, now),
            };
        }
    }

    /// Ends every question, because no route can answer any more.
    pub fn close(&mut self, now: Instant) {
        self.withdraw_all(now);
        self.grants.clear();
        self.file_grants.clear();
        self.host_grants.clear();
        self.late.clear();
    }

    /// Withdraws every question. What was granted stays.
    pub fn withdraw_all(&mut self, now: Instant) {
        for id in self.pending.keys().copied().collect::<Vec<_>>() {
            self.end(id, Resolution::Withdrawn, QuestionChange::Withdrawn, now);
        }
    }
}

impl Pending {
    /// Whether a route has failed or has not asked yet. Then silence does not count as an answer.
    pub(super) fn has_failed(&self) -> bool {
        !self.untaken.is_empty() || self.without.iter().any(|(_, lack)| *lack == RouteFailure::Failed)
    }
}
