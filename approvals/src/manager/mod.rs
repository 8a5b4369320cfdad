//! The approval manager: worker threads ask it and wait, routes answer.

mod state;
mod ticket;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use guard_openclaw::clock::now_ms;
use guard_openclaw::gateway::GatewaySettings;
use guard_openclaw::ids;
use guard_policy::Access;
use guard_policy::approval::{Recipient, Route, TurnSource};
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, broadcast};
use tokio::time::{Instant, sleep_until};

use super::decision::{
    AnsweredBy, OperatorAnswer, Refusal, Resolution, ResolveError, RouteFailure, TemporaryGrant,
};
use super::event::{Event, Log};
use super::file_grants::AskedFile;
use super::lifecycle::Lifecycle;
use super::outcome::{Lookup, PendingCard, Registered, Resolved, SaveError, SaveRequest};
use super::pending::PendingApprovals;
use super::question::{Id, PendingRequest, Question};
use super::routes::notify::Program;
use super::settings::Settings;
use state::{Closed, ManagerState};
pub use ticket::{Cancel, Ticket};

/// How many events a subscriber may lag behind. Beyond that it has to take a new snapshot.
const BACKLOG: usize = 1024;

/// A handle to the manager; clones share it. Only [`Ticket::wait`] and [`Manager::wait_for_save`] block.
#[derive(Clone)]
pub struct Manager(Arc<ManagerInner>);

struct ManagerInner {
    state: Mutex<ManagerState>,
    log: Box<dyn Log>,
    /// Created for the first subscriber, because it allocates room for the whole backlog.
    events: OnceLock<broadcast::Sender<Event>>,
    /// Wakes the expiry loop when the next deadline may be sooner.
    sooner: Notify,
    /// Signals that a save has succeeded or failed.
    save_done: Condvar,
}

/// The result of asking.
#[derive(Debug)]
pub enum AskOutcome {
    /// A human is being asked.
    Waiting(Ticket),
    /// The question has already ended like this.
    Ended(Resolution),
    /// A grant covers the call, so it may go on.
    Granted(TemporaryGrant),
    /// The question was not asked.
    Refused(Refusal),
}

impl Manager {
    /// Creates a manager that reports every event to `log`. The caller has to run [`Manager::expire_loop`].
    pub fn new(settings: Settings, log: impl Log + 'static) -> Manager {
        let state = ManagerState {
            pending: PendingApprovals::default(),
            settings,
            reachable: BTreeSet::from([Route::Cli]),
            watchers: 0,
            left: None,
            events: 0,
            last: None,
            closed: None,
        };
        Manager(Arc::new(ManagerInner {
            state: Mutex::new(state),
            log: Box::new(log),
            events: OnceLock::new(),
            sooner: Notify::new(),
            save_done: Condvar::new(),
        }))
    }

    /// Replaces the settings. Pending questions keep their deadlines.
    pub fn configure(&self, settings: Settings) {
        self.with(|state, _| state.settings = settings);
    }

    /// Sets whether a route could bring an answer now. The route `cli` always can while somebody watches, or if
    /// `approvals.routes` names it.
    pub fn reach(&self, route: Route, is_reachable: bool) {
        self.with(|state, _| {
            let is_watched = route == Route::Cli && (state.watchers > 0 || state.settings.names(Route::Cli));
            if is_reachable || is_watched {
                state.reachable.insert(route);
            } else {
                state.reachable.remove(&route);
            }
        });
    }

    /// Counts somebody who follows the questions, as long as the returned value lives.
    pub fn watch(&self) -> Watcher {
        self.with(|state, _| {
            state.watchers += 1;
            state.left = None;
            state.reachable.insert(Route::Cli);
        });
        Watcher(self.clone())
    }

    /// Whether `approvals.routes` lets this route answer.
    pub fn wants(&self, route: Route) -> bool {
        self.with(|state, _| state.settings.wants(route))
    }

    /// Whether `approvals.routes` names this route.
    pub fn names(&self, route: Route) -> bool {
        self.with(|state, _| state.settings.names(route))
    }

    /// The settings of the gateway.
    pub fn gateway(&self) -> GatewaySettings {
        self.with(|state, _| state.settings.gateway.clone())
    }

    /// Where the gateway should deliver a question of this agent in the session with this key.
    pub fn forwards(&self, agent: &str, session_key: Option<&str>) -> Option<TurnSource> {
        self.with(|state, _| match state.settings.forwarding.recipients(agent, session_key).first() {
            Some(Recipient::Target(target)) => Some((*target).clone()),
            Some(Recipient::Session) | None => None,
        })
    }

    /// Records that a route brings no answer to a question, and why. If no other route can bring one, the question ends.
    pub fn route_failed(&self, question: Id, route: Route, lack: RouteFailure) {
        self.with(|state, now| {
            let ManagerState { pending, settings, reachable, .. } = state;
            pending.route_failed(question, route, lack, |other| settings.opens(reachable, other), now);
        });
    }

    /// Records whether a route has shown a question to somebody. Before that, silence is not an answer.
    pub fn taken(&self, question: Id, route: Route, is_taken: bool) {
        self.with(|state, _| state.pending.taken(question, route, is_taken));
    }

    /// Whether a route other than this one may still answer a question.
    pub fn has_other(&self, question: Id, route: Route) -> bool {
        self.with(|ManagerState { pending, settings, reachable, .. }, _| {
            pending.has_other(question, route, |other| settings.opens(reachable, other))
        })
    }

    /// The program that is run for new cards.
    pub fn notify(&self) -> Option<Program> {
        self.with(|state, _| state.settings.notify.clone())
    }

    /// How long a program may run before that is reported.
    pub fn running_notice(&self) -> Duration {
        self.with(|state, _| state.settings.running_notice)
    }

    /// Ends every question within this time from now, whatever `exec.timeoutMs` is, because nobody waits longer for the calls.
    pub fn end_within(&self, interval: Duration) {
        self.with(|state, now| state.last = now.checked_add(interval));
    }

    /// Creates a request whose time starts now.
    pub fn create(&self, question: Question) -> PendingRequest {
        let timeout = self.with(|state, now| {
            let left = state.last.map(|last| last.saturating_duration_since(now));
            left.map_or(state.settings.timeout, |left| left.min(state.settings.timeout))
        });
        PendingRequest::new(ids::random(), question, timeout, Instant::now(), now_ms())
    }

    /// Asks, and returns at once. A repeated request, or one with an equal binding, waits for the same answer.
    pub fn register(&self, request: &Arc<PendingRequest>) -> AskOutcome {
        self.with(|state, now| {
            let is_closed = |closed: &&Closed| closed.until.is_none_or(|until| now < until);
            if let Some(closed) = state.closed.as_ref().filter(is_closed) {
                return AskOutcome::Refused(Refusal::Broken(closed.reason.clone()));
            }
            let ManagerState { pending, settings, reachable, .. } = state;
            let has_route = Route::ALL.into_iter().any(|route| settings.opens(reachable, route));
            match pending.register(request, settings.max_pending, has_route, now) {
                Registered::Waiting(waiter, receiver) => AskOutcome::Waiting(Ticket {
                    manager: self.clone(),
                    call: request.id,
                    waiter,
                    receiver: Some(receiver),
                }),
                Registered::Ended(end) => AskOutcome::Ended(end),
                Registered::Granted(grant) => AskOutcome::Granted(grant),
                Registered::Refused(refusal) => AskOutcome::Refused(refusal),
            }
        })
    }

    /// Answers the question with this id or unique id prefix. With a revision, answers every question that its card
    /// listed at that revision and still lists. Each answer applies to the question's own binding.
    ///
    /// # Errors
    /// Returns the reason if the answer is rejected. Nothing has changed then.
    pub fn resolve<'a>(
        &self,
        id: &str,
        revision: Option<u64>,
        answer: impl Into<OperatorAnswer<'a>>,
        by: AnsweredBy,
    ) -> Result<Resolved, ResolveError> {
        self.with(|state, now| state.pending.resolve(id, revision, answer.into(), by, now))
    }

    /// Whether a call may go on because it was approved. True exactly once, and at most 15 seconds after the answer
    /// (`resolved::GRACE_INTERVAL`).
    pub fn consume(&self, call: Id) -> bool {
        self.with(|state, now| state.pending.consume(call, now))
    }

    /// Whether a rename or a link may give a file a name at which the policy asks about this bit. It may not if an answer
    /// for a directory would then give the file the bit. Removes the answers that are for the new name alone. `old` is
    /// the file as it is asked about now; `None` if the policy does not ask.
    pub fn lets_move(&self, bit: Access, old: Option<AskedFile<'_>>, new: AskedFile<'_>) -> bool {
        self.with(|state, now| state.pending.lets_move(bit, old, new, now))
    }

    /// Call this before other files get these paths. From then on, questions about files at or below the paths take no
    /// answer. Returns whether there is such a question. If so, [`Manager::moved`] must follow, even if the move fails.
    pub fn moving(&self, paths: &[&[u8]]) -> bool {
        self.with(|state, _| state.pending.moving(paths))
    }

    /// Withdraws the questions whose files have been moved: their calls ask again, about what is there now.
    pub fn moved(&self) {
        self.with(|state, now| state.pending.moved(now));
    }

    /// Whether a file or directory may get the path `new`. It may not if an "always" of a moment ago would then cover it,
    /// because that answer was for what was there at the time.
    pub fn is_clear_of_fresh_rules(&self, old: &[u8], new: &[u8]) -> bool {
        self.with(|state, now| state.pending.is_clear_of_fresh_rules(old, new, now))
    }

    /// Whether a kept answer lets somebody write a file that the policy asks about.
    pub fn lets_write(&self, file: AskedFile<'_>) -> bool {
        self.with(|state, now| state.pending.lets_write(&file, now))
    }

    /// Drops the answers for files that the policy no longer asks about, or now asks about by another rule. `asks` returns
    /// the rule, as [`Question::rule`] has it.
    pub fn keep_file_grants(&self, asks: impl Fn(&[u8], Access) -> Option<String>) {
        self.with(|state, _| state.pending.keep_file_grants(asks));
    }

    /// Withdraws a call's question for all its waiters, because the caller is gone.
    pub fn withdraw(&self, call: Id) {
        self.with(|state, now| state.pending.remove_waiter(call, None, now));
    }

    /// Keeps a call's question for a moment, so that the same caller can come back to it. The waiters get
    /// [`Resolution::Withdrawn`].
    pub fn pause(&self, call: Id) {
        self.with(|state, now| state.pending.pause(call, now));
    }

    /// Finds a question by its id or a unique prefix of it.
    ///
    /// # Errors
    /// [`ResolveError::Unknown`], [`ResolveError::Ambiguous`].
    pub fn find(&self, id: &str) -> Result<Lookup, ResolveError> {
        self.with(|state, now| state.pending.find(id, now))
    }

    /// Reports how an approved program goes on.
    pub fn report(&self, lifecycle: Lifecycle) {
        self.with(|state, _| state.pending.report(lifecycle));
    }

    /// The pending cards.
    pub fn snapshot(&self) -> Vec<PendingCard> {
        self.with(|state, now| {
            state.pending.pass(now);
            state.pending.listings()
        })
    }

    /// The pending cards, and a receiver of all later events. A receiver that lags behind gets an error and should take
    /// a new snapshot.
    pub fn subscribe(&self) -> (Vec<PendingCard>, broadcast::Receiver<Event>) {
        self.with(|state, now| {
            state.pending.pass(now);
            (
                state.pending.listings(),
                self.0.events.get_or_init(|| broadcast::channel(BACKLOG).0).subscribe(),
            )
        })
    }

    /// Records the result of a save.
    pub fn saved(&self, save: &SaveRequest, outcome: &Result<String, SaveError>) {
        self.with(|state, _| state.pending.saved(save, outcome));
        self.0.save_done.notify_all();
    }

    /// Blocks until everything that the answer to a call saves has been saved or has failed, so that an "always"
    /// applies to the very next call. Returns false if that takes longer than `longest`.
    pub fn wait_for_save(&self, call: Id, longest: Duration) -> bool {
        let mut state = self.0.state.lock();
        let waited =
            self.0.save_done.wait_while_for(&mut state, |state| state.pending.is_saving(call), longest);
        !waited.timed_out()
    }

    /// Ends every question and asks no more. `reason` is for humans.
    pub fn close(&self, reason: &str) {
        self.with(|state, now| {
            state.shut(reason, None);
            state.pending.close(now);
        });
    }

    /// Ends every question, and refuses those that come within this interval. What was granted stays.
    pub fn refuse_for(&self, interval: Duration, reason: &str) {
        self.with(|state, now| {
            state.shut(reason, Some(now + interval));
            state.pending.withdraw_all(now);
        });
    }

    /// Ends questions that time out. Runs for ever. When the future is dropped, the manager closes, because no question
    /// would time out any more.
    pub fn expire_loop(self) -> impl Future<Output = ()> + Send {
        // Create it now, not at the first poll: the future may be dropped before that.
        let closing = Closing(self);
        async move {
            loop {
                let next = closing.0.with(|state, now| {
                    state.pass(now);
                    state.next()
                });
                let sooner = closing.0.0.sooner.notified();
                match next {
                    Some(next) => tokio::select! { () = sleep_until(next) => {} () = sooner => {} },
                    None => sooner.await,
                }
            }
        }
    }

    /// Changes the state, then reports the resulting events in order.
    fn with<T>(&self, act: impl FnOnce(&mut ManagerState, Instant) -> T) -> T {
        // The lock is not poisoned: after a panic, questions still time out, and none is allowed.
        let mut state = self.0.state.lock();
        let before = state.next();
        let done = act(&mut state, Instant::now());
        for happened in state.pending.happened() {
            state.events += 1;
            let event = Event { sequence: state.events, id: happened.id, what: happened.what };
            self.0.log.log(&event, happened.request.as_deref().map(|request| &request.question));
            // Without subscribers there is no channel to send to.
            if let Some(events) = self.0.events.get() {
                let _ = events.send(event);
            }
        }
        if state.next().is_some_and(|next| before.is_none_or(|before| next < before)) {
            self.0.sooner.notify_one();
        }
        done
    }

    /// For tests, see [`PendingApprovals::held`].
    #[cfg(test)]
    pub fn held(&self) -> [usize; 6] {
        self.with(|state, _| state.pending.held())
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Manager")
    }
}

/// Somebody who follows the questions and can answer them.
#[derive(Debug)]
#[must_use = "dropping it ends the watch"]
pub struct Watcher(Manager);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.with(|state, now| {
            state.watchers -= 1;
            if state.watchers == 0 {
                state.left = Some(now + state::RETURN_INTERVAL);
            }
        });
    }
}

/// Closes the manager when the expiry loop is dropped.
struct Closing(Manager);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close("the guard is ending");
    }
}
