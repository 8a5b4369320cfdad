//! What comes of an operation on the book.

use std::sync::Arc;

use guard_policy::approval::Saving;
use tokio::sync::oneshot;

use super::decision::{Decision, GrantWidth, Refusal, Resolution, ResolveError, TemporaryGrant};
use super::event::{CardRevision, QuestionChange};
use super::question::{Always, Id, PendingRequest, Question, Repeat};

/// What came of registering a question.
#[derive(Debug)]
pub enum Registered {
    /// It waits, with this number.
    Waiting(u64, oneshot::Receiver<Resolution>),
    /// It has ended before.
    Ended(Resolution),
    /// A grant covers it: the call may go on.
    Granted(Box<TemporaryGrant>),
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
    /// What is to be saved, for whom.
    pub saves: Vec<SaveRequest>,
}

/// Something that "always" saves. Whoever resolves has each of them kept ([`super::persist::GrantStore::save`]), or says that it
/// was not ([`super::Manager::saved`]): calls that were answered so wait for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveRequest {
    /// The questions that need it.
    pub questions: Vec<Id>,
    /// For which agent.
    pub agent: String,
    /// What.
    pub saving: Saving,
}

/// Where a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It waits.
    Pending(Id),
    /// It has ended.
    Ended(Id, Resolution),
}

/// A card with the questions that it lists.
#[derive(Clone, Debug)]
pub struct PendingCard {
    /// The card.
    pub card: CardRevision,
    /// What it lists, and how many calls wait for each.
    pub requests: Vec<(Arc<PendingRequest>, usize)>,
}

/// Something that happened, with the question where it is known.
#[derive(Debug)]
pub(crate) struct Happened {
    pub id: Id,
    pub what: QuestionChange,
    pub request: Option<Arc<PendingRequest>>,
}

/// What is saved where all these questions are answered so, each thing once.
///
/// # Errors
/// Where one of them cannot be answered so.
pub fn saves<'q>(
    questions: impl Iterator<Item = (Id, &'q Question)>,
    decision: Decision,
) -> Result<Vec<SaveRequest>, ResolveError> {
    let mut saves: Vec<SaveRequest> = Vec::new();
    for (id, question) in questions {
        for saving in permitted(question, decision)? {
            match saves.iter_mut().find(|save| save.saving == *saving && save.agent == question.agent) {
                Some(save) => save.questions.push(id),
                None => saves.push(SaveRequest {
                    questions: vec![id],
                    agent: question.agent.clone(),
                    saving: saving.clone(),
                }),
            }
        }
    }
    Ok(saves)
}

/// Whether a question can be answered so, and what is saved then.
fn permitted(question: &Question, decision: Decision) -> Result<&[Saving], ResolveError> {
    match decision {
        Decision::AllowOnce | Decision::Deny => Ok(&[]),
        _ if question.repeat == Repeat::AskedEachTime => Err(ResolveError::AskedEachTime(decision)),
        Decision::AllowFor(_) => Ok(&[]),
        Decision::AllowAlways(width) => match (&question.always, width) {
            (Always::Saves { narrow, .. }, GrantWidth::Narrow) => Ok(narrow),
            (Always::Saves { directory, .. }, GrantWidth::Directory) if !directory.is_empty() => {
                Ok(directory)
            }
            (Always::Saves { .. }, GrantWidth::Directory) => Err(ResolveError::NoDirectory),
            (Always::Never(why), _) => Err(ResolveError::NoAlways(why.clone())),
        },
    }
}
