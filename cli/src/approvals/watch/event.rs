//! The events that change the queue or come from its view.

use std::io;
use std::sync::Arc;

use guard_approvals::decision::{Decision, UnknownDecision};
use guard_approvals::routes::guard_socket::{Approval, QuestionState};
use guard_approvals::routes::openclaw_socket::{ApprovalRequest, Word};
use ratatui::crossterm::event::Event;
use tokio::sync::{mpsc, oneshot};

use super::queue::{CannotAnswer, Key};

/// One event.
#[derive(Debug)]
pub enum WatchEvent {
    /// A guard's complete list of pending questions.
    Listed {
        /// The process id of the guard.
        guard: u32,
        /// Every question that is pending there.
        approvals: Vec<Approval>,
    },
    /// A question became pending in a guard.
    Requested {
        /// The process id of the guard.
        guard: u32,
        /// The question.
        approval: Box<Approval>,
    },
    /// A question is no longer pending in a guard.
    Ended {
        /// The process id of the guard.
        guard: u32,
        /// The question's id.
        id: String,
        /// How it ended.
        state: QuestionState,
    },
    /// How an allowed program ended or goes on.
    Lifecycle {
        /// The row that allowed it.
        key: Key,
        /// One line for a human.
        text: String,
    },
    /// The connection to a guard was lost.
    Gone {
        /// The process id of the guard.
        guard: u32,
    },
    /// A peer asks on the approvals socket.
    Asked {
        /// The asking process and the question's id.
        key: Key,
        /// The command.
        asked: Box<ApprovalRequest>,
        /// The connection's number, never used again.
        connection: u64,
        /// Sends the answer to that connection.
        answer: oneshot::Sender<Word>,
    },
    /// The connection on which a peer asked has ended.
    Dropped {
        /// The row that the connection had asked for.
        key: Key,
        /// The connection's number.
        connection: u64,
    },
    /// A peer of the approvals socket was turned away.
    Rejected {
        /// The process, where it is known.
        pid: Option<i32>,
        /// Why, for a human.
        why: String,
    },
    /// A guard's reply to an answer.
    Answered {
        /// The row that was answered.
        key: Key,
        /// What the answer did, in one line for a human, or why it was not taken.
        outcome: AnswerOutcome,
    },
    /// A key, or a new size of the terminal.
    Typed(Event),
    /// A line from standard input.
    Line(String),
    /// An answer from the page.
    Chosen(Choice),
    /// The program must end.
    End,
}

/// An answer given on the page.
#[derive(Debug)]
pub struct Choice {
    /// The row.
    pub key: Key,
    /// The row's version that was shown.
    pub version: u64,
    /// The answer.
    pub decision: Decision,
    /// Receives the result: the guard's reply, or why the guard was not asked.
    pub outcome: oneshot::Sender<Result<String, Unanswered>>,
}

/// What an answer did, in one line for a human.
pub type AnswerOutcome = Result<String, Arc<NotTaken>>;

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// The row does not permit the answer.
    #[error(transparent)]
    Row(#[from] CannotAnswer),
    /// The guards' sockets cannot be listed.
    #[error(transparent)]
    Guards(io::Error),
    /// The guard's socket is gone, or does not answer.
    #[error("cannot reach the guard: {0}")]
    Unreachable(#[source] io::Error),
    /// The guard refused the answer; holds the guard's message.
    #[error("{0}")]
    Refused(String),
    /// The guard's reply is for another kind of request.
    #[error("the guard sent an unexpected reply")]
    Unexpected,
}

/// Why an answer from the page had no effect.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// The row is not in the queue.
    #[error("the question is no longer pending")]
    Gone,
    /// The row's version differs from the one that was shown.
    #[error("the question has changed: look at it again")]
    Changed,
    /// The row does not permit this answer, or the guard refused it.
    #[error("{0}")]
    Refused(#[source] Arc<NotTaken>),
    /// The page sent a word that is no answer.
    #[error(transparent)]
    NoDecision(UnknownDecision),
    /// The program ends, and may have sent the answer.
    #[error("openclaw-guard is ending")]
    Ending,
    /// The guard's reply took too long.
    #[error("the guard did not confirm the answer: look at the pending questions")]
    Unconfirmed,
}

/// Sends events to the queue.
pub type Sender = mpsc::UnboundedSender<WatchEvent>;
