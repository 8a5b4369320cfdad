//! Questions that have ended stay known for a while: for an answer that comes late, and for the calls that were let go.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::decision::Resolution;
use super::digest::Digest;
use super::question::Id;

/// For so long (OpenClaw: RESOLVED_ENTRY_GRACE_MS). A yes that is not used by then is none.
pub const GRACE_INTERVAL: Duration = Duration::from_secs(15);

/// More are not kept; the oldest go first.
const MAX_RESOLVED: usize = 4096;

/// A question that has ended.
#[derive(Debug)]
pub struct Record {
    /// How.
    pub end: Resolution,
    /// Of its binding.
    pub binding: Digest,
    /// The calls that waited for it.
    pub calls: Vec<Id>,
    /// Those of them that were let go and have not gone yet.
    pub claims: BTreeSet<Id>,
    /// What "always" saves of it, and of which nobody has said yet that it is saved, or is not.
    pub unsaved: usize,
}

/// Questions that have ended, by their ids.
#[derive(Debug, Default)]
pub struct ResolvedApprovals {
    records: HashMap<Id, Record>,
    order: VecDeque<(Instant, Id)>,
}

impl ResolvedApprovals {
    /// Keeps one that ends now. Returns calls of others that are forgotten for it.
    pub fn insert(&mut self, id: Id, record: Record, now: Instant) -> Vec<Id> {
        let mut forgotten = Vec::new();
        while self.order.len() >= MAX_RESOLVED {
            self.pop(&mut forgotten);
        }
        self.order.push_back((now, id));
        self.records.insert(id, record);
        forgotten
    }

    /// Forgets what has been known for long enough, and returns its calls.
    pub fn forget(&mut self, now: Instant) -> Vec<Id> {
        let mut forgotten = Vec::new();
        while self.next().is_some_and(|next| next <= now) {
            self.pop(&mut forgotten);
        }
        forgotten
    }

    /// When the next one is forgotten.
    pub fn next(&self) -> Option<Instant> {
        self.order.front().map(|(at, _)| *at + GRACE_INTERVAL)
    }

    /// One of them.
    pub fn get(&self, id: &Id) -> Option<&Record> {
        self.records.get(id)
    }

    /// One of them, to use up a claim.
    pub fn get_mut(&mut self, id: &Id) -> Option<&mut Record> {
        self.records.get_mut(id)
    }

    /// All of them.
    pub fn ids(&self) -> impl Iterator<Item = &Id> {
        self.records.keys()
    }

    fn pop(&mut self, forgotten: &mut Vec<Id>) {
        let record = self.order.pop_front().and_then(|(_, id)| self.records.remove(&id));
        forgotten.extend(record.into_iter().flat_map(|record| record.calls));
    }
}
