//! Ceilings: what a project's own file leaves of the rights that the policy grants. They only take away.
//!
//! Why: docs/decisions.md, "A project's file is a ceiling, not a layer."

use super::entry::{CompiledPattern, Match};
use super::glob::{Below, Glob};
use super::index::Index;
use crate::Rights;

/// The ceilings of one project file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ceilings {
    /// Denials, and the resolved forms of rules. All that cover a path count.
    always: Vec<CompiledPattern>,
    /// Rules. Of those that cover a path, only the longest counts.
    rules: Vec<CompiledPattern>,
    /// The index of both lists, in this order.
    index: Index,
}

impl Ceilings {
    pub(crate) fn new(always: Vec<CompiledPattern>, rules: Vec<CompiledPattern>) -> Ceilings {
        let index = Index::new(always.iter().chain(&rules).map(|entry| &entry.glob));
        Ceilings { always, rules, index }
    }

    /// Withholds what the file withholds of a path.
    pub(super) fn lower<'m>(&'m self, path: &[u8], found: &mut Match<'m>) {
        let mut longest: Option<usize> = None;
        let mut deciding: Vec<&CompiledPattern> = Vec::new();
        self.index.candidates(path, |i| {
            match i.checked_sub(self.always.len()) {
                None => {
                    let entry = &self.always[i];
                    if entry.glob.covers(path) {
                        found.meet(entry);
                    }
                }
                Some(i) => {
                    let entry = &self.rules[i];
                    let length = entry.glob.length();
                    if longest.is_none_or(|longest| length >= longest) && entry.glob.covers(path) {
                        if longest.is_some_and(|longest| length > longest) {
                            deciding.clear();
                        }
                        longest = Some(length);
                        deciding.push(entry);
                    }
                }
            }
            true
        });
        deciding.into_iter().for_each(|entry| found.meet(entry));
    }

    /// Returns what is left of everything strictly below a directory. Ignores denials for which `skip` is true.
    pub(super) fn least_below(&self, dir: &[u8], skip: impl Fn(&Glob) -> bool) -> Rights {
        let always = self.always.iter().filter(|entry| entry.rights != Rights::NONE || !skip(&entry.glob));
        // A rule that is shorter than one that covers everything there decides nothing.
        let covering = self.rules.iter().filter(|entry| entry.glob.below(dir) == Below::Everything);
        let length = covering.map(|entry| entry.glob.length()).max().unwrap_or_default();
        let rules = self.rules.iter().filter(|entry| entry.glob.length() >= length);
        let all = always.chain(rules).filter(|entry| entry.glob.below(dir) != Below::Nothing);
        all.fold(Rights::ALL, |least, entry| least.meet(entry.rights))
    }

    /// Returns every entry by which the file withholds something.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &CompiledPattern> {
        self.always.iter().chain(&self.rules)
    }

    /// Returns the patterns that the file denies altogether. A longer rule may still leave rights on some of their paths.
    pub(crate) fn denials(&self) -> impl Iterator<Item = &CompiledPattern> {
        self.entries().filter(|entry| entry.rights == Rights::NONE)
    }

    /// Returns the denials that no other rule of the file loosens.
    pub(crate) fn firm_denials(&self) -> impl Iterator<Item = &CompiledPattern> {
        let loosening = self.rules.iter().filter(|entry| entry.rights != Rights::NONE);
        let loosened = loosening.map(|entry| entry.glob.length()).max();
        let is_firm = move |entry: &&CompiledPattern| Some(entry.glob.length()) >= loosened;
        let denying = |entry: &&CompiledPattern| entry.rights == Rights::NONE;
        self.always.iter().chain(self.rules.iter().filter(is_firm)).filter(denying)
    }
}
