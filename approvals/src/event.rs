//! Events of questions, for the audit log and for the routes that show questions.

use super::decision::{AnsweredBy, Decision, Refusal};
use super::lifecycle::Lifecycle;
use super::question::{Id, Question};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number of the event: starts at 1, without gaps.
    pub sequence: u64,
    /// The question.
    pub id: Id,
    /// What happened to it.
    pub what: QuestionChange,
}

/// What happened to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionChange {
    /// The question is on a card and waits for an answer.
    Requested {
        /// The card at this revision.
        card: CardRevision,
    },
    /// Another call with the same binding now waits for the same answer.
    Joined {
        /// The id of that call.
        call: Id,
    },
    /// Somebody answered.
    Resolved {
        /// The answer.
        decision: Decision,
        /// The route that brought it.
        by: AnsweredBy,
    },
    /// Nobody answered in time.
    Expired,
    /// No route had anybody to ask.
    NoRoute,
    /// Nobody answered, and a route failed to ask.
    Failed,
    /// No caller waits for the answer any more.
    Withdrawn,
    /// The question was not asked.
    Refused(Refusal),
    /// The question was not asked because a grant covers the call.
    Granted,
    /// An approved call went on. Its approval is now used up.
    Consumed,
    /// The result of saving an "always" answer: the store, or the reason for the failure.
    Saved(Result<String, String>),
    /// The approved program has started running, has ended or was denied.
    Lifecycle(Lifecycle),
}

/// A card at one revision. An answer for a card names the revision that the human saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CardRevision {
    /// The card's number, never reused by this guard.
    pub number: u64,
    /// Increases with each change of the card.
    pub revision: u64,
}

/// Receives every event, in order.
pub trait Log: Send + Sync {
    /// Records an event, with its question unless that is already forgotten. Runs while the manager's lock is held: it
    /// may wait for a disk, but must not call the manager.
    fn log(&self, event: &Event, question: Option<&Question>);
}

/// Discards all events.
impl Log for () {
    fn log(&self, _: &Event, _: Option<&Question>) {}
}
