//! What a human wants done with the queue.

use guard_approvals::decision::Decision;

use super::queue::Key;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Nothing,
    Answer(Key, Decision),
    End,
}
