//! Parts of what the tree may make the supervisor use at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A part of what may be in use at once, until dropped.
#[derive(Debug)]
pub struct Share {
    used: &'static AtomicUsize,
    amount: usize,
}

impl Share {
    /// Acquires `amount` of `used`. Returns `None` if more than `most` would then be in use.
    pub fn acquire(used: &'static AtomicUsize, amount: usize, most: usize) -> Option<Share> {
        let before = used.fetch_add(amount, Ordering::Relaxed);
        let share = Share { used, amount };
        (before + amount <= most).then_some(share)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.used.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

/// How many descriptors the supervisor may have.
pub fn max_descriptors() -> usize {
    static MAX: OnceLock<usize> = OnceLock::new();
    *MAX.get_or_init(|| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
    })
}
