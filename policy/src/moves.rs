//! What follows from the map for whole directories: may they be moved, are they uniform.

use crate::{Grant, Policy};

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
        let moves_along = |glob: &crate::glob::Glob| glob.is_position_free() && !glob.covers(old);
        !directory || self.map.most_below(new).within(self.map.least_below(old, moves_along))
    }

    /// True when `dir` and every object below it may be read without asking.
    pub fn reads_uniform(&self, dir: &[u8]) -> bool {
        self.rights(dir).r == Grant::Yes && self.map.least_below(dir, |_| false).r == Grant::Yes
    }
}
