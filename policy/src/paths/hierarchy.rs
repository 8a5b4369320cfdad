//! What the map means for whole directories: whether they may be moved, and whether they are uniform.

use super::glob::Glob;
use crate::{Access, Grant, Policy};

impl Policy {
    /// Returns true when moving `old` to `new` gives it no right that it did not have, and for a directory
    /// nothing below it either. False where that cannot be proven; `mv` then copies, and the copy is judged.
    pub fn may_move(&self, old: &[u8], new: &[u8], directory: bool) -> bool {
        if !self.rights(new).within(self.rights(old)) {
            return false;
        }
        // A denial such as `**/.env` depends on names below the directory, which move with it. It denies the
        // same at both places and needs no proof. One that covers `old` itself denies all of it, and the
        // bound must show that.
        let moves_along = |glob: &Glob| glob.is_position_free() && !glob.covers(old);
        // The contents arrive at the new place without being judged one by one.
        let below = |dir| self.map.least_below(dir, moves_along);
        // A move must not carry protected places away or replace them.
        let leaves_all = || [old, new].iter().all(|dir| self.keeps_below(dir).is_none());
        !directory
            || (self.map.most_below(new).within(below(old)) && below(new).w == Grant::Yes && leaves_all())
    }

    /// Returns true when a rule or the base names this path itself, not a hierarchy around it, and grants `w`
    /// on it. The tree needs that for a socket that a process outside it serves.
    pub fn names(&self, path: &[u8]) -> bool {
        let mut rules = self.map.rules.iter().chain(self.map.base.iter());
        rules.any(|e| !e.glob.is_deep() && e.rights.w == Grant::Yes && e.glob.covers(path))
    }

    /// Returns true when the policy allows `access` without asking for `path` and everything that is or will
    /// be below it, so that a floor that grants the hierarchy is still right. False where that cannot be
    /// proven.
    pub fn is_uniform(&self, path: &[u8], access: Access) -> bool {
        // What is protected by its shape may come to be in any directory.
        let may_hold_shapes = access.contains(Access::WRITE) && self.protects_shapes();
        !may_hold_shapes
            && self.rights(path).grants(access)
            && self.map.least_below(path, |_| false).grants(access)
    }

    /// Returns true when some program at or below `dir` may start without asking, or that cannot be excluded.
    pub fn starts_unasked(&self, dir: &[u8]) -> bool {
        self.rights(dir).x == Grant::Yes || self.map.most_below(dir).x == Grant::Yes
    }
}
