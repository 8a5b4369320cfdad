//! Waiting for the answer to a question.

use tokio::sync::oneshot;

use super::Manager;
use crate::decision::Resolution;
use crate::question::Id;

/// A place in the queue for an answer. Dropping it stops the waiting. If it was the last one, the question is
/// withdrawn.
#[derive(Debug)]
#[must_use = "dropping it ends the wait"]
pub struct Ticket {
    pub(super) manager: Manager,
    pub(super) call: Id,
    pub(super) waiter: u64,
    pub(super) receiver: Option<oneshot::Receiver<Resolution>>,
}

impl Ticket {
    /// The id of the waiting call, for [`Manager::consume`].
    pub fn call(&self) -> Id {
        self.call
    }

    /// A handle that ends the wait from elsewhere.
    pub fn canceller(&self) -> Cancel {
        Cancel { manager: self.manager.clone(), call: self.call }
    }

    /// Blocks until the question ends. Panics inside an async runtime.
    pub fn wait(mut self) -> Resolution {
        let end = self.receiver.take().map(oneshot::Receiver::blocking_recv);
        self.or_withdrawn(end.and_then(Result::ok))
    }

    /// Waits until the question ends.
    #[cfg(test)]
    pub(crate) async fn ended(mut self) -> Resolution {
        let end = match &mut self.receiver {
            Some(receiver) => receiver.await.ok(),
            None => None,
        };
        self.receiver = None;
        self.or_withdrawn(end)
    }

    /// Without a message the question counts as withdrawn, so nothing is allowed.
    fn or_withdrawn(&self, end: Option<Resolution>) -> Resolution {
        end.unwrap_or(Resolution::Withdrawn)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // The receiver is still there, so nobody has read the answer.
        if let Some(receiver) = self.receiver.take() {
            drop(receiver);
            self.manager.with(|state, now| state.pending.remove_waiter(self.call, Some(self.waiter), now));
        }
    }
}

/// Ends the wait for a call whose caller is gone.
#[derive(Clone, Debug)]
pub struct Cancel {
    pub(super) manager: Manager,
    pub(super) call: Id,
}

impl Cancel {
    /// Withdraws the question for its waiters. An unused approval becomes void.
    pub fn cancel(&self) {
        self.manager.withdraw(self.call);
    }

    /// Pauses the wait because the caller has a signal to handle. The waiters get a reply, and the question stays for a
    /// moment.
    pub fn pause(&self) {
        self.manager.pause(self.call);
    }
}
