//! What holds for bindings for some time: grants, and denials that were given just now.

use std::collections::HashMap;

use tokio::time::Instant;

use super::binding::Binding;

/// Bindings, each until a time or for good.
#[derive(Debug, Default)]
pub struct TemporaryGrants(HashMap<Binding, Option<Instant>>);

/// More are not kept: the one that ends first goes, and its calls are asked for again.
pub const MAX_GRANTS: usize = 1024;

impl TemporaryGrants {
    /// Keeps a binding, for as long as the longer of two times says.
    pub fn insert(&mut self, binding: Binding, until: Option<Instant>) {
        if let Some(known) = self.0.get_mut(&binding) {
            *known = known.zip(until).map(|(known, until)| known.max(until));
            return;
        }
        if self.0.len() >= MAX_GRANTS {
            let first = self.0.iter().min_by_key(|(_, until)| (until.is_none(), **until));
            if let Some(first) = first.map(|(binding, _)| binding.clone()) {
                self.0.remove(&first);
            }
        }
        self.0.insert(binding, until);
    }

    /// Until when a binding is kept, if it is; it must be looked at after [`TemporaryGrants::forget`].
    pub fn get(&self, binding: &Binding) -> Option<Option<Instant>> {
        self.0.get(binding).copied()
    }

    /// Forgets what has ended by now.
    pub fn forget(&mut self, now: Instant) {
        self.0.retain(|_, until| until.is_none_or(|until| until > now));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many are kept.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
