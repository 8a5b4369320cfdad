//! What one call has found of git's `HEAD` in the directories around an entry.

use std::sync::atomic::{AtomicU64, Ordering};

/// Which directories around an entry have a `HEAD`, by how many levels they are above its directory. A call asks several
/// questions about an entry, and nearly every directory lacks this file, so that it is not a git directory.
#[derive(Debug, Default)]
pub struct HeadCache {
    looked: AtomicU64,
    found: AtomicU64,
}

impl HeadCache {
    /// Returns whether the directory `levels` above has a `HEAD`. Calls `look` unless this is known.
    pub fn look_once(&self, levels: usize, look: impl FnOnce() -> bool) -> bool {
        let Some(bit) = u32::try_from(levels).ok().and_then(|levels| 1_u64.checked_shl(levels)) else {
            return look();
        };
        if self.looked.load(Ordering::Relaxed) & bit == 0 {
            self.found.fetch_or(if look() { bit } else { 0 }, Ordering::Relaxed);
            self.looked.fetch_or(bit, Ordering::Relaxed);
        }
        self.found.load(Ordering::Relaxed) & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::HeadCache;

    #[test]
    fn each_directory_is_looked_at_once() {
        let cache = HeadCache::default();
        for (levels, there) in [(0, false), (1, true), (63, true), (64, false)] {
            assert_eq!(cache.look_once(levels, || there), there);
        }
        for (levels, there) in [(0, false), (1, true), (63, true)] {
            assert_eq!(cache.look_once(levels, || unreachable!()), there);
        }
        assert!(cache.look_once(64, || true), "so far up nothing is remembered");
    }
}
