//! From what a session did to the smallest readable policy that lets it do that again.
//!
//! [`propose`] sorts what was seen by where it lies (`zone`), leaves out what no policy should be learned to open
//! (`sort`), widens the rest to patterns as far as the [`Width`] says (`widen`), and writes a `guard.json` (`text`). What
//! comes out is put to [`crate::decide`], and what that refuses is added or left out: so a proposal allows what was seen
//! by the answers that will hold, and not by what this module thinks of them.

mod against;
mod patterns;
mod proposal;
pub(crate) mod secrets;
mod sort;
mod text;
mod widen;
mod zone;

use std::ops::BitOr;

use crate::{Access, Exec, Host, Request, Role};

pub use against::{Addition, Conflict, Merge, merge};
pub use proposal::{Proposal, propose};
pub use sort::{LeftOut, Why};

/// How much is proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// What was seen, and directories of which much was.
    Tight,
    /// The project, the directories of the system and of toolchains, temporary directories and caches that were seen; of
    /// programs those that were seen, and what is built in the project.
    Normal,
    /// The same with the programs beside those that were seen, and whole caches.
    Wide,
}

/// What was done with a path: a set, to be combined with `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Used(u8);

impl Used {
    /// Read, or listed.
    pub const READ: Used = Used(1);
    /// Written, removed, renamed, or its mode changed.
    pub const WRITTEN: Used = Used(2);
    /// Made: there was nothing of that name before. Goes with [`Used::WRITTEN`].
    pub const MADE: Used = Used(4);
    /// Mapped as code.
    pub const MAPPED: Used = Used(8);
    /// Started: as a program, or as what interprets one.
    pub const STARTED: Used = Used(16);
    /// Started as the loader of a program.
    pub const LOADED: Used = Used(32);
    /// A socket that was connected to, and that the session did not make.
    pub const SPOKEN_TO: Used = Used(64);

    const ALL: u8 = 127;

    /// The set as one byte, for a record of it.
    #[must_use]
    pub fn to_byte(self) -> u8 {
        self.0
    }

    /// The set that a byte stands for; `None` where it stands for none.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Used> {
        (byte != 0 && byte & !Used::ALL == 0).then_some(Used(byte))
    }

    /// True when every member of `other` is in `self`.
    #[must_use]
    pub fn contains(self, other: Used) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when some member of `other` is in `self`.
    #[must_use]
    pub fn meets(self, other: Used) -> bool {
        self.0 & other.0 != 0
    }

    /// What is in `self` and not in `other`.
    #[must_use]
    pub fn without(self, other: Used) -> Used {
        Used(self.0 & !other.0)
    }

    /// True when it holds nothing.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The accesses that a use comes down to.
    pub(super) fn accesses(self) -> impl Iterator<Item = Access> {
        let all = [
            (Used::READ, Access::READ),
            (Used::WRITTEN, Access::WRITE),
            (Used::MAPPED | Used::STARTED | Used::LOADED, Access::MAP),
        ];
        all.into_iter().filter(move |(of, _)| self.meets(*of)).map(|(_, access)| access)
    }

    /// For messages: `read, written`.
    #[must_use]
    pub fn words(self) -> String {
        let words = [
            (Used::READ, "read"),
            (Used::WRITTEN, "written"),
            (Used::MAPPED, "mapped as code"),
            (Used::STARTED, "started"),
            (Used::LOADED, "started as a loader"),
            (Used::SPOKEN_TO, "connected to"),
        ];
        let words: Vec<_> =
            words.into_iter().filter(|(used, _)| self.meets(*used)).map(|(_, word)| word).collect();
        words.join(", ")
    }
}

impl BitOr for Used {
    type Output = Used;
    fn bitor(self, other: Used) -> Used {
        Used(self.0 | other.0)
    }
}

/// What stands at a path when the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stands {
    /// A directory.
    Directory,
    /// Anything else.
    File,
    /// Nothing: it was temporary.
    Nothing,
}

/// Something that a session did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The real path.
    pub path: Vec<u8>,
    /// What was done with it.
    pub used: Used,
    /// What is there now.
    pub stands: Stands,
}

impl Observation {
    /// What a policy is asked before this may be done.
    pub fn requests(&self) -> impl Iterator<Item = Request<'_>> {
        let path = &*self.path;
        let accesses =
            [(Used::READ, Access::READ), (Used::WRITTEN, Access::WRITE), (Used::MAPPED, Access::MAP)];
        let roles = [(Used::STARTED, Role::Program), (Used::LOADED, Role::Loader)];
        let files = accesses.into_iter().filter(|(used, _)| self.used.meets(*used));
        let starts = roles.into_iter().filter(|(used, _)| self.used.meets(*used));
        let exec = |role| Exec { path, argv: &[], cwd: b"/", role };
        files
            .map(move |(_, access)| Request::File { path, access })
            .chain(starts.map(move |(_, role)| Request::Exec(exec(role))))
    }
}

/// What was seen, and where.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    /// What it did, each path once.
    pub observations: &'a [Observation],
    /// The host, without stores: a proposal holds by itself.
    pub host: &'a Host<'a>,
    /// Real directories that hold caches, beside those that are known: `$XDG_CACHE_HOME`.
    pub caches: &'a [Vec<u8>],
    /// Whose allowlist is to hold the programs.
    pub agent: &'a str,
}
