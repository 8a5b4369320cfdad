//! Asks all pending questions on the socket.

use std::collections::HashMap;
use std::sync::Arc;

use guard_openclaw::ports::{IsMember, Warn};
use guard_policy::approval::Route;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

use super::super::answers::AnswerSink;
use super::super::feed::{FeedChange, Questions};
use super::ask::{NoAnswer, ask};
use super::paths::Find;
use super::text::approval_request;
use crate::decision::RouteFailure;
use crate::manager::Manager;
use crate::persist::GrantStore;
use crate::question::{Id, PendingRequest};

/// The maximum number of questions on the socket at once; the others wait.
const MAX_CONNECTIONS: usize = 64;

/// After this many attempts in a row without a listener, about eight seconds, the route counts as having nobody to ask.
const MAX_ABSENCES: u32 = 6;

/// Asks on the socket.
#[derive(Clone)]
pub struct SocketAsker {
    sink: AnswerSink,
    find: Find,
    is_member: IsMember,
    permits: Arc<Semaphore>,
}

impl SocketAsker {
    /// Asks the pending questions of this manager.
    pub fn new(
        manager: Manager,
        grant_store: GrantStore,
        find: Find,
        is_member: IsMember,
        warn: Warn,
    ) -> SocketAsker {
        let sink = AnswerSink::new(manager, Route::Socket, grant_store, warn);
        SocketAsker { sink, find, is_member, permits: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }

    /// Runs for ever. When the future is dropped, every question is withdrawn from the socket.
    pub async fn run(self) {
        let mut questions = Questions::new(self.sink.manager.clone());
        // Each question has its own connection.
        let mut open: HashMap<Id, AbortHandle> = HashMap::new();
        let mut tasks = JoinSet::new();
        loop {
            let change = tokio::select! {
                change = questions.next() => change,
                Some(_) = tasks.join_next() => continue,
            };
            match change {
                Some(FeedChange::Opened(request)) if self.sink.manager.wants(Route::Socket) => {
                    let (id, client) = (request.id, self.clone());
                    open.insert(id, tasks.spawn(async move { client.ask(&request).await }));
                }
                Some(FeedChange::Opened(_)) => {}
                Some(FeedChange::Closed(id, _)) => {
                    if let Some(question) = open.remove(&id) {
                        question.abort();
                    }
                }
                None => return,
            }
        }
    }

    async fn ask(&self, request: &PendingRequest) {
        let Some(asked) = approval_request(&request.question) else {
            self.sink.warn_once(format!(
                "{} is too long for the approvals socket: answer it with `openclaw-guard approvals`",
                request.id
            ));
            self.sink.manager.route_failed(request.id, Route::Socket, RouteFailure::Failed);
            return;
        };
        // The semaphore is never closed.
        let Ok(_permit) = self.permits.acquire().await else { return };
        let mut absences = 0;
        let warn = |problem: &NoAnswer| {
            if !matches!(problem, NoAnswer::Nobody { .. }) {
                absences = 0;
                self.sink.warn_once(format!("the approvals socket gave no answer: {problem}"));
                return;
            }
            absences += 1;
            if absences == MAX_ABSENCES {
                // Whoever comes back later can still answer, if another route keeps the question.
                self.sink.manager.route_failed(request.id, Route::Socket, RouteFailure::Nobody);
            }
        };
        let find = Arc::clone(&self.find);
        let word = ask(find, &self.is_member, &request.id.to_string(), &asked, warn).await;
        // A task of its own, so that the answer is submitted even if the question's end aborts this task.
        let sink = self.sink.clone();
        let id = request.id;
        tokio::spawn(async move { sink.submit(id, word.into()).await });
    }
}
