//! How much of the log of denials a session may still fill.

use std::time::{Duration, Instant};

/// The time in which a used-up allowance refills, so that a session of weeks still has lines at its end.
const REFILL_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A session's allowance of bytes.
pub struct Allowance {
    most: u64,
    left: u64,
    /// When `left` last grew.
    since: Instant,
}

impl Allowance {
    /// Creates a full allowance.
    pub fn new(most: u64, now: Instant) -> Allowance {
        Allowance { most, left: most, since: now }
    }

    /// Takes the bytes of a line if enough are left. Returns whether it did.
    pub fn take(&mut self, bytes: usize, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.since).as_millis();
        let grown = u128::from(self.most) * passed / REFILL_TIME.as_millis();
        if grown > 0 {
            self.left = self.most.min(self.left.saturating_add(u64::try_from(grown).unwrap_or(u64::MAX)));
            self.since = now;
        }
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_is_used_up_and_grows_slowly() {
        let start = Instant::now();
        let mut allowance = Allowance::new(3000, start);
        assert!(allowance.take(2000, start) && !allowance.take(1001, start) && allowance.take(1000, start));
        assert!(!allowance.take(1, start));
        let day = |number: u32| start + REFILL_TIME / 30 * number;
        assert!(!allowance.take(101, day(1)) && allowance.take(100, day(1)));
        assert!(!allowance.take(1, day(1)));
        // However long nothing happens, the allowance is never more than full.
        assert!(allowance.take(3000, day(100)) && !allowance.take(1, day(100)));
        assert!(Allowance::new(u64::MAX, start).take(usize::MAX, day(100)));
    }
}
