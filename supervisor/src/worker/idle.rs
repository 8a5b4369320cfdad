//! Workers that sleep until one is needed again.

use parking_lot::{Condvar, Mutex};

/// More than so many do not sleep, but end.
const MAX_IDLE: usize = 4;

/// Workers that sleep.
#[derive(Default)]
pub struct IdleWorkers {
    /// How many sleep, and how many of them are to get up.
    count: Mutex<(usize, usize)>,
    called: Condvar,
}

impl IdleWorkers {
    /// Sleeps until called. False where enough sleep already.
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

    /// Calls one. False when none sleeps.
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
