//! Patterns for single paths and whole directories, each with the bits to grant.
//!
//! Two such patterns are either nested or disjoint. The file map uses the longest match alone, so each pattern must
//! also grant the bits of the patterns that contain it.

use std::collections::{BTreeMap, BTreeSet};

use super::zone::around;
use crate::paths::exec_roots::is_below;
use crate::{Grant, Permission, Rights};

/// A path, or a directory with everything below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Pattern {
    pub(super) path: Vec<u8>,
    pub(super) is_deep: bool,
}

impl Pattern {
    pub(super) fn exact(path: impl Into<Vec<u8>>) -> Pattern {
        Pattern { path: path.into(), is_deep: false }
    }

    pub(super) fn deep(path: impl Into<Vec<u8>>) -> Pattern {
        Pattern { path: path.into(), is_deep: true }
    }

    /// The pattern as written in guard.json; `None` if no pattern matches exactly this. The longest match counts, and
    /// `beaten` is the length of the longest pattern that covers every name in this directory. A pattern for a path
    /// that is not longer than `beaten` gets a trailing `/**`, with which it is longer and still matches the same file.
    pub(super) fn text(&self, home: &[u8], beaten: usize) -> Option<String> {
        let text = std::str::from_utf8(&self.path).ok()?;
        if text.contains(['*', '?', '\0']) {
            return None;
        }
        // A slash at the end stands for all that is below.
        if !self.is_deep && text.ends_with('/') {
            return None;
        }
        let home = std::str::from_utf8(home).ok().filter(|home| home.len() > 1);
        let below = home
            .and_then(|home| text.strip_prefix(home))
            .filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let text = below.map_or(text.to_owned(), |rest| format!("~{rest}"));
        let is_beaten = self.path.len() > 1 && self.path.len() <= beaten;
        Some(if self.is_deep || is_beaten { format!("{text}/**") } else { text })
    }
}

/// The bits of a rule that a proposal grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) r: bool,
    pub(super) w: bool,
    pub(super) x: bool,
}

impl Bits {
    pub(super) const R: Bits = Bits { r: true, w: false, x: false };
    pub(super) const W: Bits = Bits { r: true, w: true, x: false };
    pub(super) const X: Bits = Bits { r: true, w: false, x: true };

    #[must_use]
    pub(super) fn join(self, other: Bits) -> Bits {
        Bits { r: self.r || other.r, w: self.w || other.w, x: self.x || other.x }
    }

    pub(super) fn permission(self) -> Permission {
        let grant = |is| if is { Grant::Yes } else { Grant::No };
        Permission(Rights { r: grant(self.r), w: grant(self.w), x: grant(self.x) })
    }
}

/// The patterns to grant, with their bits.
#[derive(Clone, Debug, Default)]
pub(super) struct WantedRights(BTreeMap<Pattern, Bits>);

impl WantedRights {
    pub(super) fn add(&mut self, pattern: Pattern, bits: Bits) {
        let own = self.0.entry(pattern).or_default();
        *own = own.join(bits);
    }

    pub(super) fn patterns_mut(&mut self) -> impl Iterator<Item = (&Pattern, &mut Bits)> {
        self.0.iter_mut()
    }

    /// Gives each writable directory every bit that is granted below it within the same kind of zone. Otherwise
    /// renaming a file in such a directory could gain it rights.
    pub(super) fn level<K: PartialEq>(&mut self, kind: impl Fn(&[u8]) -> K) {
        let inner: Vec<(Pattern, Bits)> =
            self.0.iter().map(|(pattern, bits)| (pattern.clone(), *bits)).collect();
        for (pattern, bits) in inner {
            for holder in holding(&pattern).skip(1) {
                if let Some(outer) = self.0.get_mut(&holder).filter(|outer| outer.w)
                    && kind(&pattern.path) == kind(&holder.path)
                {
                    *outer = outer.join(bits);
                }
            }
        }
    }

    /// Whether a whole directory that contains `home` is wanted.
    pub(super) fn is_around(&self, home: &[u8]) -> bool {
        holding(&Pattern::exact(home)).any(|holder| holder.is_deep && self.0.contains_key(&holder))
    }

    /// Adds to each pattern the bits of all patterns that contain it, then drops each pattern that grants no more than
    /// the innermost one around it. A pattern around `home` grants nothing inside `home`.
    pub(super) fn settled(&self, home: &[u8]) -> BTreeMap<Pattern, Bits> {
        let counts = |pattern: &Pattern, holder: &Pattern| {
            holder == pattern
                || pattern.path.len() <= home.len()
                || !is_below(&pattern.path, home)
                || is_below(&holder.path, home)
        };
        let joined = |pattern: &Pattern| {
            let holders = holding(pattern).filter(|holder| counts(pattern, holder));
            holders.fold(Bits::default(), |bits, holder| {
                bits.join(self.0.get(&holder).copied().unwrap_or_default())
            })
        };
        let all: BTreeMap<Pattern, Bits> =
            self.0.keys().map(|pattern| (pattern.clone(), joined(pattern))).collect();
        let grants_more = |(pattern, bits): &(&Pattern, &Bits)| {
            let mut holders = holding(pattern).filter(|holder| holder != *pattern && counts(pattern, holder));
            holders.find_map(|holder| all.get(&holder)) != Some(*bits)
        };
        all.iter().filter(grants_more).map(|(pattern, bits)| (pattern.clone(), *bits)).collect()
    }
}

/// The patterns that contain this one: itself first, then outwards.
fn holding(pattern: &Pattern) -> impl Iterator<Item = Pattern> {
    let path = pattern.path.clone();
    let own = (!pattern.is_deep).then(|| pattern.clone());
    let ends: Vec<usize> = (1..path.len()).rev().filter(|at| path[*at] == b'/').collect();
    let inner = std::iter::once(path.len()).chain(ends);
    own.into_iter().chain(inner.map(move |end| Pattern::deep(&path[..end])))
}

/// A directory with at least this many used names is granted as a whole.
const MANY_FILES: usize = 4;
/// Like [`MANY_FILES`], but also counts subdirectories that contain used names.
const MANY_BELOW: usize = 12;

/// Replaces the names of a directory by the whole directory if there are many of them. Only directories for which
/// `may_be_whole` is true are replaced.
pub(super) fn collapsed(
    patterns: BTreeSet<Pattern>,
    may_be_whole: impl Fn(&[u8]) -> bool,
) -> BTreeSet<Pattern> {
    // The deepest first: a directory taken as a whole counts as one name in its parent.
    let mut directories: BTreeMap<(std::cmp::Reverse<usize>, Vec<u8>), Names> = BTreeMap::new();
    let depth = |path: &[u8]| std::cmp::Reverse(path.iter().filter(|byte| **byte == b'/').count());
    for pattern in &patterns {
        let directory = around(&pattern.path).to_vec();
        directories.entry((depth(&directory), directory)).or_default().whole.insert(pattern.path.clone());
    }
    let mut done = patterns;
    while let Some(((_, directory), names)) = directories.pop_first() {
        let is_many =
            names.whole.len() >= MANY_FILES || names.whole.len() + names.touched.len() >= MANY_BELOW;
        let outer = around(&directory).to_vec();
        if is_many && directory.len() > 1 && may_be_whole(&directory) {
            done.insert(Pattern::deep(directory.clone()));
            directories.entry((depth(&outer), outer)).or_default().whole.insert(directory);
        } else if directory.len() > 1 {
            directories.entry((depth(&outer), outer)).or_default().touched.insert(directory);
        }
    }
    // Patterns inside a whole directory are redundant.
    let is_outermost =
        |pattern: &&Pattern| !holding(pattern).any(|holder| holder != **pattern && done.contains(&holder));
    done.iter().filter(is_outermost).cloned().collect()
}

/// The used names of a directory.
#[derive(Debug, Default)]
struct Names {
    /// The names that are used by themselves, or as whole directories.
    whole: BTreeSet<Vec<u8>>,
    /// Subdirectories that contain used names.
    touched: BTreeSet<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<Pattern> {
        paths.iter().map(|path| Pattern::exact(path.as_bytes())).collect()
    }

    fn texts(patterns: impl IntoIterator<Item = Pattern>) -> Vec<String> {
        patterns.into_iter().filter_map(|pattern| pattern.text(b"/home/u", 0)).collect()
    }

    #[test]
    fn many_files_in_a_directory_become_a_pattern_for_it() {
        let few = set(&["/a/b/c1x", "/a/b/c2x", "/a/b/c3x"]);
        assert_eq!(collapsed(few.clone(), |_| true), few);
        let many = set(&["/a/b/c1", "/a/b/c2", "/a/b/c3", "/a/b/c4", "/a/x/file"]);
        assert_eq!(texts(collapsed(many.clone(), |_| true)), ["/a/b/**", "/a/x/file"]);
        assert_eq!(collapsed(many.clone(), |_| false), many);
    }

    #[test]
    fn a_rule_grants_what_those_around_it_grant() {
        let mut rights = WantedRights::default();
        rights.add(Pattern::deep("/a"), Bits::R);
        rights.add(Pattern::exact("/a/file"), Bits::W);
        rights.add(Pattern::exact("/a/other"), Bits::R);
        rights.add(Pattern::deep("/a/bin"), Bits::X);
        rights.add(Pattern::exact("/a/bin/tool"), Bits::W);
        let settled: Vec<String> = rights
            .settled(b"/home/u")
            .into_iter()
            .map(|(pattern, bits)| format!("{} {}", pattern.text(b"/h", 0).unwrap(), bits.permission()))
            .collect();
        assert_eq!(settled, ["/a/** r--", "/a/bin/** r-x", "/a/bin/tool rwx", "/a/file rw-"]);
    }

    #[test]
    fn a_short_path_gets_a_longer_pattern_than_its_directory() {
        let text = |path: &str, beaten| Pattern::exact(path.as_bytes()).text(b"/home/u", beaten).unwrap();
        assert_eq!(
            [text("/a/b/c", 7), text("/a/b/cde", 7), text("/a/b/c", 0)],
            ["/a/b/c/**", "/a/b/cde", "/a/b/c"]
        );
        assert_eq!(
            [text("/home/u", 0), text("/home/u/.x", 0), text("/home/us", 0)],
            ["~", "~/.x", "/home/us"]
        );
        assert_eq!(Pattern::exact(&b"/a/*"[..]).text(b"/home/u", 0), None);
    }
}
