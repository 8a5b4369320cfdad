//! Asks all pending questions at the gateway.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use guard_policy::approval::Route;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::super::answers::AnswerSink;
use super::super::feed::{FeedChange, Questions};
use super::ask::{Nobody, PendingCall, Stage, There, retract};
use super::card::{CardContext, Others};
use super::line::{Connection, Down};
use crate::Surroundings;
use crate::decision::{Decision, RouteFailure};
use crate::manager::Manager;
use crate::persist::GrantStore;
use crate::question::{Id, PendingRequest};

/// A question this close to its deadline is left to expire.
const EXPIRY_MARGIN: Duration = Duration::from_secs(2);

/// Asks at the gateway.
#[derive(Clone)]
pub struct GatewayAsker {
    sink: AnswerSink,
    line: Arc<Connection>,
    /// The directory that `~` stands for.
    home: PathBuf,
    session_key: Option<String>,
    node_id: Option<String>,
    /// The number of questions that are being asked or withdrawn at the gateway.
    busy: Arc<watch::Sender<usize>>,
}

/// How a question ended elsewhere.
type Closed = Option<(Decision, Route)>;

impl GatewayAsker {
    /// Asks the pending questions of this manager over this connection.
    pub fn new(
        manager: Manager,
        grant_store: GrantStore,
        line: Arc<Connection>,
        around: &Surroundings,
    ) -> GatewayAsker {
        let sink = AnswerSink::new(manager, Route::Gateway, grant_store, Arc::clone(&around.warn));
        let (home, session_key) = (around.home.clone(), around.session_key.clone());
        GatewayAsker {
            sink,
            line,
            home,
            session_key,
            node_id: around.node_id.clone(),
            busy: Arc::new(watch::channel(0).0),
        }
    }

    /// Runs for ever.
    pub async fn run(self) {
        let mut questions = Questions::new(self.sink.manager.clone());
        let mut open: HashMap<Id, oneshot::Sender<Closed>> = HashMap::new();
        while let Some(change) = questions.next().await {
            open.retain(|_, close| !close.is_closed());
            match change {
                FeedChange::Opened(request) if self.sink.manager.wants(Route::Gateway) => {
                    let (close, closed) = oneshot::channel();
                    open.insert(request.id, close);
                    let (client, busy) = (self.clone(), Busy::new(&self.busy));
                    tokio::spawn(async move {
                        let asked = AssertUnwindSafe(client.ask(&request, closed)).catch_unwind().await;
                        if asked.is_err() {
                            client.sink.manager.route_failed(
                                request.id,
                                Route::Gateway,
                                RouteFailure::Failed,
                            );
                        }
                        drop(busy);
                    });
                }
                FeedChange::Opened(_) => {}
                FeedChange::Closed(id, answer) => {
                    // A missing entry means that the question has ended at the gateway.
                    let _ = open.remove(&id).map(|close| close.send(answer));
                }
            }
        }
    }

    /// Waits until no question is being asked or withdrawn at the gateway any more.
    pub async fn idle(&self) {
        // Cannot fail: the sender is in `self`.
        let _ = self.busy.subscribe().wait_for(|busy| *busy == 0).await;
    }

    /// Asks one question, and withdraws it if it ends elsewhere.
    async fn ask(&self, request: &PendingRequest, mut closed: oneshot::Receiver<Closed>) {
        let manager = &self.sink.manager;
        let others = if manager.has_other(request.id, Route::Gateway) { Others::Some } else { Others::None };
        let session_key = self.session_key.as_deref();
        let turn = manager.forwards(&request.question.agent, session_key);
        let context = CardContext {
            home: &self.home,
            session_key,
            node_id: self.node_id.as_deref(),
            turn: turn.as_ref(),
            others,
        };
        manager.taken(request.id, Route::Gateway, false);
        let taken = || manager.taken(request.id, Route::Gateway, true);
        let pending_call = PendingCall { line: &self.line, request, context, taken: &taken };
        let mut there = There { id: request.id, stage: Stage::New };
        let answer = tokio::select! {
            answer = pending_call.answer(&mut there, |down| self.down(down)) => Ok(answer),
            closed = &mut closed => Err(closed.ok().flatten()),
        };
        match answer {
            Ok(Ok(decision)) => self.sink.submit(request.id, decision).await,
            Ok(Err(nobody)) => self.nobody(request, &nobody),
            Err(closed) => self.close(request, &there, closed).await,
        }
    }

    async fn close(&self, request: &PendingRequest, there: &There, closed: Closed) {
        let left = request.deadline.saturating_duration_since(Instant::now());
        let decision = match closed {
            Some((_, Route::Gateway)) => return,
            Some((decision, _)) => decision,
            // The question expires there by itself.
            None if left < EXPIRY_MARGIN => return,
            None => Decision::Deny,
        };
        if matches!(there.stage, Stage::Sent | Stage::Taken(_)) {
            retract(&self.line, there.id, decision).await;
        }
    }

    fn nobody(&self, request: &PendingRequest, nobody: &Nobody) {
        let manager = &self.sink.manager;
        let has_other = manager.has_other(request.id, Route::Gateway);
        let is_worth_warning = match nobody {
            // A missing gateway is worth a warning only if the policy names this route.
            Nobody::Down(down) => manager.names(Route::Gateway) || !down.is_absence(),
            Nobody::NoClient(_) => !has_other,
            _ => true,
        };
        if is_worth_warning {
            self.sink.warn_once(format!("the gateway gave no answer: {nobody}"));
        }
        let lack = nobody.lack();
        // Near its deadline the question expires, by the gateway's clock or the guard's.
        let is_near = request.deadline.saturating_duration_since(Instant::now()) < EXPIRY_MARGIN;
        if lack == RouteFailure::Failed || !is_near {
            manager.route_failed(request.id, Route::Gateway, lack);
        } else {
            manager.taken(request.id, Route::Gateway, true);
        }
    }

    /// Reports that a connection was lost.
    fn down(&self, down: &Down) {
        if !down.is_absence() || self.sink.manager.names(Route::Gateway) {
            self.sink.warn_once(format!("cannot connect to the gateway: {down}"));
        }
    }
}

/// Counts a question while it exists.
struct Busy(Arc<watch::Sender<usize>>);

impl Busy {
    fn new(count: &Arc<watch::Sender<usize>>) -> Busy {
        count.send_modify(|count| *count += 1);
        Busy(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
