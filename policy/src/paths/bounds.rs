//! Bounds of what a map grants below a directory, without looking at paths there.

use super::ceilings::Ceilings;
use super::entry::CompiledPattern;
use super::glob::{Below, Glob};
use super::persistence::ProtectedPaths;
use super::saved_rules::SavedRule;
use crate::{Bits, Grant, Rights};

/// The part of a map that can apply below some directory.
#[derive(Clone, Debug)]
pub(crate) struct RightsBelow<'m> {
    pub(super) denies: Vec<&'m CompiledPattern>,
    /// The longest pattern first.
    pub(super) rules: Vec<&'m CompiledPattern>,
    pub(super) base: Vec<&'m CompiledPattern>,
    pub(super) protected: &'m ProtectedPaths,
    pub(super) ceilings: &'m [Ceilings],
    pub(super) answers: Vec<&'m SavedRule>,
    pub(super) default: Rights,
}

impl<'m> RightsBelow<'m> {
    /// Returns the part that can apply strictly below `dir`.
    pub(crate) fn below(&self, dir: &[u8]) -> RightsBelow<'m> {
        let entries = |entries: &[&'m CompiledPattern]| {
            entries.iter().copied().filter(|e| e.glob.below(dir) != Below::Nothing).collect()
        };
        RightsBelow {
            denies: entries(&self.denies),
            rules: entries(&self.rules),
            base: entries(&self.base),
            protected: self.protected,
            ceilings: self.ceilings,
            answers: self.answers.iter().copied().filter(|a| a.glob.below(dir) != Below::Nothing).collect(),
            default: self.default,
        }
    }

    /// Returns the rights that everything strictly below `dir` has at least. Ignores denials for which `skip`
    /// is true.
    pub(crate) fn least(&self, dir: &[u8], skip: impl Fn(&Glob) -> bool) -> Rights {
        if self.denies.iter().any(|e| !skip(&e.glob) && e.glob.below(dir) != Below::Nothing) {
            return Rights::NONE;
        }
        let (rules, covered) = self.deciding(dir);
        let mut least = rules.fold(Rights::ALL, |least, e| least.meet(e.rights));
        if !covered {
            let base = self.base.iter().filter(|e| e.glob.below(dir) == Below::Everything);
            least = least.meet(base.fold(self.default, |all, e| all.join(e.rights)));
        }
        if least.any(Grant::Ask) {
            // An answer that covers everything below `dir` answers whatever is asked for there.
            let answers = self.answers.iter().filter(|answer| answer.glob.below(dir) == Below::Everything);
            least = answers.fold(least, |least, answer| answer.bits.answer(least));
        }
        let left = self.ceilings.iter().map(|ceilings| ceilings.least_below(dir, &skip));
        let least = left.fold(least, Rights::meet);
        self.protected.any_below(dir).map_or(least, |entry| least.meet(entry.rights))
    }

    /// Returns, as far as can be told, the bits that the rules ask for somewhere strictly below `dir`. Leaves out bits that
    /// answers grant everywhere there.
    pub(crate) fn asked(&self, dir: &[u8]) -> Option<Bits> {
        if self.denies.iter().any(|e| e.glob.below(dir) == Below::Everything) {
            return None;
        }
        let (rules, covered) = self.deciding(dir);
        let answers: Vec<_> =
            self.answers.iter().filter(|a| a.glob.below(dir) == Below::Everything).collect();
        let answered = |rights| answers.iter().fold(rights, |rights, answer| answer.bits.answer(rights));
        let rest = (!covered).then_some(self.default);
        let asked = rules
            .map(|rule| rule.rights)
            .chain(rest)
            .filter_map(|rights| Bits::from_rights(answered(rights), |grant| grant == Grant::Ask));
        asked.reduce(Bits::union)
    }

    /// Returns the rights that anything strictly below `dir` has at most. What project files take away is not counted.
    pub(crate) fn most(&self, dir: &[u8]) -> Rights {
        if self.denies.iter().any(|e| e.glob.below(dir) == Below::Everything) {
            return Rights::NONE;
        }
        let (rules, covered) = self.deciding(dir);
        let mut most = rules.fold(Rights::NONE, |most, e| most.join(e.rights));
        if !covered {
            let base = self.base.iter().filter(|e| e.glob.below(dir) != Below::Nothing);
            most = base.fold(most.join(self.default), |most, e| most.join(e.rights));
        }
        let answers = self.answers.iter().filter(|answer| answer.glob.below(dir) != Below::Nothing);
        let most = answers.fold(most, |most, answer| answer.bits.answer(most));
        self.protected.all_below(dir).map_or(most, |entry| most.meet(entry.rights))
    }

    /// Returns the rules that can decide something below `dir`, and whether one of them covers everything
    /// there.
    fn deciding(&self, dir: &[u8]) -> (impl Iterator<Item = &'m CompiledPattern>, bool) {
        let cover = self.rules.iter().find(|e| e.glob.below(dir) == Below::Everything);
        let length = cover.map_or(0, |e| e.glob.length());
        let rules = self
            .rules
            .iter()
            .copied()
            .take_while(move |e| e.glob.length() >= length)
            .filter(move |e| e.glob.below(dir) != Below::Nothing);
        (rules, cover.is_some())
    }
}
