//! What applies to a binding for a limited time: grants and recent denials.

use std::collections::HashMap;

use tokio::time::Instant;

use super::binding::Binding;

/// Bindings, each with the time it ends, or none if it never ends.
#[derive(Debug, Default)]
pub struct TemporaryGrants(HashMap<Binding, Option<Instant>>);

/// The maximum number of grants. Beyond it, the grant that ends first is dropped, and its calls are asked again.
pub const MAX_GRANTS: usize = 1024;

impl TemporaryGrants {
    /// Keeps a binding. If it is already kept, the later end applies.
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

    /// The end of a kept binding, if it is kept. Call [`TemporaryGrants::forget`] first, as this does not check the
    /// time.
    pub fn get(&self, binding: &Binding) -> Option<Option<Instant>> {
        self.0.get(binding).copied()
    }

    /// Removes the bindings that have ended by `now`.
    pub fn forget(&mut self, now: Instant) {
        self.0.retain(|_, until| until.is_none_or(|until| until > now));
    }

    /// Removes all bindings.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of kept bindings.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
