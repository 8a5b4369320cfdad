//! Where earlier guarded runs could write. Nothing there is the operator's for certain, whatever this policy withholds.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashSet;

use super::glob::Glob;
use super::index::Index;

/// A place that a run may write: a real path with everything below it, or the paths that a pattern names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WritablePlace {
    /// The path, or what stands before the first wildcard of the pattern.
    pub literal: Vec<u8>,
    /// The pattern from its first wildcard on; empty for a path.
    pub pattern: String,
}

impl From<Vec<u8>> for WritablePlace {
    fn from(literal: Vec<u8>) -> WritablePlace {
        WritablePlace { literal, pattern: String::new() }
    }
}

impl WritablePlace {
    /// Returns whether the place contains a path.
    pub fn covers(&self, path: &[u8]) -> bool {
        match self.pattern.is_empty() {
            true => path == self.literal || above(path).any(|directory| directory == self.literal),
            false => self.glob().covers(path),
        }
    }

    /// Returns the path that stands for itself and everything below it, or the directory before the first wildcard.
    pub fn top(&self) -> Vec<u8> {
        if self.pattern.is_empty() {
            return self.literal.clone();
        }
        match self.literal.iter().rposition(|byte| *byte == b'/') {
            Some(end) if end > 0 => self.literal[..end].to_vec(),
            _ => b"/".to_vec(),
        }
    }

    fn glob(&self) -> Glob {
        Glob::new(&self.literal, &self.pattern, true)
    }
}

/// The places that earlier runs, maybe under other policies, could write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierRuns {
    /// Real paths: each stands for itself and everything below it, and none lies below another. All policies of a host
    /// share them.
    places: Arc<HashSet<Vec<u8>>>,
    patterns: Arc<Patterns>,
    /// Directories that do not count, each with everything below it.
    except: HashSet<Vec<u8>>,
}

/// Patterns for what runs could write.
#[derive(Debug, Default)]
struct Patterns {
    written: BTreeSet<WritablePlace>,
    globs: Vec<Glob>,
    index: Index,
}

impl PartialEq for Patterns {
    fn eq(&self, other: &Patterns) -> bool {
        self.written == other.written
    }
}

impl Eq for Patterns {}

impl Patterns {
    fn new(written: BTreeSet<WritablePlace>) -> Patterns {
        let globs: Vec<Glob> = written.iter().map(WritablePlace::glob).collect();
        Patterns { index: Index::new(&globs), globs, written }
    }

    fn covers(&self, path: &[u8]) -> bool {
        let mut is_covered = false;
        if !self.globs.is_empty() {
            self.index.candidates(path, |i| {
                is_covered = self.globs[i].covers(path);
                !is_covered
            });
        }
        is_covered
    }
}

impl EarlierRuns {
    /// Returns the runs that could write these places.
    pub fn new(places: impl IntoIterator<Item = impl Into<WritablePlace>>) -> EarlierRuns {
        let mut runs = EarlierRuns::default();
        runs.extend(places);
        runs
    }

    /// Returns these runs, as if none of them could write in these directories.
    #[must_use]
    pub fn outside_of(self, directories: &[&str]) -> EarlierRuns {
        let except = directories.iter().map(|directory| directory.as_bytes().to_vec()).collect();
        EarlierRuns { except, ..self }
    }

    /// Adds places.
    pub fn extend(&mut self, places: impl IntoIterator<Item = impl Into<WritablePlace>>) {
        let (mut all, mut patterns) = (self.places.as_ref().clone(), self.patterns.written.clone());
        for place in places.into_iter().map(Into::into) {
            if place.pattern.is_empty() {
                all.insert(place.literal);
            } else {
                patterns.insert(place);
            }
        }
        let outermost = all.iter().filter(|place| !above(place).any(|directory| all.contains(directory)));
        self.places = Arc::new(outermost.cloned().collect());
        if patterns.len() > self.patterns.written.len() {
            self.patterns = Arc::new(Patterns::new(patterns));
        }
    }

    /// Returns the places, without regard to the directories that do not count.
    pub fn places(&self) -> impl Iterator<Item = WritablePlace> {
        let paths = self.places.iter().cloned().map(WritablePlace::from);
        paths.chain(self.patterns.written.iter().cloned())
    }

    /// Returns whether these runs include others: whatever the others could write, these could write as well.
    pub fn include(&self, others: &EarlierRuns) -> bool {
        others.places.iter().all(|place| self.may_write(place) || is_in(&self.except, place))
            && others.patterns.written.is_subset(&self.patterns.written)
    }

    /// Returns whether this is a copy of the same runs. False does not mean that they differ.
    pub fn is_same(&self, other: &EarlierRuns) -> bool {
        Arc::ptr_eq(&self.places, &other.places)
            && Arc::ptr_eq(&self.patterns, &other.patterns)
            && self.except == other.except
    }

    /// Returns whether one of the runs could write a path.
    pub fn may_write(&self, path: &[u8]) -> bool {
        (is_in(&self.places, path) || self.patterns.covers(path)) && !is_in(&self.except, path)
    }

    /// Returns whether a run could write a directory itself, or a place that lies below it.
    pub(crate) fn may_write_in(&self, directory: &[u8]) -> bool {
        let is_inside = |place: &[u8]| above(place).any(|around| around == directory);
        let mut patterns = self.patterns.globs.iter().map(Glob::literal);
        self.may_write(directory)
            || self.places.iter().any(|place| is_inside(place))
            || patterns.any(is_inside)
    }

    /// Returns whether no run could write anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.patterns.globs.is_empty()
    }
}

/// Returns whether a set has a path or a directory above it.
fn is_in(set: &HashSet<Vec<u8>>, path: &[u8]) -> bool {
    !set.is_empty() && (set.contains(path) || above(path).any(|directory| set.contains(directory)))
}

/// Returns the directories above an absolute path.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes
        .map(|(at, _)| path.get(..at.max(1)).unwrap_or_default())
        .filter(move |directory| *directory != path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_stands_for_what_is_below_it() {
        let runs = EarlierRuns::new([b"/home/u/work".to_vec(), b"/tmp".to_vec()]);
        for path in ["/home/u/work", "/home/u/work/a/b", "/tmp/x"] {
            assert!(runs.may_write(path.as_bytes()), "{path}");
        }
        for path in ["/home/u", "/home/u/workshop", "/", "/tmpx", "home/u/work", ""] {
            assert!(!runs.may_write(path.as_bytes()), "{path}");
        }
        assert!(EarlierRuns::new([b"/".to_vec()]).may_write(b"/usr/bin/env"));
        let unknown = EarlierRuns::new([b"/".to_vec()]).outside_of(&["/usr", "/lib"]);
        assert!(unknown.may_write(b"/opt/tool") && unknown.may_write(b"/library/x"));
        assert!(!unknown.may_write(b"/usr/bin/env") && !unknown.may_write(b"/usr"));
        assert!(!EarlierRuns::default().may_write(b"/usr/bin/env"));
        for (directory, expected) in
            [("/home", true), ("/home/u/work/a", true), ("/home/u/w", false), ("/var", false)]
        {
            assert_eq!(runs.may_write_in(directory.as_bytes()), expected, "{directory}");
        }
    }

    #[test]
    fn runs_that_know_less_do_not_include_others() {
        let named = WritablePlace { literal: b"/srv/".into(), pattern: "*/x".to_owned() };
        let (one, mut other) =
            (EarlierRuns::new([b"/home/u".to_vec()]), EarlierRuns::new([b"/home/u/a".to_vec()]));
        assert!(one.include(&other) && !other.include(&one) && one.is_same(&one.clone()));
        other.extend([named]);
        assert!(!one.include(&other));
        let mut both = one.clone();
        both.extend(other.places());
        assert!(both.include(&one) && both.include(&other) && !both.is_same(&one));
        let root = EarlierRuns::new([b"/usr/bin".to_vec()]);
        assert!(!one.include(&root) && one.outside_of(&["/usr"]).include(&root), "it does not count");
    }

    #[test]
    fn a_pattern_stands_for_what_it_names() {
        let named = |literal: &str, pattern: &str| WritablePlace {
            literal: literal.into(),
            pattern: pattern.to_owned(),
        };
        let mut runs = EarlierRuns::new([named("/home/u/cod", "*/**"), named("/", "**/node_modules/**")]);
        for (path, expected) in [
            ("/home/u/code", true),
            ("/home/u/coda/b/x", true),
            ("/home/u/co/x", false),
            ("/home/u/x/node_modules/a", true),
            ("/home/u", false),
        ] {
            assert_eq!(runs.may_write(path.as_bytes()), expected, "{path}");
        }
        assert!(runs.may_write_in(b"/home/u") && !runs.may_write_in(b"/home/u/bin"));
        let before = runs.clone();
        runs.extend([named("/home/u/cod", "*/**")]);
        assert_eq!(runs, before);
        runs.extend([named("/home/u/x", "?")]);
        assert_ne!(runs, before);
        assert!(runs.may_write(b"/home/u/xy") && !runs.may_write(b"/home/u/xyz"));
        assert_eq!(named("/home/u/cod", "*/**").top(), b"/home/u");
        assert_eq!(named("/a/", "**").top(), b"/a");
        assert_eq!(WritablePlace::from(b"/a/b".to_vec()).top(), b"/a/b");
    }

    #[test]
    fn runs_are_equal_if_they_could_write_the_same() {
        let runs = |places: &[&str]| EarlierRuns::new(places.iter().map(|place| place.as_bytes().to_vec()));
        assert_eq!(
            runs(&["/home/u/work", "/home/u/work/a", "/home/u/work-a"]),
            runs(&["/home/u/work-a", "/home/u/work"])
        );
        assert_eq!(runs(&["/", "/tmp"]), runs(&["/"]));
        assert_ne!(runs(&["/tmp", "/home/u"]), runs(&["/tmp"]));
        let mut some = runs(&["/tmp/a", "/home/u"]);
        some.extend([b"/tmp".to_vec(), b"/home/u/x".to_vec()]);
        assert_eq!(some, runs(&["/tmp", "/home/u"]));
    }
}
