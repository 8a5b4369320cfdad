//! The state of the manager.

use std::collections::BTreeSet;
use std::time::Duration;

use guard_policy::approval::Route;
use tokio::time::Instant;

use crate::pending::PendingApprovals;
use crate::settings::Settings;

/// How long the last follower may be away before the followers count as gone. A page or a list that has to reconnect
/// does so at once.
pub(super) const RETURN_INTERVAL: Duration = Duration::from_secs(5);

/// What the manager's lock guards.
pub(super) struct ManagerState {
    pub(super) pending: PendingApprovals,
    pub(super) settings: Settings,
    pub(super) reachable: BTreeSet<Route>,
    /// The peers that follow the questions over the guard's socket.
    pub(super) watchers: usize,
    /// When the followers count as gone, after the last one has left.
    pub(super) left: Option<Instant>,
    pub(super) events: u64,
    /// When every question ends, at the latest.
    pub(super) last: Option<Instant>,
    pub(super) closed: Option<Closed>,
}

/// Why no questions can be asked.
pub(super) struct Closed {
    pub(super) reason: String,
    /// When questions can be asked again. `None` means never.
    pub(super) until: Option<Instant>,
}

impl ManagerState {
    /// When [`ManagerState::pass`] has to be called next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.pending.next().into_iter().chain(self.left).min()
    }

    /// Ends the questions that are due.
    pub(super) fn pass(&mut self, now: Instant) {
        self.pending.pass(now);
        if self.left.is_some_and(|left| left <= now) {
            self.left = None;
            self.end_unanswerable(now);
        }
    }

    /// Nobody follows the questions any more: ends those that nobody else can answer.
    pub(super) fn end_unanswerable(&mut self, now: Instant) {
        let ManagerState { pending, settings, reachable, .. } = self;
        if !settings.names(Route::Cli) {
            reachable.remove(&Route::Cli);
            pending.end_unreachable(|route| settings.opens(reachable, route), now);
        }
    }

    /// Refuses new questions until this time, or for ever if there is none. Once they are refused for ever, the reason stays.
    pub(super) fn shut(&mut self, reason: &str, until: Option<Instant>) {
        if self.closed.as_ref().is_none_or(|closed| closed.until.is_some()) {
            self.closed = Some(Closed { reason: reason.to_owned(), until });
        }
    }
}
