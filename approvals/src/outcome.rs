//! Results of operations on the pending approvals.

use std::path::PathBuf;
use std::sync::Arc;

use guard_openclaw::approvals_store::UpdateError;
use guard_policy::approval::Saving;
use tokio::sync::oneshot;
use tokio::task::JoinError;

use super::decision::{Decision, GrantWidth, Refusal, Resolution, ResolveError, Span, TemporaryGrant};
use super::event::{CardRevision, QuestionChange};
use super::question::{Always, Id, PendingRequest, Question, Repeat, Subject};

/// The result of registering a question.
#[derive(Debug)]
pub enum Registered {
    /// The question is pending. Holds the waiter's number and its receiver.
    Waiting(u64, oneshot::Receiver<Resolution>),
    /// The question has already ended.
    Ended(Resolution),
    /// A grant covers the call, so it may go on.
    Granted(TemporaryGrant),
    /// The question is not asked.
    Refused(Refusal),
}

/// The result of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The named question.
    pub id: Id,
    /// The questions that were answered; empty if they already had this answer.
    pub answered: Vec<Id>,
    /// These questions, as their cards listed them until now.
    pub cards: Vec<PendingCard>,
    /// What has to be saved.
    pub saves: Vec<SaveRequest>,
}

/// One entry or rule that "always" saves. Whoever calls `resolve` must save each one
/// ([`super::persist::GrantStore::save`]) or report that it was not saved ([`super::Manager::saved`]), because the
/// answered calls wait for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveRequest {
    /// The questions that need it.
    pub questions: Vec<Id>,
    /// The agent that it is saved for.
    pub agent: String,
    /// The entry or rule.
    pub saving: Saving,
}

/// Why an "always" answer was not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The store was not changed.
    #[error(transparent)]
    Store(#[from] UpdateError),
    /// An entry without a pattern would be for every program.
    #[error("the pattern is blank")]
    BlankPattern,
    /// The store has a value of another kind where the answer belongs.
    #[error("{store}: a value of another type is where {place}: repair it first", store = store.display())]
    Occupied {
        /// The guard's own store.
        store: PathBuf,
        /// What would be saved, and in which key.
        place: String,
    },
    /// The thread that saves has ended.
    #[error(transparent)]
    Thread(#[from] JoinError),
}

/// The state of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The question is pending.
    Pending(Id),
    /// The question has ended.
    Ended(Id, Resolution),
}

/// A card with its questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCard {
    /// The card.
    pub card: CardRevision,
    /// The questions on the card, each with the number of its waiting calls.
    pub requests: Vec<(Arc<PendingRequest>, usize)>,
}

impl PendingCard {
    /// Whether the card lists this question.
    pub fn has(&self, id: Id) -> bool {
        self.requests.iter().any(|(request, _)| request.id == id)
    }
}

/// An event, with its question if that is still known.
#[derive(Debug)]
pub(crate) struct Happened {
    pub id: Id,
    pub what: QuestionChange,
    pub request: Option<Arc<PendingRequest>>,
}

/// What this answer to all these questions saves, without duplicates. A pattern replaces the one that "always" would save.
///
/// # Errors
/// One of the questions cannot be given this answer, or "always" cannot save this pattern for it.
pub fn saves<'q>(
    questions: impl Iterator<Item = (Id, &'q Question)>,
    decision: Decision,
    pattern: Option<&str>,
) -> Result<Vec<SaveRequest>, ResolveError> {
    let mut saves: Vec<SaveRequest> = Vec::new();
    for (id, question) in questions {
        let savings = permitted(question, decision)?;
        let savings = match pattern {
            None => savings.to_vec(),
            Some(pattern) => vec![edited(question, decision, pattern)?],
        };
        for saving in savings {
            match saves.iter_mut().find(|save| save.saving == saving && save.agent == question.agent) {
                Some(save) => save.questions.push(id),
                None => {
                    saves.push(SaveRequest { questions: vec![id], agent: question.agent.clone(), saving })
                }
            }
        }
    }
    Ok(saves)
}

/// What "always" saves for a question if this pattern replaces the one that is shown.
fn edited(question: &Question, decision: Decision, pattern: &str) -> Result<Saving, ResolveError> {
    let savings = match decision {
        Decision::AllowAlways(GrantWidth::Narrow) => permitted(question, decision)?,
        _ => &[],
    };
    match (savings, &question.edited_below) {
        ([Saving::Rule(rule)], Some(below)) => Ok(Saving::Rule(rule.edited(pattern, below)?)),
        _ => Err(ResolveError::NoPattern),
    }
}

/// Whether a question can be given this answer, and what that saves.
fn permitted(question: &Question, decision: Decision) -> Result<&[Saving], ResolveError> {
    match decision {
        Decision::AllowOnce | Decision::Deny => Ok(&[]),
        _ if question.repeat == Repeat::AskedEachTime => Err(ResolveError::AskedEachTime(decision)),
        Decision::AllowFor(GrantWidth::Narrow, Span::Session | Span::Minutes(_)) => Ok(&[]),
        Decision::AllowFor(width, span) if has_reach(question, width, span) => Ok(&[]),
        Decision::DenyFor(width, span) if has_reach(question, width, span) => Ok(&[]),
        Decision::AllowFor(..) | Decision::DenyFor(..) => Err(ResolveError::NotOffered(decision)),
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

/// Whether an answer to a question can have this width and this span.
fn has_reach(question: &Question, width: GrantWidth, span: Span) -> bool {
    if let Subject::Host(host) = &question.subject {
        return width == GrantWidth::Directory && span != Span::Command && host.domain.is_some();
    }
    question.reach.as_ref().is_some_and(|reach| {
        let has_width = width == GrantWidth::Narrow || reach.directory.is_some();
        has_width && (span != Span::Command || reach.command.is_some())
    })
}

/// The answers that a question can be given.
pub fn answers(question: &Question) -> impl Iterator<Item = Decision> {
    Decision::all().filter(|decision| permitted(question, *decision).is_ok())
}
