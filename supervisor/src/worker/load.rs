//! Measures how many calls arrive and overlap, to decide whether one worker is enough.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// A call received faster than this was already waiting.
const IMMEDIATE_INTERVAL: Duration = Duration::from_nanos(1500);

/// Counts calls.
#[derive(Debug, Default)]
pub struct Load {
    calls: AtomicU64,
    /// Calls that arrived while another was being handled.
    crowded: AtomicU64,
    /// Calls that took long, so that another worker was made to wait.
    ways: AtomicU64,
    /// Workers that are handling a call, except those in a long one.
    answering: AtomicUsize,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    calls: u64,
    crowded: u64,
    ways: u64,
}

impl Counts {
    /// The calls since `before`, and how many of them overlapped or took long.
    pub fn since(self, before: Counts) -> (u64, u64) {
        let met = (self.crowded - before.crowded).max(self.ways - before.ways);
        (self.calls - before.calls, met)
    }
}

impl Load {
    /// Counts a call that was received after waiting for `waited`.
    pub fn begin(&self, waited: Duration) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.answering.fetch_add(1, Ordering::Relaxed) > 0 || waited < IMMEDIATE_INTERVAL {
            self.crowded.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes that a call was replied to, or is about to take long.
    pub fn end(&self) {
        self.answering.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a call that is about to take long.
    pub fn slow_call(&self) {
        self.ways.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts { calls: of(&self.calls), crowded: of(&self.crowded), ways: of(&self.ways) }
    }
}
