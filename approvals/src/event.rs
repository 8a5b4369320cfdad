//! What happens to questions, for the audit log and for whoever shows them.

use super::decision::{AnsweredBy, Decision, Refusal};
use super::lifecycle::Lifecycle;
use super::question::{Id, Question};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// From 1, without a gap.
    pub sequence: u64,
    /// The question.
    pub id: Id,
    /// What.
    pub what: QuestionChange,
}

/// What happened to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionChange {
    /// It is on a card and waits for an answer.
    Requested {
        /// The card.
        card: CardRevision,
    },
    /// Another call with the same binding waits for the same answer.
    Joined {
        /// That call.
        call: Id,
    },
    /// It was answered.
    Resolved {
        /// How.
        decision: Decision,
        /// By what way.
        by: AnsweredBy,
    },
    /// Nobody answered in time.
    Expired,
    /// There was nobody to ask on any of the routes.
    NoRoute,
    /// Nobody answered, and a route that was to ask somebody could not.
    Failed,
    /// Nobody waits for it any more.
    Withdrawn,
    /// It was not asked.
    Refused(Refusal),
    /// It was not asked: a grant covers it.
    Granted,
    /// A call went on, by a yes that is used up now.
    Consumed,
    /// What "always" saves is saved, where; or why not.
    Saved(Result<String, String>),
    /// How its program goes on.
    Told(Lifecycle),
}

/// A card at one time: an answer for it names the revision that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CardRevision {
    /// Its number, never used again in this guard.
    pub number: u64,
    /// Goes up with each change of what the card lists.
    pub revision: u64,
}

/// Takes every event, in order.
pub trait Log: Send + Sync {
    /// Notes an event; with its question, unless that is forgotten already. Called while the manager is held: it may
    /// wait for a disk, and must not call the manager.
    fn log(&self, event: &Event, question: Option<&Question>);
}

/// Where nobody listens.
impl Log for () {
    fn log(&self, _: &Event, _: Option<&Question>) {}
}
