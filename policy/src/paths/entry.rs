//! A pattern with what it grants, and the combined rights of a path that several patterns cover.

use std::sync::Arc;

use super::glob::Glob;
use super::permission::{Bits, Grant, Rights};
use crate::verdict::{CompiledReason, Source};

/// One form of a pattern: as written, or resolved.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPattern {
    pub(crate) glob: Glob,
    pub(crate) rights: Rights,
    pub(crate) reason: Arc<CompiledReason>,
}

/// What a path grants, with the reason for each bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match<'m> {
    pub(crate) rights: Rights,
    pub(crate) r: &'m CompiledReason,
    pub(crate) w: &'m CompiledReason,
    pub(crate) x: &'m CompiledReason,
    /// `w` before persistence withheld it.
    pub(super) granted_w: Grant,
    /// Whether persistence has withheld `w`, or asks about it.
    is_kept: bool,
    /// Whether only an earlier run could write here.
    is_of_earlier_run: bool,
}

impl<'m> Match<'m> {
    pub(super) fn new(rights: Rights, reason: &'m CompiledReason) -> Match<'m> {
        Match {
            rights,
            r: reason,
            w: reason,
            x: reason,
            granted_w: rights.w,
            is_kept: false,
            is_of_earlier_run: false,
        }
    }

    /// Returns whether the tree cannot write here. Persistence does not count: it prevents leaving things behind, but does
    /// not make what is already there trustworthy.
    pub(crate) fn is_protected(&self) -> bool {
        self.granted_w == Grant::No
    }

    /// Returns whether the tree may write here without asking, persistence aside.
    pub(crate) fn is_the_trees(&self) -> bool {
        self.granted_w == Grant::Yes
    }

    /// Returns how far the tree may write here, or an earlier run could, persistence aside.
    pub(crate) fn granted_write(&self) -> Grant {
        self.granted_w
    }

    /// Returns whether the tree may not write here without asking, but an earlier run could.
    pub(crate) fn is_of_earlier_run(&self) -> bool {
        self.is_of_earlier_run
    }

    /// Counts a program that an earlier run could write as one that the tree may write.
    pub(super) fn count_as_the_trees(&mut self) {
        self.is_of_earlier_run = self.granted_w != Grant::Yes;
        self.granted_w = Grant::Yes;
    }

    /// Makes the guard ask again, for this reason, about a program that may start by a saved answer.
    pub(super) fn ask_again(&mut self, reason: &'m CompiledReason) {
        if self.rights.x == Grant::Yes && self.x.source == Source::Saved {
            (self.rights.x, self.x) = (Grant::Ask, reason);
        }
    }

    /// Returns what starting a program here takes: `x`, and also `r` if the tree may write here, or ask to write. A
    /// program can read its own file. So if the tree puts a program over the beginning of a file, that program can
    /// print the rest of the file.
    pub(crate) fn start(&self) -> (Grant, &'m CompiledReason) {
        if !self.is_protected() && self.rights.r < self.rights.x {
            (self.rights.r, self.r)
        } else {
            (self.rights.x, self.x)
        }
    }

    /// Returns whether persistence withholds `w`, or asks about it.
    pub(crate) fn is_kept_from_writing(&self) -> bool {
        self.is_kept
    }

    /// Lowers `w` to at most this grant, because of persistence, unless `w` is withheld already. A question then gives this
    /// reason, whatever a rule asks.
    pub(super) fn keep_from_writing(&mut self, w: Grant, reason: &'m CompiledReason) {
        if self.rights.w != Grant::No {
            (self.rights.w, self.w, self.is_kept) = (w.min(Grant::Ask), reason, true);
        }
    }

    pub(super) fn meet(&mut self, e: &'m CompiledPattern) {
        self.each(e, |other, own| other < own);
    }

    pub(super) fn join(&mut self, e: &'m CompiledPattern) {
        self.each(e, |other, own| other > own);
    }

    /// Grants these bits, where they are asked for.
    pub(crate) fn answer(&mut self, bits: Bits, by: &'m CompiledReason) {
        let answered = bits.answer(self.rights);
        let bit = |reason: &mut &'m CompiledReason, before: Grant, after: Grant| {
            if before != after {
                *reason = by;
            }
        };
        bit(&mut self.r, self.rights.r, answered.r);
        bit(&mut self.w, self.rights.w, answered.w);
        bit(&mut self.x, self.rights.x, answered.x);
        self.rights = answered;
    }

    fn each(&mut self, e: &'m CompiledPattern, take: impl Fn(Grant, Grant) -> bool) {
        let bit = |own: &mut Grant, reason: &mut &'m CompiledReason, other: Grant| {
            if take(other, *own) {
                (*own, *reason) = (other, &e.reason);
            }
        };
        bit(&mut self.rights.r, &mut self.r, e.rights.r);
        bit(&mut self.rights.w, &mut self.w, e.rights.w);
        bit(&mut self.rights.x, &mut self.x, e.rights.x);
    }
}
