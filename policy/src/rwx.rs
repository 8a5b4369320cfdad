//! The compiled file map: which path grants what, and who said so.

use crate::glob::{Below, Glob};
use crate::index::Index;
use crate::{Because, Grant, Rights, Source, normalize};

/// Who decided, as it will be told. Made once, so that an allowed request allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    pub(crate) source: Source,
    pub(crate) path: String,
    pub(crate) rule: String,
    pub(crate) text: String,
}

impl Reason {
    pub(crate) fn because(&self) -> Because<'_> {
        Because::new(self.source, self.path.as_str(), self.rule.as_str(), self.text.as_str())
    }
}

/// One form of one pattern.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) glob: Glob,
    pub(crate) rights: Rights,
    pub(crate) reason: Reason,
}

/// Entries, longest pattern first, with an index by literal directory once there are many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    all: Vec<Entry>,
    index: Option<Index>,
}

/// Up to here a scan is faster than the index.
const SCANNED: usize = 6;

impl Entries {
    pub(crate) fn new(mut all: Vec<Entry>) -> Entries {
        all.sort_by_key(|e| std::cmp::Reverse(e.glob.length()));
        let index = (all.len() > SCANNED).then(|| Index::new(all.iter().map(|e| &e.glob)));
        Entries { all, index }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.all.iter()
    }

    /// Calls `look` with every entry that could match, until it returns false. Without an index
    /// they come longest first; with one, in the order of their directories.
    fn candidates<'m>(&'m self, path: &[u8], mut look: impl FnMut(&'m Entry) -> bool) {
        match &self.index {
            Some(index) => index.candidates(path, |i| look(&self.all[i])),
            None => drop(self.all.iter().all(look)),
        }
    }

    /// Any matching entry.
    fn first<'m>(&'m self, path: &[u8]) -> Option<&'m Entry> {
        let mut first = None;
        self.candidates(path, |e| {
            first = e.glob.covers(path).then_some(e);
            first.is_none()
        });
        first
    }

    /// What the longest matching pattern grants; where several are equally long, what all grant.
    fn longest<'m>(&'m self, path: &[u8]) -> Option<Found<'m>> {
        let mut best: Option<(usize, Found<'m>)> = None;
        let scanned = self.index.is_none();
        self.candidates(path, |e| {
            let length = e.glob.length();
            match &mut best {
                Some((longest, _)) if length < *longest => return !scanned,
                _ if !e.glob.covers(path) => {}
                Some((longest, found)) if length == *longest => found.meet(e),
                _ => best = Some((length, Found::new(e.rights, &e.reason))),
            }
            true
        });
        best.map(|(_, found)| found)
    }

    /// Every bit that some matching entry grants.
    fn union<'m>(&'m self, path: &[u8], found: &mut Found<'m>) {
        self.candidates(path, |e| {
            if !e.rights.within(found.rights) && e.glob.covers(path) {
                found.join(e);
            }
            true
        });
    }
}

/// What a path grants, with the reason for each bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'m> {
    pub(crate) rights: Rights,
    pub(crate) r: &'m Reason,
    pub(crate) w: &'m Reason,
    pub(crate) x: &'m Reason,
}

impl<'m> Found<'m> {
    fn new(rights: Rights, reason: &'m Reason) -> Found<'m> {
        Found { rights, r: reason, w: reason, x: reason }
    }

    fn meet(&mut self, e: &'m Entry) {
        self.each(e, |other, own| other < own);
    }

    fn join(&mut self, e: &'m Entry) {
        self.each(e, |other, own| other > own);
    }

    fn each(&mut self, e: &'m Entry, take: impl Fn(Grant, Grant) -> bool) {
        let bit = |own: &mut Grant, reason: &mut &'m Reason, other: Grant| {
            if take(other, *own) {
                (*own, *reason) = (other, &e.reason);
            }
        };
        bit(&mut self.rights.r, &mut self.r, e.rights.r);
        bit(&mut self.rights.w, &mut self.w, e.rights.w);
        bit(&mut self.rights.x, &mut self.x, e.rights.x);
    }
}

/// The map: denials, then the longest rule, then the base, then the default.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) denies: Entries,
    pub(crate) rules: Entries,
    pub(crate) base: Entries,
    /// A bit that the default withholds is already `Ask` here where misses are asked.
    pub(crate) default: Rights,
    pub(crate) default_reason: Reason,
    /// For what is no real path: never granted.
    pub(crate) no_path: Reason,
}

impl Map {
    pub(crate) fn find(&self, path: &[u8]) -> Found<'_> {
        if !is_real(path) {
            return Found::new(Rights::NONE, &self.no_path);
        }
        if let Some(deny) = self.denies.first(path) {
            return Found::new(Rights::NONE, &deny.reason);
        }
        if let Some(found) = self.rules.longest(path) {
            return found;
        }
        let mut found = Found::new(self.default, &self.default_reason);
        self.base.union(path, &mut found);
        found
    }

    /// The same for a program, whose path may be as it was written where no kernel resolved it.
    pub(crate) fn find_program(&self, path: &[u8]) -> Found<'_> {
        if path.first() == Some(&b'/') && !is_real(path) {
            self.find(&normalize::posix(path))
        } else {
            self.find(path)
        }
    }

    /// What everything strictly below `dir` grants at least. Denials for which `skip` is true are
    /// left out.
    pub(crate) fn least_below(&self, dir: &[u8], skip: impl Fn(&Glob) -> bool) -> Rights {
        if self.denies.iter().any(|e| !skip(&e.glob) && e.glob.below(dir) != Below::Nothing) {
            return Rights::NONE;
        }
        let (rules, covered) = self.rules_below(dir);
        let mut least = rules.fold(Rights::ALL, |least, e| least.meet(e.rights));
        if !covered {
            let base = self.base.iter().filter(|e| e.glob.below(dir) == Below::Everything);
            least = least.meet(base.fold(self.default, |all, e| all.join(e.rights)));
        }
        least
    }

    /// What anything strictly below `dir` grants at most.
    pub(crate) fn most_below(&self, dir: &[u8]) -> Rights {
        if self.denies.iter().any(|e| e.glob.below(dir) == Below::Everything) {
            return Rights::NONE;
        }
        let (rules, covered) = self.rules_below(dir);
        let mut most = rules.fold(Rights::NONE, |most, e| most.join(e.rights));
        if !covered {
            let base = self.base.iter().filter(|e| e.glob.below(dir) != Below::Nothing);
            most = base.fold(most.join(self.default), |most, e| most.join(e.rights));
        }
        most
    }

    /// The rules that can decide something below `dir`, and whether a rule decides everything there.
    fn rules_below(&self, dir: &[u8]) -> (impl Iterator<Item = &Entry>, bool) {
        let cover = self.rules.iter().find(|e| e.glob.below(dir) == Below::Everything);
        let length = cover.map_or(0, |e| e.glob.length());
        let rules = self
            .rules
            .iter()
            .take_while(move |e| e.glob.length() >= length)
            .filter(move |e| e.glob.below(dir) != Below::Nothing);
        (rules, cover.is_some())
    }
}

/// Absolute, and without components that a real path cannot have.
fn is_real(path: &[u8]) -> bool {
    path.first() == Some(&b'/')
        && !path.windows(2).enumerate().any(|(i, pair)| match pair {
            b"//" => true,
            b"/." => matches!(&path[i + 2..], [] | [b'/', ..] | [b'.'] | [b'.', b'/', ..]),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::is_real;

    #[test]
    fn only_real_paths_are_looked_up() {
        for path in ["/", "/a", "/a/b", "/a/.b", "/a/..b", "/...", "/a/"] {
            assert!(is_real(path.as_bytes()), "{path}");
        }
        for path in ["", "a", "memfd:x", "/a/../b", "/..", "/a/.", "/./a", "//a", "/a//b"] {
            assert!(!is_real(path.as_bytes()), "{path}");
        }
    }
}
