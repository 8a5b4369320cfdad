//! The guard in force.

use std::sync::{Arc, PoisonError, RwLock};

use crate::guard::Guard;

/// What a call takes when it is received. Another guard that takes over meanwhile is for the calls after it.
pub struct Current(RwLock<Arc<Guard>>);

impl Current {
    /// With this guard in force.
    pub fn new(guard: Guard) -> Current {
        Current(RwLock::new(Arc::new(guard)))
    }

    /// The guard in force.
    pub fn guard(&self) -> Arc<Guard> {
        // A writer that panicked has not swapped: what is there is whole.
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another guard in force.
    pub fn replace(&self, guard: Guard) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(guard);
    }
}
