//! What happens around the queue.

use guard_approvals::decision::Decision;
use guard_approvals::routes::guard_socket::{Approval, State};
use guard_approvals::routes::openclaw_socket::{Asked, Word};
use ratatui::crossterm::event::Event;
use tokio::sync::{mpsc, oneshot};

use super::queue::Key;

/// One thing that happened.
#[derive(Debug)]
pub enum News {
    /// A guard says all that waits there.
    Listed { guard: u32, approvals: Vec<Approval> },
    /// Something waits in a guard now.
    Requested { guard: u32, approval: Box<Approval> },
    /// Something does not wait there any more.
    Ended { guard: u32, id: String, state: State },
    /// How a program goes on that was let go.
    Told { key: Key, text: String },
    /// A guard cannot be followed any more.
    Gone { guard: u32 },
    /// Somebody asks on the socket, on this connection.
    Asked { key: Key, asked: Box<Asked>, connection: u64, answer: oneshot::Sender<Word> },
    /// That connection has ended.
    Dropped { key: Key, connection: u64 },
    /// Somebody was turned away there.
    Turned { pid: Option<i32>, why: String },
    /// What a guard said to an answer.
    Answered { key: Key, outcome: Result<String, String> },
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
    pub decision: Decision,
    /// Is told what came of it: what the guard said, or why it was not told.
    pub outcome: oneshot::Sender<Result<String, Unanswered>>,
}

/// Why a choice came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    #[error("it does not wait any more")]
    Gone,
    #[error("it has changed meanwhile: look at it again")]
    Changed,
    /// It may not be answered so, or the guard did not take it.
    #[error("{0}")]
    Refused(String),
}

/// Takes news.
pub type Sender = mpsc::UnboundedSender<News>;
