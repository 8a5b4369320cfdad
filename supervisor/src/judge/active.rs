//! The guard currently in force.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;

use crate::judge::guard::Guard;

/// Re-reads the approvals stores if they have changed.
type CatchUp = Box<dyn Fn() + Send + Sync>;

/// Runs after the guard was replaced.
type Updated = Box<dyn Fn() + Send + Sync>;

/// The shared guard. A call uses the guard in force when it is received; a replacement applies to later calls.
pub struct Current {
    guard: RwLock<Arc<Guard>>,
    /// How often the guard was replaced.
    changes: AtomicU64,
    /// Re-reads the approvals stores, if set.
    catch_up: OnceLock<CatchUp>,
    /// Called after each replacement, if set.
    updated: OnceLock<Updated>,
}

impl Current {
    /// Creates this with the given guard in force.
    pub fn new(guard: Guard) -> Current {
        Current {
            guard: RwLock::new(Arc::new(guard)),
            changes: AtomicU64::new(0),
            catch_up: OnceLock::new(),
            updated: OnceLock::new(),
        }
    }

    /// The guard in force.
    pub fn guard(&self) -> Arc<Guard> {
        // A writer that panicked has not replaced the guard, so the one found here is complete.
        self.guard.read().clone()
    }

    /// Re-reads the approvals stores, and returns the guard in force if its policy is another than that of `judged`. To be
    /// called before a human is asked: another guard may have saved the answer just now.
    pub fn newer(&self, judged: &Arc<Guard>) -> Option<Arc<Guard>> {
        if let Some(catch_up) = self.catch_up.get() {
            catch_up();
        }
        Some(self.guard()).filter(|guard| !guard.has_policy_of(judged))
    }

    /// Sets the function that re-reads the approvals stores.
    pub fn read_again_by(&self, catch_up: impl Fn() + Send + Sync + 'static) {
        // The first function stays, because each tree has only one.
        let _ = self.catch_up.set(Box::new(catch_up));
    }

    /// Sets the function to call after each replacement. It must not replace the guard itself.
    pub fn notify(&self, updated: impl Fn() + Send + Sync + 'static) {
        let _ = self.updated.set(Box::new(updated));
    }

    /// Puts another guard in force, made from the one before. Nothing else is put in force meanwhile.
    pub fn update(&self, change: impl FnOnce(&Guard) -> Guard) {
        {
            let mut guard = self.guard.write();
            *guard = Arc::new(change(&guard));
            self.changes.fetch_add(1, Ordering::Release);
        }
        if let Some(updated) = self.updated.get() {
            updated();
        }
    }

    /// A view for one worker.
    pub fn view(self: &Arc<Self>) -> View {
        View { changes: self.changes.load(Ordering::Acquire), guard: self.guard(), current: Arc::clone(self) }
    }
}

/// A worker's cached reference to the guard in force. Each call checks without a lock whether it is current.
pub struct View {
    current: Arc<Current>,
    changes: u64,
    guard: Arc<Guard>,
}

impl View {
    /// The guard in force.
    pub fn guard(&mut self) -> &Arc<Guard> {
        // The count is read before the guard, so that a replacement in between is picked up at the next call at the
        // latest.
        let changes = self.current.changes.load(Ordering::Acquire);
        if changes != self.changes {
            self.guard = self.current.guard();
            self.changes = changes;
        }
        &self.guard
    }

    /// As [`Current::newer`].
    pub fn newer(&self, judged: &Arc<Guard>) -> Option<Arc<Guard>> {
        self.current.newer(judged)
    }
}
