//! Since when no worker waits for the next call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::MAX_WORKERS;

/// The moment at which a worker last received a call: if no worker waits, that one was the last to wait.
#[derive(Debug)]
pub struct Unattended {
    start: Instant,
    /// Nanoseconds after `start`.
    since: AtomicU64,
}

impl Default for Unattended {
    fn default() -> Unattended {
        Unattended { start: Instant::now(), since: AtomicU64::new(0) }
    }
}

impl Unattended {
    /// Notes that a worker has received a call, before it counts as waiting no longer.
    pub fn begin(&self, now: Instant) {
        let since = now.saturating_duration_since(self.start).as_nanos();
        self.since.store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How long no worker has waited, if none does.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed().saturating_sub(Duration::from_nanos(self.since.load(Ordering::Relaxed)))
    }
}

/// How many workers to start where none waits: each time twice as many, because those before may all be in a long call.
#[derive(Debug, Default)]
pub struct Relief {
    last: usize,
}

impl Relief {
    /// Returns how many to start at this look.
    pub fn workers(&mut self, is_unattended: bool) -> usize {
        if is_unattended {
            self.last = (self.last * 2).clamp(1, MAX_WORKERS);
            return self.last;
        }
        self.last /= 2;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relief_grows_until_somebody_waits() {
        let mut relief = Relief::default();
        assert_eq!(relief.workers(false), 0);
        assert_eq!([(); 4].map(|()| relief.workers(true)), [1, 2, 4, 8]);
        assert_eq!(relief.workers(false), 0);
        assert_eq!(relief.workers(true), 8, "they were gone at once");
        assert_eq!([(); 5].map(|()| relief.workers(false)), [0; 5]);
        assert_eq!(relief.workers(true), 1);
        assert!((0..100).all(|_| relief.workers(true) <= MAX_WORKERS));
    }

    #[test]
    fn a_worker_that_received_a_call_long_ago_is_missed() {
        let unattended = Unattended::default();
        unattended.begin(Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        assert!(unattended.elapsed() >= Duration::from_millis(20));
        unattended.begin(Instant::now() + Duration::from_secs(60));
        assert_eq!(unattended.elapsed(), Duration::ZERO);
    }
}
