//! A feed of pending questions, for routes that show them elsewhere.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use guard_policy::approval::Route;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::decision::Decision;
use crate::event::{Event, QuestionChange};
use crate::manager::Manager;
use crate::question::{Id, PendingRequest};

/// The pending questions and their changes.
#[derive(Debug)]
pub struct Questions {
    manager: Manager,
    events: Receiver<Event>,
    waiting: HashSet<Id>,
    changes: VecDeque<FeedChange>,
}

/// A change.
#[derive(Debug)]
pub enum FeedChange {
    /// A question is pending now.
    Opened(Arc<PendingRequest>),
    /// A question is no longer pending. Holds its answer, if it had one and the event was not missed.
    Closed(Id, Option<(Decision, Route)>),
}

impl Questions {
    /// Creates a feed of a manager's questions. Questions that are already pending come first, as opened.
    pub fn new(manager: Manager) -> Questions {
        let (listings, events) = manager.subscribe();
        let (waiting, changes) = (HashSet::new(), VecDeque::new());
        let mut questions = Questions { manager, events, waiting, changes };
        let requests = listings.into_iter().flat_map(|listing| listing.requests);
        requests.for_each(|(request, _)| questions.opened(request));
        questions
    }

    /// Waits for the next change; `None` once the manager is gone. Cancel-safe.
    pub async fn next(&mut self) -> Option<FeedChange> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Some(change);
            }
            match self.events.recv().await {
                Ok(Event { id, what: QuestionChange::Requested { .. }, .. }) => {
                    if let Some(request) = self.pending().find(|request| request.id == id) {
                        self.opened(request);
                    }
                }
                Ok(Event { id, what: QuestionChange::Resolved { decision, by }, .. }) => {
                    self.closed(id, Some((decision, by)));
                }
                Ok(Event {
                    id,
                    what:
                        QuestionChange::Expired
                        | QuestionChange::NoRoute
                        | QuestionChange::Failed
                        | QuestionChange::Withdrawn,
                    ..
                }) => {
                    self.closed(id, None);
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.catch_up(),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Compares with a snapshot, after events were missed.
    fn catch_up(&mut self) {
        let pending: Vec<_> = self.pending().collect();
        let gone = self.waiting.iter().filter(|id| pending.iter().all(|request| request.id != **id));
        for id in gone.copied().collect::<Vec<_>>() {
            self.closed(id, None);
        }
        pending.into_iter().for_each(|request| self.opened(request));
    }

    fn pending(&self) -> impl Iterator<Item = Arc<PendingRequest>> + use<> {
        let all = self.manager.snapshot().into_iter().flat_map(|listing| listing.requests);
        all.map(|(request, _)| request)
    }

    fn opened(&mut self, request: Arc<PendingRequest>) {
        if self.waiting.insert(request.id) {
            self.changes.push_back(FeedChange::Opened(request));
        }
    }

    fn closed(&mut self, id: Id, answer: Option<(Decision, Route)>) {
        if self.waiting.remove(&id) {
            self.changes.push_back(FeedChange::Closed(id, answer));
        }
    }
}
