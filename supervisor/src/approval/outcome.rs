//! What comes of an operation on the book.

use std::sync::Arc;

use guard_policy::analysis::Entry;
use tokio::sync::oneshot;

use super::decision::{Decision, End, Grant, Refusal, ResolveError};
use super::event::{Card, What};
use super::request::{Always, Id, Question, Repeat, Request};

/// What came of registering a question.
#[derive(Debug)]
pub enum Registered {
    /// It waits, with this number.
    Waiting(u64, oneshot::Receiver<End>),
    /// It has ended before.
    Ended(End),
    /// A grant covers it: the call may go on.
    Granted(Box<Grant>),
    /// It is not asked.
    Refused(Refusal),
}

/// What an answer did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The question that was named.
    pub id: Id,
    /// What was answered; nothing where it was answered so before.
    pub answered: Vec<Id>,
    /// The entries to be saved, for whom.
    pub saves: Vec<Save>,
}

/// An entry that "always" saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// The question.
    pub id: Id,
    /// For which agent.
    pub agent: String,
    /// The entry.
    pub entry: Entry,
}

/// Where a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It waits.
    Pending(Id),
    /// It has ended.
    Ended(Id, End),
}

/// A card with the questions that it lists.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The card.
    pub card: Card,
    /// What it lists, and how many calls wait for each.
    pub requests: Vec<(Arc<Request>, usize)>,
}

/// Something that happened, with the question where it is known.
#[derive(Debug)]
pub struct Happened {
    pub id: Id,
    pub what: What,
    pub request: Option<Arc<Request>>,
}

/// Whether a question can be answered so, and what is saved then.
pub fn permitted(id: Id, question: &Question, decision: Decision) -> Result<Option<Save>, ResolveError> {
    match decision {
        Decision::AllowOnce | Decision::Deny => Ok(None),
        _ if question.repeat == Repeat::AskedEachTime => Err(ResolveError::AskedEachTime(decision)),
        Decision::AllowFor(_) => Ok(None),
        Decision::AllowAlways => match &question.always {
            Always::Entry { entry, .. } => {
                Ok(Some(Save { id, agent: question.agent.clone(), entry: entry.clone() }))
            }
            Always::Never(why) => Err(ResolveError::NoAlways(why.clone())),
        },
    }
}
