//! Finds which of many patterns could match a path, by their literal directories.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::glob::Glob;

/// Patterns by what a path must have to match them: a component that they name behind a wildcard,
/// else the directory before their first wildcard. One without wildcards is known by the whole path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    by_directory: Table,
    by_component: Table,
}

/// Positions of patterns by a hash.
type Table = HashMap<u64, Vec<u32>, BuildHasherDefault<Prehashed>>;

impl Index {
    /// The patterns are known by their position.
    pub(crate) fn new<'g>(globs: impl IntoIterator<Item = &'g Glob>) -> Index {
        let mut index = Index::default();
        for (i, glob) in globs.into_iter().enumerate() {
            let literal = glob.literal();
            let dir = literal.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
            let end = if glob.is_literal() { literal.len() } else { dir };
            let (table, key) = match glob.literal_component() {
                Some(component) => (&mut index.by_component, hash_of(component.as_bytes())),
                None => (&mut index.by_directory, hash_of(&literal[..end])),
            };
            table.entry(key).or_default().push(i as u32);
        }
        index
    }

    /// Calls `look` with the position of every pattern that could match the path, or the path with
    /// a slash added, until it returns false.
    pub(crate) fn candidates(&self, path: &[u8], mut look: impl FnMut(usize) -> bool) {
        let mut look_at = |table: &Table, key: u64| {
            let candidates = table.get(&key).map_or(&[][..], Vec::as_slice);
            candidates.iter().all(|i| look(*i as usize))
        };
        let (mut key, mut component) = (HASH_START, HASH_START);
        if !look_at(&self.by_directory, key) {
            return;
        }
        let has_components = !self.by_component.is_empty();
        for byte in path {
            key = hash(key, *byte);
            if *byte != b'/' {
                component = hash(component, *byte);
            } else if !look_at(&self.by_directory, key)
                || has_components && !look_at(&self.by_component, component)
            {
                return;
            } else {
                component = HASH_START;
            }
        }
        if has_components && !look_at(&self.by_component, component) {
            return;
        }
        if !path.ends_with(b"/") && look_at(&self.by_directory, key) {
            look_at(&self.by_directory, hash(key, b'/'));
        }
    }
}

const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a. A collision only adds a candidate: the glob itself decides.
fn hash(state: u64, byte: u8) -> u64 {
    (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

fn hash_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(HASH_START, |state, byte| hash(state, *byte))
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
