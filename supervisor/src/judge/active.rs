//! The guard in force.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;

use crate::judge::guard::Guard;

/// What has the approvals stores read again, if they say something else now.
type CatchUp = Box<dyn Fn() + Send + Sync>;

/// What a call takes when it is received. Another guard that takes over meanwhile is for the calls after it.
pub struct Current {
    guard: RwLock<Arc<Guard>>,
    /// How often it was replaced.
    changes: AtomicU64,
    /// What reads the approvals stores again, where something does.
    catch_up: OnceLock<CatchUp>,
}

impl Current {
    /// With this guard in force.
    pub fn new(guard: Guard) -> Current {
        Current { guard: RwLock::new(Arc::new(guard)), changes: AtomicU64::new(0), catch_up: OnceLock::new() }
    }

    /// The guard in force.
    pub fn guard(&self) -> Arc<Guard> {
        // A writer that panicked has not swapped: what is there is whole.
        self.guard.read().clone()
    }

    /// The guard in force once what the approvals stores say now is, if that is another than `judged`. To be asked before
    /// a human is: another guard may have saved the answer just now.
    pub fn newer(&self, judged: &Arc<Guard>) -> Option<Arc<Guard>> {
        if let Some(catch_up) = self.catch_up.get() {
            catch_up();
        }
        Some(self.guard()).filter(|guard| !Arc::ptr_eq(guard, judged))
    }

    /// Has the approvals stores read again by this.
    pub fn read_again_by(&self, catch_up: impl Fn() + Send + Sync + 'static) {
        // The first one stays: there is one for each tree.
        let _ = self.catch_up.set(Box::new(catch_up));
    }

    /// Puts another guard in force.
    pub fn replace(&self, guard: Guard) {
        *self.guard.write() = Arc::new(guard);
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// What a worker looks through.
    pub fn view(self: &Arc<Self>) -> View {
        View { changes: self.changes.load(Ordering::Acquire), guard: self.guard(), current: Arc::clone(self) }
    }
}

/// The guard in force, kept by one worker: with every call it looks whether that is still so, without a lock.
pub struct View {
    current: Arc<Current>,
    changes: u64,
    guard: Arc<Guard>,
}

impl View {
    /// The guard in force.
    pub fn guard(&mut self) -> &Arc<Guard> {
        // Read before the guard is: one that comes meanwhile is taken next time at the latest.
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
