//! What the kernel may be left to decide: the hierarchies of which the policy allows everything, for a floor of
//! Landlock rules, and the classes of access for which that floor says exactly what the policy says.
//!
//! Both are about what stands on the disk when the floor is made. Later names are the broker's.

mod exact;
mod walk;

use std::fmt;

use crate::paths::exec_roots::is_below;
use crate::{Access, Policy};

/// How many hierarchies a floor grants at most: the kernel looks at each directory on the way to an object for a rule,
/// and each rule holds an object of the kernel as long as the domain lives.
pub const MAX_HIERARCHIES: usize = 256;

/// Where names mean something else to each process, or devices: neither is granted, and only the second looked into.
const PROC: &[u8] = b"/proc";
const DEV: &[u8] = b"/dev";

/// Devices that mean the same to everybody and reach nobody else.
pub(crate) const HARMLESS_DEVICES: [&[u8]; 5] =
    [b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/random", b"/dev/urandom"];

/// The path up to its last slash.
fn directory(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|b| *b == b'/') {
        Some(end) if end > 0 => &path[..end],
        _ => b"/",
    }
}

/// What stands in a directory when the floor is made, as the supervisor sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name alone, as the kernel tells it.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: NameKind,
}

/// What a name is to a floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A directory with nothing in it that is [`NameKind::Other`] but links.
    Directory,
    /// A directory below which, however deep, is a place that is [`NameKind::Other`] (`/dev`, what a procfs is mounted
    /// below): never granted as a whole, but looked into.
    Mixed,
    /// A file that may be granted by itself.
    File,
    /// A link, or a place whose meaning depends on who asks: never granted, never looked into.
    Other,
}

/// One hierarchy, or a single file, of which the policy allows everything without asking.
///
/// It is the object that stands there when the floor is made. What replaces it later has the same path and is not
/// granted: whoever leaves a call to the kernel must know that the object is still the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// The real path.
    pub path: Vec<u8>,
    /// [`Access::READ`], [`Access::WRITE`] or both: all that is granted there, whatever a hierarchy around it grants.
    pub access: Access,
    /// What it was.
    pub kind: HierarchyKind,
}

/// What is granted by one rule of the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HierarchyKind {
    /// A directory and everything that is or comes below it.
    Directory,
    /// This file alone.
    File,
}

impl Hierarchy {
    /// Whether it grants `access` on the real path `path`.
    pub fn covers(&self, path: &[u8], access: Access) -> bool {
        let is_within = match self.kind {
            HierarchyKind::Directory => is_below(path, &self.path),
            HierarchyKind::File => path == self.path,
        };
        is_within && self.access.contains(access)
    }
}

/// What the kernel may be left to decide under a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// What the floor grants, the shallowest first; at most [`MAX_HIERARCHIES`], those that the policy names before
    /// others. None lies below another with the same access.
    pub hierarchies: Vec<Hierarchy>,
    /// True when there would have been more than [`MAX_HIERARCHIES`]; the rest is the broker's.
    pub is_cut: bool,
    /// Which accesses need not be trapped.
    pub classes: Classes,
}

impl Tiers {
    /// Whether some hierarchy grants `access` on the real path `path`.
    pub fn cover(&self, path: &[u8], access: Access) -> bool {
        let bits = [Access::READ, Access::WRITE, Access::MAP].into_iter().filter(|bit| access.contains(*bit));
        // Each bit may come from another hierarchy.
        bits.into_iter().all(|bit| self.hierarchies.iter().any(|hierarchy| hierarchy.covers(path, bit)))
    }
}

/// What is exact, by class of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Opening a file for reading.
    pub read: Exactness,
    /// Opening a directory for reading.
    pub list: Exactness,
    /// Opening a file that exists for writing, truncating it.
    pub write: Exactness,
    /// Making, removing, renaming and linking names.
    pub create: Exactness,
    /// Starting programs.
    pub execute: Exactness,
}

impl Classes {
    /// All of them with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Exactness)> {
        let Classes { read, list, write, create, execute } = self;
        [("read", read), ("list", list), ("write", write), ("create", create), ("execute", execute)]
            .into_iter()
    }
}

/// Whether the hierarchies of a plan grant exactly what the policy grants, and nothing is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// The same answer for every path.
    Exact,
    /// Not, or not provably: a clause for a human that goes on from "because", naming the place in the policy.
    Not(String),
}

impl Exactness {
    /// Whether it is exact.
    pub fn is_exact(&self) -> bool {
        *self == Exactness::Exact
    }

    /// Why it is not.
    pub fn because(&self) -> Option<&str> {
        match self {
            Exactness::Exact => None,
            Exactness::Not(because) => Some(because),
        }
    }
}

impl fmt::Display for Exactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exactness::Exact => f.write_str("exact"),
            Exactness::Not(because) => write!(f, "not exact, because {because}"),
        }
    }
}

impl Policy {
    /// Whether a human may be asked about a script, whose interpreter must then be seen opening it.
    pub fn may_ask_about_scripts(&self) -> bool {
        exact::approved_scripts(self).is_err()
    }

    /// What the kernel may be left to decide where `names` tells what a directory holds; `None` where it cannot be listed
    /// or is none. It is asked once at most for each directory. What it leaves out is not granted, but for `/`: a name
    /// that is left out there is granted with it.
    pub fn tiers(&self, names: &dyn Fn(&[u8]) -> Option<Vec<Name>>) -> Tiers {
        let walked = walk::walk(self, names);
        let classes = exact::classes(self, &walked);
        Tiers { hierarchies: walked.hierarchies, is_cut: walked.is_cut, classes }
    }
}
