//! Finds which of many patterns could match a path, by their literal directories.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::glob::Glob;

/// Patterns by the directory before their first wildcard; one without wildcards by the whole path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    by_directory: HashMap<u64, Vec<u32>, BuildHasherDefault<Prehashed>>,
}

impl Index {
    /// The patterns are known by their position.
    pub(crate) fn new<'g>(globs: impl IntoIterator<Item = &'g Glob>) -> Index {
        let mut index = Index::default();
        for (i, glob) in globs.into_iter().enumerate() {
            let literal = glob.literal();
            let dir = literal.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
            let end = if glob.is_literal() { literal.len() } else { dir };
            let key = literal[..end].iter().fold(HASH_START, |h, b| hash(h, *b));
            index.by_directory.entry(key).or_default().push(i as u32);
        }
        index
    }

    /// Calls `look` with the position of every pattern that could match the path, or the path with
    /// a slash added, until it returns false.
    pub(crate) fn candidates(&self, path: &[u8], mut look: impl FnMut(usize) -> bool) {
        let mut look_at = |key: u64| {
            let candidates = self.by_directory.get(&key).map_or(&[][..], Vec::as_slice);
            candidates.iter().all(|i| look(*i as usize))
        };
        let mut key = HASH_START;
        if !look_at(key) {
            return;
        }
        for byte in path {
            key = hash(key, *byte);
            if *byte == b'/' && !look_at(key) {
                return;
            }
        }
        if !path.ends_with(b"/") && look_at(key) {
            look_at(hash(key, b'/'));
        }
    }
}

const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a. A collision only adds a candidate: the glob itself decides.
fn hash(state: u64, byte: u8) -> u64 {
    (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// Keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct Prehashed(u64);

impl Hasher for Prehashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |h, b| hash(h, *b));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
