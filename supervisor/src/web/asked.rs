//! The requests to hosts that wait for a human, and what a human has allowed once.

use std::collections::HashMap;

use guard_approvals::{Binding, Cancel};
use parking_lot::Mutex;

use super::wire::{WebPeer, WebQuestion};

/// The maximum number of requests that wait for a human. Each has a thread.
const MAX_WAITING: usize = 256;

/// The requests that wait for a human, and what was allowed once.
#[derive(Default)]
pub(super) struct AskedRequests(Mutex<RequestState>);

#[derive(Default)]
struct RequestState {
    /// By the number of the proxy's question: how to withdraw that question, once it is asked.
    waiting: HashMap<u64, Option<Cancel>>,
    /// By the client: the number of its request, and what a human has allowed for that request.
    allowed: HashMap<WebPeer, (u64, Vec<Binding>)>,
}

impl AskedRequests {
    /// Whether a human has allowed this for the question's request.
    pub(super) fn is_allowed(&self, question: &WebQuestion, binding: &Binding) -> bool {
        let state = self.0.lock();
        let allowed = state.allowed.get(&question.client).filter(|(request, _)| *request == question.request);
        allowed.is_some_and(|(_, bindings)| bindings.contains(binding))
    }

    /// Withdraws a question, because nobody waits for its answer.
    pub(super) fn withdraw(&self, id: u64) {
        let cancel = self.0.lock().waiting.remove(&id);
        // The manager has a lock of its own.
        if let Some(cancel) = cancel.flatten() {
            cancel.cancel();
        }
    }

    /// Forgets a client that has left.
    pub(super) fn forget(&self, client: WebPeer) {
        self.0.lock().allowed.remove(&client);
    }

    /// Takes a place for a question. Returns whether there was one.
    pub(super) fn begin(&self, id: u64) -> bool {
        let mut state = self.0.lock();
        let has_room = state.waiting.len() < MAX_WAITING;
        if has_room {
            state.waiting.insert(id, None);
        }
        has_room
    }

    /// Gives the place back.
    pub(super) fn end(&self, id: u64) {
        self.0.lock().waiting.remove(&id);
    }

    /// Notes how to withdraw a question. Returns whether somebody still waits for it.
    pub(super) fn note(&self, id: u64, cancel: Cancel) -> bool {
        let mut state = self.0.lock();
        let waits = state.waiting.get_mut(&id);
        waits.map(|place| *place = Some(cancel)).is_some()
    }

    /// Keeps what a human has allowed, for this request alone. Returns whether somebody still waits for it.
    pub(super) fn allow(&self, question: &WebQuestion, binding: Binding) -> bool {
        let mut state = self.0.lock();
        if !state.waiting.contains_key(&question.id) {
            return false;
        }
        let entry = state.allowed.entry(question.client).or_insert((question.request, Vec::new()));
        if entry.0 != question.request {
            *entry = (question.request, Vec::new());
        }
        entry.1.push(binding);
        true
    }
}
