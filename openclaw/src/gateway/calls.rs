//! Matches answers to calls.

use std::collections::HashMap;

use serde_json::Value;

use super::frames::Refused;

/// The answer to a call.
pub type CallResult = Result<Value, Refused>;

/// The pending calls, each with the recipient of its answer.
#[derive(Debug)]
pub struct Calls<W>(HashMap<String, W>);

impl<W> Default for Calls<W> {
    fn default() -> Calls<W> {
        Calls(HashMap::new())
    }
}

impl<W> Calls<W> {
    /// Adds a pending call. A connection uses each id only once, so a late answer matches no other call.
    pub fn wait(&mut self, id: String, who: W) {
        self.0.insert(id, who);
    }

    /// Returns the recipient of the answer with this id. Only the first answer has a recipient: a request may
    /// be answered twice (`twoPhase`).
    pub fn answered(&mut self, id: &str) -> Option<W> {
        self.0.remove(id)
    }

    /// Removes a call whose caller has stopped waiting.
    pub fn forget(&mut self, id: &str) {
        self.0.remove(id);
    }
}
