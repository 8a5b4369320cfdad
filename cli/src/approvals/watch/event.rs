//! What happens around the queue.

use guard_approvals::decision::Decision;
use guard_approvals::routes::guard_socket::{Approval, QuestionState};
use guard_approvals::routes::openclaw_socket::{ApprovalRequest, Word};
use ratatui::crossterm::event::Event;
use tokio::sync::{mpsc, oneshot};

use super::queue::Key;

/// One thing that happened.
#[derive(Debug)]
pub enum WatchEvent {
    /// A guard says all that waits there.
    Listed {
        /// The process id of the guard.
        guard: u32,
        /// Every question that waits there.
        approvals: Vec<Approval>,
    },
    /// Something waits in a guard now.
    Requested {
        /// The process id of the guard.
        guard: u32,
        /// The question.
        approval: Box<Approval>,
    },
    /// Something does not wait there any more.
    Ended {
        /// The process id of the guard.
        guard: u32,
        /// The question's id.
        id: String,
        /// How it ended.
        state: QuestionState,
    },
    /// How a program goes on that was let go.
    Told {
        /// The row that let it go.
        key: Key,
        /// One line for a human.
        text: String,
    },
    /// A guard cannot be followed any more.
    Gone {
        /// The process id of the guard.
        guard: u32,
    },
    /// Somebody asks on the socket, on this connection.
    Asked {
        /// The process that asks, and the id that it gave the question.
        key: Key,
        /// The command.
        asked: Box<ApprovalRequest>,
        /// The connection's number, never used again.
        connection: u64,
        /// Takes the answer to the connection.
        answer: oneshot::Sender<Word>,
    },
    /// That connection has ended.
    Dropped {
        /// The row that was asked for on it.
        key: Key,
        /// The connection's number.
        connection: u64,
    },
    /// Somebody was turned away there.
    Turned {
        /// The process, where it is known.
        pid: Option<i32>,
        /// Why, for a human.
        why: String,
    },
    /// What a guard said to an answer.
    Answered {
        /// The row that was answered.
        key: Key,
        /// One line for a human: what the answer did, or why it was not taken.
        outcome: Result<String, String>,
    },
    /// A human types at a screen, or changes its size.
    Typed(Event),
    /// A line of standard input.
    Line(String),
    /// An answer that was given on the page.
    Chosen(Choice),
    /// It is to end.
    End,
}

/// An answer to what was on the page.
#[derive(Debug)]
pub struct Choice {
    /// The row.
    pub key: Key,
    /// As it was shown.
    pub version: u64,
    /// The answer.
    pub decision: Decision,
    /// Is told what came of it: what the guard said, or why it was not told.
    pub outcome: oneshot::Sender<Result<String, Unanswered>>,
}

/// Why a choice came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The row is not in the queue.
    #[error("it does not wait any more")]
    Gone,
    /// The row has another version than the one that was shown.
    #[error("it has changed meanwhile: look at it again")]
    Changed,
    /// It may not be answered so, or the guard did not take it.
    #[error("{0}")]
    Refused(String),
}

/// Takes news.
pub type Sender = mpsc::UnboundedSender<WatchEvent>;
