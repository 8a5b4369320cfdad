//! What follows from the map for whole directories: may they be moved, are they uniform.

use super::glob::Glob;
use crate::{Access, Grant, Policy};

impl Policy {
    /// True when moving `old` to `new` gives it no right that it did not have: for a directory,
    /// nothing below it either. False where that cannot be proven; `mv` then copies, and the copy
    /// is judged.
    pub fn may_move(&self, old: &[u8], new: &[u8], directory: bool) -> bool {
        if !self.rights(new).within(self.rights(old)) {
            return false;
        }
        // A denial such as `**/.env` goes by the names below the directory, which move with it:
        // it says the same at both places, so it needs no proof. One that speaks of `old` by
        // itself has denied it all, and the bound must show that.
        let moves_along = |glob: &Glob| glob.is_position_free() && !glob.covers(old);
        // What lies in a directory is written at the new place without being looked at.
        let below = |dir| self.map.least_below(dir, moves_along);
        // Nor does what is kept below a directory go away with it, wherever to.
        let leaves_all = || [old, new].iter().all(|dir| self.keeps_below(dir).is_none());
        !directory
            || (self.map.most_below(new).within(below(old)) && below(new).w == Grant::Yes && leaves_all())
    }

    /// True when a rule or the base names this path itself, and not a hierarchy that it lies in, and grants `w` on it:
    /// what a socket needs that somebody outside the tree serves.
    pub fn names(&self, path: &[u8]) -> bool {
        let mut rules = self.map.rules.iter().chain(self.map.base.iter());
        rules.any(|e| !e.glob.is_deep() && e.rights.w == Grant::Yes && e.glob.covers(path))
    }

    /// True when the policy allows `access` without asking for `path` and everything that is or comes below it: whether
    /// a floor that grants the hierarchy still holds under this policy. False where that cannot be proven.
    pub fn is_uniform(&self, path: &[u8], access: Access) -> bool {
        self.rights(path).grants(access) && self.map.least_below(path, |_| false).grants(access)
    }

    /// True when some program at or below `dir` may start without being asked for, or that cannot be excluded.
    pub fn starts_unasked(&self, dir: &[u8]) -> bool {
        self.rights(dir).x == Grant::Yes || self.map.most_below(dir).x == Grant::Yes
    }
}
