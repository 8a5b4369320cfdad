//! Learns a policy from a session: the smallest readable policy that lets the session run again.
//!
//! [`propose`] sorts the observed paths by zone (`zone`), leaves out what no learned policy should open (`sort`),
//! widens the rest to patterns as far as the [`Width`] allows (`widen`), and writes a `guard.json` (`text`). It then
//! tests the proposal with [`crate::decide`] and adds or leaves out whatever is denied. So the real policy decides what
//! a proposal allows, not this module's own idea of it.

mod against;
mod hosts;
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
pub use hosts::{LearnedNetwork, ReachedHosts};
pub use proposal::{Proposal, propose};
pub use sort::{LeftOut, Why};

/// How far a proposal widens the observed paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// The observed paths, and directories of which many names were observed.
    Tight,
    /// Whole directories: the project, and the system, toolchain, temporary and cache directories that were observed.
    /// Of programs, those that were observed and those built in the project.
    Normal,
    /// As normal, plus the programs beside the observed ones, and whole caches.
    Wide,
}

/// The uses of a path: a set, combined with `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Used(u8);

impl Used {
    /// Read, or listed.
    pub const READ: Used = Used(1);
    /// Written, removed, renamed, or its mode changed.
    pub const WRITTEN: Used = Used(2);
    /// Created: the name did not exist before. Always set together with [`Used::WRITTEN`].
    pub const MADE: Used = Used(4);
    /// Mapped as executable code.
    pub const MAPPED: Used = Used(8);
    /// Started, as a program or as the interpreter of one.
    pub const STARTED: Used = Used(16);
    /// Started as the loader of a program.
    pub const LOADED: Used = Used(32);
    /// A socket that was connected to and that the session did not create.
    pub const SPOKEN_TO: Used = Used(64);

    const ALL: u8 = 127;

    /// Encodes the set as one byte.
    #[must_use]
    pub fn to_byte(self) -> u8 {
        self.0
    }

    /// Decodes a set from one byte; `None` if the byte is not a valid set.
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

    /// The members of `self` that are not in `other`.
    #[must_use]
    pub fn without(self, other: Used) -> Used {
        Used(self.0 & !other.0)
    }

    /// True when the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The accesses that these uses need.
    pub(super) fn accesses(self) -> impl Iterator<Item = Access> {
        let all = [
            (Used::READ, Access::READ),
            (Used::WRITTEN, Access::WRITE),
            (Used::MAPPED | Used::STARTED | Used::LOADED, Access::MAP),
        ];
        all.into_iter().filter(move |(of, _)| self.meets(*of)).map(|(_, access)| access)
    }

    /// The uses in words, for messages: `read, written`.
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

/// What exists at a path at the end of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinalState {
    /// A directory.
    Directory,
    /// Anything else.
    File,
    /// Nothing: it was temporary.
    Nothing,
}

/// One path that a session used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The real path.
    pub path: Vec<u8>,
    /// How it was used.
    pub used: Used,
    /// What exists there at the end of the session.
    pub final_state: FinalState,
}

impl Observation {
    /// The requests that a policy must allow for this use.
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

/// A recorded session and its host.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    /// The observations, each path once.
    pub observations: &'a [Observation],
    /// The other hosts that it reached.
    pub reached: &'a ReachedHosts,
    /// The host, without approvals stores: a proposal must work without them.
    pub host: &'a Host<'a>,
    /// Real paths of further cache directories, such as `$XDG_CACHE_HOME`.
    pub caches: &'a [Vec<u8>],
    /// The agent whose allowlist gets the programs.
    pub agent: &'a str,
}
