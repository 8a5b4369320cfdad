//! What a human does with the queue.

use guard_approvals::decision::Decision;

use super::queue::Key;

/// An action on the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Nothing,
    Answer(Key, Decision),
    End,
}
