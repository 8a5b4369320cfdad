//! Idle workers, asleep until they are needed again.

use parking_lot::{Condvar, Mutex};

/// The maximum number of sleeping workers. Any more end instead.
const MAX_IDLE: usize = 4;

/// The sleeping workers.
#[derive(Default)]
pub struct IdleWorkers {
    /// How many sleep, and how many of them are to wake up.
    count: Mutex<(usize, usize)>,
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
        while count.1 == 0 {
            self.called.wait(&mut count);
        }
        *count = (count.0 - 1, count.1 - 1);
        true
    }

    /// Wakes one worker. Returns false if none sleeps.
    pub fn call(&self) -> bool {
        let mut count = self.count.lock();
        let sleeps = count.0 > count.1;
        if sleeps {
            count.1 += 1;
            self.called.notify_one();
        }
        sleeps
    }
}
