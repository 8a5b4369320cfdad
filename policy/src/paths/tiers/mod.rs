//! What can be left to the kernel: the hierarchies in which the policy allows everything, for a floor of
//! Landlock rules, and the classes of access for which that floor decides exactly as the policy does.
//!
//! Both describe the disk as it is when the floor is made. The broker decides about later names.

mod exact;
mod partial;
mod walk;

use std::fmt;

pub use partial::{PartialRead, ReadPart};

use crate::paths::exec_roots::is_below;
use crate::{Access, Policy};

/// The maximum number of hierarchies in a floor: the kernel looks for a rule at each directory on the way to
/// an object, and each rule holds a kernel object as long as the domain lives.
pub const MAX_HIERARCHIES: usize = 256;

/// In `/proc` names mean something else to each process; `/dev` contains devices. Neither is granted as a
/// whole, and only `/dev` is looked into.
const PROC: &[u8] = b"/proc";
const DEV: &[u8] = b"/dev";

/// Devices that mean the same to every process and connect it to no other.
pub const HARMLESS_DEVICES: [&[u8]; 5] =
    [b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/random", b"/dev/urandom"];

/// Returns the path up to its last slash.
fn directory(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|b| *b == b'/') {
        Some(end) if end > 0 => &path[..end],
        _ => b"/",
    }
}

/// A name in a directory when the floor is made, as the supervisor sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name alone, as the kernel reports it.
    pub name: Vec<u8>,
    /// Its kind.
    pub kind: NameKind,
}

/// How a floor treats a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A directory that contains nothing of kind [`NameKind::Other`] except links.
    Directory,
    /// A directory with a place of kind [`NameKind::Other`] somewhere below it (`/dev`, or a directory above
    /// a mounted procfs): never granted as a whole, but looked into.
    Mixed,
    /// A file that may be granted by itself.
    File,
    /// A link, or a place whose meaning depends on the process: never granted, never looked into.
    Other,
}

/// One hierarchy, or a single file, on which the policy allows everything without asking.
///
/// It is the object at the path when the floor is made. A later replacement has the same path and is not
/// granted: a call may be left to the kernel only if the object is known to be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// The real path.
    pub path: Vec<u8>,
    /// [`Access::READ`], [`Access::WRITE`] or both: everything granted there, including by hierarchies around
    /// it.
    pub access: Access,
    /// What it was when the floor was made.
    pub kind: HierarchyKind,
}

/// What one rule of the floor grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HierarchyKind {
    /// A directory and everything that is or comes below it.
    Directory,
    /// This file alone.
    File,
}

impl Hierarchy {
    /// Returns whether it grants `access` on the real path `path`.
    pub fn covers(&self, path: &[u8], access: Access) -> bool {
        let is_within = match self.kind {
            HierarchyKind::Directory => is_below(path, &self.path),
            HierarchyKind::File => path == self.path,
        };
        is_within && self.access.contains(access)
    }
}

/// What can be left to the kernel under a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// What the floor grants, the shallowest first; at most [`MAX_HIERARCHIES`], preferably those that the
    /// policy names. None lies below another with the same access.
    pub hierarchies: Vec<Hierarchy>,
    /// True when there would have been more than [`MAX_HIERARCHIES`]; the broker decides about the rest.
    pub is_cut: bool,
    /// Which accesses need not be trapped.
    pub classes: Classes,
}

impl Tiers {
    /// Returns whether some hierarchy grants `access` on the real path `path`.
    pub fn cover(&self, path: &[u8], access: Access) -> bool {
        let bits = [Access::READ, Access::WRITE, Access::MAP].into_iter().filter(|bit| access.contains(*bit));
        // Each bit may come from a different hierarchy.
        bits.into_iter().all(|bit| self.hierarchies.iter().any(|hierarchy| hierarchy.covers(path, bit)))
    }
}

/// Whether the floor is exact, by class of access.
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
    /// Returns all classes with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Exactness)> {
        let Classes { read, list, write, create, execute } = self;
        [("read", read), ("list", list), ("write", write), ("create", create), ("execute", execute)]
            .into_iter()
    }
}

/// Whether the hierarchies grant exactly what the policy grants, and nothing is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// They decide like the policy for every path.
    Exact,
    /// Not exact, or not provably: a clause for a human that completes "because" and names the place in the
    /// policy.
    Not(String),
}

impl Exactness {
    /// Returns whether it is exact.
    pub fn is_exact(&self) -> bool {
        *self == Exactness::Exact
    }

    /// Returns why it is not exact.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Exactness::Exact => None,
            Exactness::Not(reason) => Some(reason),
        }
    }
}

impl fmt::Display for Exactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exactness::Exact => f.write_str("exact"),
            Exactness::Not(reason) => write!(f, "not exact, because {reason}"),
        }
    }
}

impl Policy {
    /// Returns whether a human may be asked about a script. The broker must then see its interpreter open it.
    pub fn may_ask_about_scripts(&self) -> bool {
        exact::approved_scripts(self).is_err()
    }

    /// Returns what can be left to the kernel. `names` lists a directory, or returns `None` if it cannot be
    /// listed or is not a directory; it is called at most once for each. A name that `names` omits is not
    /// granted; in `/` it is granted if the policy grants all of `/`.
    pub fn tiers(&self, names: &dyn Fn(&[u8]) -> Option<Vec<Name>>) -> Tiers {
        let walked = walk::walk(self, names);
        let classes = exact::classes(self, &walked);
        Tiers { hierarchies: walked.hierarchies, is_cut: walked.is_cut, classes }
    }
}
