//! Ended questions, kept for a while for late answers and for calls that were allowed but have not gone on yet.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::decision::Resolution;
use super::digest::Digest;
use super::question::Id;

/// How long an ended question is kept (OpenClaw: `RESOLVED_ENTRY_GRACE_MS`). An approval that is not used by then is
/// void.
pub const GRACE_INTERVAL: Duration = Duration::from_secs(15);

/// The maximum number of ended questions. Beyond it the oldest are dropped.
const MAX_RESOLVED: usize = 4096;

/// An ended question.
#[derive(Debug)]
pub struct Record {
    /// How it ended.
    pub end: Resolution,
    /// The digest of its binding.
    pub binding: Digest,
    /// The calls that waited for it.
    pub calls: Vec<Id>,
    /// The calls that were allowed but have not gone on yet.
    pub claims: BTreeSet<Id>,
    /// The number of entries that "always" saves and whose result is not known yet.
    pub unsaved: usize,
}

/// Ended questions by their ids.
#[derive(Debug, Default)]
pub struct ResolvedApprovals {
    records: HashMap<Id, Record>,
    order: VecDeque<(Instant, Id)>,
}

impl ResolvedApprovals {
    /// Adds a question that ends now. Returns the calls of questions that were dropped for it.
    pub fn insert(&mut self, id: Id, record: Record, now: Instant) -> Vec<Id> {
        let mut forgotten = Vec::new();
        while self.order.len() >= MAX_RESOLVED {
            self.pop(&mut forgotten);
        }
        self.order.push_back((now, id));
        self.records.insert(id, record);
        forgotten
    }

    /// Removes expired questions, and returns their calls.
    pub fn forget(&mut self, now: Instant) -> Vec<Id> {
        let mut forgotten = Vec::new();
        while self.next().is_some_and(|next| next <= now) {
            self.pop(&mut forgotten);
        }
        forgotten
    }

    /// When the next question expires.
    pub fn next(&self) -> Option<Instant> {
        self.order.front().map(|(at, _)| *at + GRACE_INTERVAL)
    }

    /// The record of a question.
    pub fn get(&self, id: &Id) -> Option<&Record> {
        self.records.get(id)
    }

    /// The record of a question, to use up a claim.
    pub fn get_mut(&mut self, id: &Id) -> Option<&mut Record> {
        self.records.get_mut(id)
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &Id> {
        self.records.keys()
    }

    fn pop(&mut self, forgotten: &mut Vec<Id>) {
        let record = self.order.pop_front().and_then(|(_, id)| self.records.remove(&id));
        forgotten.extend(record.into_iter().flat_map(|record| record.calls));
    }
}
