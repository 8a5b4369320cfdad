//! Idle workers, asleep until they are needed again.

use parking_lot::{Condvar, Mutex};

/// The maximum number of sleeping workers. Any more end instead.
const MAX_IDLE: usize = 4;

/// The sleeping workers.
#[derive(Default)]
pub struct IdleWorkers {
    /// How many sleep, and whether one of them is to wake up.
    count: Mutex<(usize, bool)>,
    called: Condvar,
}

impl IdleWorkers {
    /// Sleeps until called. Returns false if enough workers sleep already.
    pub fn sleep(&self) -> bool {
        let mut count = self.count.lock();
        if count.0 >= MAX_IDLE {
            return false;
        }
        count.0 += 1;
        while !count.1 {
            self.called.wait(&mut count);
        }
        *count = (count.0 - 1, false);
        true
    }

    /// Wakes one worker, unless one is about to wake up: that one will wait for the next call, or find that another
    /// does. Returns false if none sleeps.
    pub fn call(&self) -> bool {
        let mut count = self.count.lock();
        if !count.1 && count.0 > 0 {
            count.1 = true;
            self.called.notify_one();
        }
        count.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_worker_that_wakes_up_is_enough() {
        let idle = IdleWorkers::default();
        assert!(!idle.call(), "none sleeps");
        *idle.count.lock() = (2, false);
        assert!(idle.call() && idle.call());
        assert_eq!(*idle.count.lock(), (2, true));
    }
}
