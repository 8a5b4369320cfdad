//! The approval manager: plain threads ask it and wait, routes answer it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use guard_openclaw::clock::now_ms;
use guard_openclaw::gateway::GatewaySettings;
use guard_openclaw::ids;
use guard_policy::approval::{Recipient, Route, TurnSource};
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, broadcast, oneshot};
use tokio::time::{Instant, sleep_until};

use super::decision::{
    AnsweredBy, Decision, Refusal, Resolution, ResolveError, RouteFailure, TemporaryGrant,
};
use super::event::{Event, Log};
use super::lifecycle::Lifecycle;
use super::outcome::{Lookup, PendingCard, Registered, Resolved, SaveRequest};
use super::pending::PendingApprovals;
use super::question::{Id, PendingRequest, Question};
use super::routes::notify::Program;
use super::settings::Settings;

/// Events that a subscriber may be behind; beyond that it has to take a snapshot again.
const BACKLOG: usize = 1024;

/// A handle; all clones are one manager. Nothing in it blocks but [`Ticket::wait`] and [`Manager::wait_for_save`].
#[derive(Clone)]
pub struct Manager(Arc<ManagerInner>);

struct ManagerInner {
    state: Mutex<ManagerState>,
    log: Box<dyn Log>,
    /// Made for the first who listens: it has room for all events from the start.
    events: OnceLock<broadcast::Sender<Event>>,
    /// Whoever keeps the time must look again.
    sooner: Notify,
    /// Somebody has said what has become of a save.
    kept: Condvar,
}

struct ManagerState {
    book: PendingApprovals,
    settings: Settings,
    reachable: BTreeSet<Route>,
    events: u64,
    /// Why nothing can be asked any more.
    closed: Option<String>,
}

/// What came of asking.
#[derive(Debug)]
pub enum AskOutcome {
    /// A human is asked.
    Waiting(Ticket),
    /// The question has ended before, so.
    Ended(Resolution),
    /// A grant covers the call: it may go on.
    Granted(Box<TemporaryGrant>),
    /// Nobody is asked.
    Refused(Refusal),
}

impl Manager {
    /// A manager whose every event `log` is told. Somebody has to run [`Manager::expire_loop`].
    pub fn new(settings: Settings, log: impl Log + 'static) -> Manager {
        let state = ManagerState {
            book: PendingApprovals::default(),
            settings,
            reachable: BTreeSet::from([Route::Cli]),
            events: 0,
            closed: None,
        };
        Manager(Arc::new(ManagerInner {
            state: Mutex::new(state),
            log: Box::new(log),
            events: OnceLock::new(),
            sooner: Notify::new(),
            kept: Condvar::new(),
        }))
    }

    /// Takes other settings. What waits keeps its time.
    pub fn configure(&self, settings: Settings) {
        self.with(|state, _| state.settings = settings);
    }

    /// Says whether a route could bring an answer now. `cli` always can.
    pub fn reach(&self, route: Route, is_reachable: bool) {
        self.with(|state, _| {
            if is_reachable || route == Route::Cli {
                state.reachable.insert(route);
            } else {
                state.reachable.remove(&route);
            }
        });
    }

    /// Whether `approvals.routes` lets this route answer.
    pub fn wants(&self, route: Route) -> bool {
        self.with(|state, _| state.settings.wants(route))
    }

    /// Whether `approvals.routes` names this route.
    pub fn names(&self, route: Route) -> bool {
        self.with(|state, _| state.settings.routes.as_ref().is_some_and(|routes| routes.contains(&route)))
    }

    /// Where the gateway is.
    pub fn gateway(&self) -> GatewaySettings {
        self.with(|state, _| state.settings.gateway.clone())
    }

    /// Where the gateway is to deliver a question of this agent's, in the session of this key.
    pub fn forwards(&self, agent: &str, session_key: Option<&str>) -> Option<TurnSource> {
        self.with(|state, _| match state.settings.forwarding.turns(agent, session_key).first() {
            Some(Recipient::Target(target)) => Some((*target).clone()),
            Some(Recipient::Session) | None => None,
        })
    }

    /// Notes that a route brings no answer to a question, and why. Where no other can, the question ends.
    pub fn route_failed(&self, question: Id, route: Route, lack: RouteFailure) {
        self.with(|state, now| {
            let ManagerState { book, settings, reachable, .. } = state;
            book.route_failed(question, route, lack, |other| settings.opens(reachable, other), now);
        });
    }

    /// Notes whether a route has put a question to somebody: until it has, silence is no answer.
    pub fn taken(&self, question: Id, route: Route, is_taken: bool) {
        self.with(|state, _| state.book.taken(question, route, is_taken));
    }

    /// Whether another route than this may still bring an answer to a question.
    pub fn has_other(&self, question: Id, route: Route) -> bool {
        self.with(|ManagerState { book, settings, reachable, .. }, _| {
            book.has_other(question, route, |other| settings.opens(reachable, other))
        })
    }

    /// Who is told of new cards.
    pub fn notify(&self) -> Option<Program> {
        self.with(|state, _| state.settings.notify.clone())
    }

    /// How long a program may run until that is told.
    pub fn running_notice(&self) -> Duration {
        self.with(|state, _| state.settings.running_notice)
    }

    /// A request that begins now.
    pub fn create(&self, question: Question) -> PendingRequest {
        let timeout = self.with(|state, _| state.settings.timeout);
        PendingRequest::new(ids::random(), question, timeout, Instant::now(), now_ms())
    }

    /// Asks, and returns at once. The same request again, or one with an equal binding, waits for the same answer.
    pub fn register(&self, request: &Arc<PendingRequest>) -> AskOutcome {
        self.with(|state, now| {
            if let Some(why) = &state.closed {
                return AskOutcome::Refused(Refusal::Broken(why.clone()));
            }
            let ManagerState { book, settings, reachable, .. } = state;
            let has_route = Route::ALL.into_iter().any(|route| settings.opens(reachable, route));
            match book.register(request, settings.max_pending, has_route, now) {
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

    /// Answers the question that the id, or its unique beginning, names; with a revision, all that its card listed then
    /// and lists still. Each is answered for its own binding.
    ///
    /// # Errors
    /// Where the answer is not taken; nothing has changed then.
    pub fn resolve(
        &self,
        id: &str,
        revision: Option<u64>,
        decision: Decision,
        by: AnsweredBy,
    ) -> Result<Resolved, ResolveError> {
        self.with(|state, now| state.book.resolve(id, revision, decision, by, now))
    }

    /// Whether a call may go on by the yes that it was given: true exactly once, and not later than
    /// 15 seconds after the answer (`resolved::GRACE`).
    pub fn consume(&self, call: Id) -> bool {
        self.with(|state, now| state.book.consume(call, now))
    }

    /// Takes a call's question back, whoever waits for it: its caller is gone.
    pub fn withdraw(&self, call: Id) {
        self.with(|state, now| state.book.remove_waiter(call, None, now));
    }

    /// Lets a call's question stay for a moment, for the same caller to come back to; whoever waits is told that it is
    /// withdrawn.
    pub fn pause(&self, call: Id) {
        self.with(|state, now| state.book.pause(call, now));
    }

    /// Finds a question by its id or the unique beginning of it.
    ///
    /// # Errors
    /// Where none is known, or more than one.
    pub fn find(&self, id: &str) -> Result<Lookup, ResolveError> {
        self.with(|state, now| state.book.find(id, now))
    }

    /// Tells how a program goes on that was asked for.
    pub fn report(&self, told: Lifecycle) {
        self.with(|state, _| state.book.report(told));
    }

    /// What waits now.
    pub fn snapshot(&self) -> Vec<PendingCard> {
        self.with(|state, now| {
            state.book.pass(now);
            state.book.listings()
        })
    }

    /// What waits now, and everything that happens from now on. One that falls behind is told so by its receiver, and
    /// takes a snapshot.
    pub fn subscribe(&self) -> (Vec<PendingCard>, broadcast::Receiver<Event>) {
        self.with(|state, now| {
            state.book.pass(now);
            (state.book.listings(), self.0.events.get_or_init(|| broadcast::channel(BACKLOG).0).subscribe())
        })
    }

    /// Notes what has become of a save.
    pub fn saved(&self, save: &SaveRequest, outcome: &Result<String, String>) {
        self.with(|state, _| state.book.saved(save, outcome));
        self.0.kept.notify_all();
    }

    /// Waits on a plain thread until what the answer to a call saves is saved, or cannot be, but no longer than this. An
    /// "always" is to be in force for the very next call. False where the time is up.
    pub fn wait_for_save(&self, call: Id, longest: Duration) -> bool {
        let mut state = self.0.state.lock();
        let waited = self.0.kept.wait_while_for(&mut state, |state| state.book.is_saving(call), longest);
        !waited.timed_out()
    }

    /// Ends every question, and asks no more: why, for people.
    pub fn close(&self, why: &str) {
        self.with(|state, now| {
            state.closed.get_or_insert_with(|| why.to_owned());
            state.book.close(now);
        });
    }

    /// Ends what nobody answers in time. Runs for ever; when it is dropped, the manager closes: nobody waits for a time
    /// that does not come.
    pub fn expire_loop(self) -> impl Future<Output = ()> + Send {
        // Now, not when it is polled first: it may be dropped before.
        let closing = Closing(self);
        async move {
            loop {
                let next = closing.0.with(|state, now| {
                    state.book.pass(now);
                    state.book.next()
                });
                let sooner = closing.0.0.sooner.notified();
                match next {
                    Some(next) => tokio::select! { () = sleep_until(next) => {} () = sooner => {} },
                    None => sooner.await,
                }
            }
        }
    }

    /// Does something to the state, and then tells what has happened, in order.
    fn with<T>(&self, act: impl FnOnce(&mut ManagerState, Instant) -> T) -> T {
        // A panic in between leaves questions that end in time, and none that is allowed.
        let mut state = self.0.state.lock();
        let before = state.book.next();
        let done = act(&mut state, Instant::now());
        for happened in state.book.happened() {
            state.events += 1;
            let event = Event { sequence: state.events, id: happened.id, what: happened.what };
            self.0.log.log(&event, happened.request.as_deref().map(|request| &request.question));
            // Without subscribers there is nobody to tell.
            if let Some(events) = self.0.events.get() {
                let _ = events.send(event);
            }
        }
        if state.book.next().is_some_and(|next| before.is_none_or(|before| next < before)) {
            self.0.sooner.notify_one();
        }
        done
    }

    /// For tests, see [`PendingApprovals::held`].
    #[cfg(test)]
    pub fn held(&self) -> [usize; 6] {
        self.with(|state, _| state.book.held())
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Manager")
    }
}

/// Closes a manager whose time nobody keeps any more.
struct Closing(Manager);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close("the guard is ending");
    }
}

/// A place in the queue for an answer. Who drops it does not wait any more; the last one to do so takes the question
/// back.
#[derive(Debug)]
#[must_use = "who drops it does not wait"]
pub struct Ticket {
    manager: Manager,
    call: Id,
    waiter: u64,
    receiver: Option<oneshot::Receiver<Resolution>>,
}

impl Ticket {
    /// The call that waits; [`Manager::consume`] is for it.
    pub fn call(&self) -> Id {
        self.call
    }

    /// A handle that ends the waiting from elsewhere.
    pub fn canceller(&self) -> Cancel {
        Cancel { manager: self.manager.clone(), call: self.call }
    }

    /// Waits, on a plain thread: inside of a runtime this panics.
    pub fn wait(mut self) -> Resolution {
        let end = self.receiver.take().map(oneshot::Receiver::blocking_recv);
        self.told(end.and_then(Result::ok))
    }

    /// Waits.
    pub async fn ended(mut self) -> Resolution {
        let end = match &mut self.receiver {
            Some(receiver) => receiver.await.ok(),
            None => None,
        };
        self.receiver = None;
        self.told(end)
    }

    /// Whoever was not told anything has not been allowed anything.
    fn told(&self, end: Option<Resolution>) -> Resolution {
        end.unwrap_or(Resolution::Withdrawn)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Still there: nobody has taken the answer.
        if let Some(receiver) = self.receiver.take() {
            drop(receiver);
            self.manager.with(|state, now| state.book.remove_waiter(self.call, Some(self.waiter), now));
        }
    }
}

/// Ends the waiting for a call: its caller is gone.
#[derive(Clone, Debug)]
pub struct Cancel {
    manager: Manager,
    call: Id,
}

impl Cancel {
    /// Whoever waits is told that the question was withdrawn; a yes that was not used is void.
    pub fn cancel(&self) {
        self.manager.withdraw(self.call);
    }

    /// The caller has a signal to take: whoever waits is told so, and the question stays for a moment.
    pub fn pause(&self) {
        self.manager.pause(self.call);
    }
}
