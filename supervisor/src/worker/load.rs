//! How many calls come, and how they meet: whether one worker is enough.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// A call that is received sooner was there already.
const IMMEDIATE_INTERVAL: Duration = Duration::from_nanos(1500);

/// What calls there were.
#[derive(Debug, Default)]
pub struct Load {
    calls: AtomicU64,
    /// Those that came while another was being answered.
    crowded: AtomicU64,
    /// Those that made way.
    ways: AtomicU64,
    /// Workers that are answering one, but for those that have made way.
    answering: AtomicUsize,
}

/// The same at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    calls: u64,
    crowded: u64,
    ways: u64,
}

impl Counts {
    /// The calls since then, and how many of them met another or made way.
    pub fn since(self, before: Counts) -> (u64, u64) {
        let met = (self.crowded - before.crowded).max(self.ways - before.ways);
        (self.calls - before.calls, met)
    }
}

impl Load {
    /// A call was received, after so long a wait.
    pub fn begin(&self, waited: Duration) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.answering.fetch_add(1, Ordering::Relaxed) > 0 || waited < IMMEDIATE_INTERVAL {
            self.crowded.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It was answered, or makes way.
    pub fn end(&self) {
        self.answering.fetch_sub(1, Ordering::Relaxed);
    }

    /// A call is about to take long.
    pub fn slow_call(&self) {
        self.ways.fetch_add(1, Ordering::Relaxed);
    }

    /// What there was so far.
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts { calls: of(&self.calls), crowded: of(&self.crowded), ways: of(&self.ways) }
    }
}
