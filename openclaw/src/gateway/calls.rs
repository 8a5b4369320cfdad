//! Which answer belongs to which call.

use std::collections::HashMap;

use serde_json::Value;

use super::frames::Refused;

/// What is answered to a call.
pub type CallResult = Result<Value, Refused>;

/// The calls that wait, each with what its answer is for.
#[derive(Debug)]
pub struct Calls<W>(HashMap<String, W>);

impl<W> Default for Calls<W> {
    fn default() -> Calls<W> {
        Calls(HashMap::new())
    }
}

impl<W> Calls<W> {
    /// One more waits. An id is given once in the life of a connection: a late answer is nobody's.
    pub fn wait(&mut self, id: String, who: W) {
        self.0.insert(id, who);
    }

    /// Who waits for the answer of this id. Only the first is one: a request may be answered twice (`twoPhase`).
    pub fn answered(&mut self, id: &str) -> Option<W> {
        self.0.remove(id)
    }

    /// Nobody waits any more.
    pub fn forget(&mut self, id: &str) {
        self.0.remove(id);
    }
}
