//! Workers that sleep until one is needed again.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// More than so many do not sleep, but end.
const MOST: usize = 4;

/// Workers that sleep.
#[derive(Default)]
pub struct Parked {
    /// How many sleep, and how many of them are to get up.
    count: Mutex<(usize, usize)>,
    called: Condvar,
}

impl Parked {
    fn count(&self) -> MutexGuard<'_, (usize, usize)> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until called. False where enough sleep already.
    pub fn sleep(&self) -> bool {
        let mut count = self.count();
        if count.0 >= MOST {
            return false;
        }
        count.0 += 1;
        while count.1 == 0 {
            count = self.called.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
        *count = (count.0 - 1, count.1 - 1);
        true
    }

    /// Calls one. False when none sleeps.
    pub fn call(&self) -> bool {
        let mut count = self.count();
        let sleeps = count.0 > count.1;
        if sleeps {
            count.1 += 1;
            self.called.notify_one();
        }
        sleeps
    }
}
