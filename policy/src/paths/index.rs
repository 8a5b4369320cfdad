//! Finds which of many patterns could match a path, by the literal parts of both.
//!
//! Why: docs/decisions.md, "Patterns are found by a hash of a part that every matching path must have"

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::glob::Glob;

/// Patterns, keyed by something that every matching path has: the whole path if there is no wildcard, else a component
/// after a wildcard, else the directory before the first wildcard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    table: HashMap<u64, Vec<u32>, BuildHasherDefault<Prehashed>>,
}

impl Index {
    /// Builds an index in which each pattern is known by its position.
    pub(crate) fn new<'g>(globs: impl IntoIterator<Item = &'g Glob>) -> Index {
        let globs: Vec<(&Glob, Vec<u64>)> = globs.into_iter().map(|glob| (glob, components(glob))).collect();
        // Of several components, the one that the fewest patterns share is the most selective.
        let mut shared: HashMap<u64, usize, BuildHasherDefault<Prehashed>> = HashMap::default();
        for component in globs.iter().flat_map(|(_, components)| components) {
            *shared.entry(*component).or_default() += 1;
        }
        let mut index = Index::default();
        for (i, (glob, components)) in globs.iter().enumerate() {
            let rarest = components.iter().copied().min_by_key(|component| shared[component]);
            let key = rarest.unwrap_or_else(|| literal_key(glob));
            index.table.entry(key).or_default().push(i as u32);
        }
        index
    }

    /// Calls `look` with the position of every pattern that could match the path, or the path with a slash
    /// added, until it returns false. A position may come twice.
    pub(crate) fn candidates(&self, path: &[u8], mut look: impl FnMut(usize) -> bool) {
        let mut look_at = |key: u64| {
            let candidates = self.table.get(&key).map_or(&[][..], Vec::as_slice);
            candidates.iter().all(|i| look(*i as usize))
        };
        let mut directory = START;
        if !look_at(directory) {
            return;
        }
        let mut rest = path;
        while let Some(slash) = rest.iter().position(|b| *b == b'/') {
            let component = hash(&rest[..slash]);
            directory = below(directory, component);
            if !look_at(directory) || slash > 0 && !look_at(component ^ COMPONENT) {
                return;
            }
            rest = &rest[slash + 1..];
        }
        let last = below(directory, hash(rest));
        if look_at(last ^ WHOLE) && !rest.is_empty() && look_at(hash(rest) ^ COMPONENT) {
            look_at(last);
        }
    }
}

/// Returns the key of a pattern without literal components after its wildcard.
fn literal_key(glob: &Glob) -> u64 {
    let mut components = glob.literal().rsplitn(2, |b| *b == b'/');
    let last = components.next().unwrap_or_default();
    let directory = components
        .flat_map(|leading| leading.split(|b| *b == b'/'))
        .fold(START, |directory, component| below(directory, hash(component)));
    if glob.is_literal() { below(directory, hash(last)) ^ WHOLE } else { directory }
}

/// Returns the keys of the components without wildcards after a pattern's first wildcard.
fn components(glob: &Glob) -> Vec<u64> {
    glob.literal_components().map(|component| hash(component.as_bytes()) ^ COMPONENT).collect()
}

const START: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER: u64 = 0x2545_f491_4f6c_dd1d;
/// These constants distinguish the keys of components and of whole paths from those of directories.
const COMPONENT: u64 = 0x5555_5555_5555_5555;
const WHOLE: u64 = 0x3333_3333_3333_3333;

/// Hashes without a secret: the keys of the table come from the policy. A collision only adds a candidate,
/// and the glob itself decides.
fn hash(bytes: &[u8]) -> u64 {
    let mut state = bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        state = mix(state, u64::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    words.remainder().iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)) ^ mix(state, START)
}

/// Returns the hash of an entry of a directory.
fn below(directory: u64, component: u64) -> u64 {
    mix(directory, component)
}

fn mix(state: u64, word: u64) -> u64 {
    let state = (state.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
    state ^ (state >> 29)
}

/// A hasher for keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct Prehashed(u64);

impl Hasher for Prehashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = mix(self.0, hash(bytes));
    }

    fn write_u64(&mut self, key: u64) {
        // The table takes the slot from the lowest bits and the tag from the uppermost, which the multiplication mixes.
        self.0 = key.wrapping_mul(MULTIPLIER);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern() -> impl Strategy<Value = String> {
        "/?((a|bb|é|\\*|\\*\\*|\\?|b\\*|\\*a|a\\?|\\.x|)/?){0,6}"
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// What a linear scan finds, the index finds.
        #[test]
        fn the_index_loses_no_match(
            patterns in prop::collection::vec(pattern(), 1..12), path in "(/(a|bb|é|c|ba|\\.x|\n|)){1,5}/?",
        ) {
            let globs: Vec<_> = patterns.iter().map(|p| Glob::new(b"", p, true)).collect();
            let mut found = vec![false; globs.len()];
            Index::new(&globs).candidates(path.as_bytes(), |i| { found[i] = true; true });
            for (glob, found) in globs.iter().zip(found) {
                // A file pattern never ends in a slash: `dir/` becomes `dir/**`.
                let is_open = glob.is_literal() && glob.literal().ends_with(b"/");
                let is_met = glob.matches(path.as_bytes()) || !is_open && glob.covers(path.as_bytes());
                prop_assert!(found || !is_met, "{}", glob.text());
            }
        }
    }
}
