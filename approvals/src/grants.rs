//! What applies for a limited time: grants and recent denials.

use std::collections::HashMap;
use std::hash::Hash;

use tokio::time::Instant;

use super::binding::Binding;

/// What is granted or denied, each with the time at which it ends, or `None` if it never ends.
#[derive(Debug)]
pub struct TemporaryGrants<K = Binding>(HashMap<K, Option<Instant>>);

impl<K> Default for TemporaryGrants<K> {
    fn default() -> Self {
        TemporaryGrants(HashMap::new())
    }
}

/// The maximum number of grants. Beyond it, the grant that ends first is dropped, and its calls are asked again.
pub const MAX_GRANTS: usize = 1024;

impl<K: Clone + Eq + Hash> TemporaryGrants<K> {
    /// Keeps a grant. If it is already kept, the later end applies.
    pub fn insert(&mut self, grant: K, until: Option<Instant>) {
        if let Some(known) = self.0.get_mut(&grant) {
            *known = known.zip(until).map(|(known, until)| known.max(until));
            return;
        }
        if self.0.len() >= MAX_GRANTS {
            let first = self.0.iter().min_by_key(|(_, until)| (until.is_none(), **until));
            if let Some(first) = first.map(|(grant, _)| grant.clone()) {
                self.0.remove(&first);
            }
        }
        self.0.insert(grant, until);
    }

    /// The end of a grant, if it is kept. Call [`TemporaryGrants::forget`] first, as this does not check the time.
    pub fn get(&self, grant: &K) -> Option<Option<Instant>> {
        self.0.get(grant).copied()
    }

    /// Returns the kept grant that `is_meant` accepts and that ends last, with its end. Like [`TemporaryGrants::get`],
    /// this does not check the time.
    pub fn find(&self, is_meant: impl Fn(&K) -> bool) -> Option<(&K, Option<Instant>)> {
        let meant = self.0.iter().filter(|(grant, _)| is_meant(grant)).map(|(grant, until)| (grant, *until));
        meant.max_by_key(|(_, until)| (until.is_none(), *until))
    }

    /// Removes the grants that have ended by `now`.
    pub fn forget(&mut self, now: Instant) {
        self.0.retain(|_, until| until.is_none_or(|until| until > now));
    }

    /// Removes all grants.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of kept grants.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
