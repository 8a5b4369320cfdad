//! Whether the floor grants everything that the policy grants.
//!
//! Every hierarchy grants only what the policy allows ([`super::walk`]). So it is enough to show that the policy
//! neither allows nor asks about anything else: each rule that grants or asks covers only paths that some hierarchy
//! grants.

use super::walk::{NodeKind, Walked};
use super::{
    Classes, DEV, Exactness, HARMLESS_DEVICES, Hierarchy, HierarchyKind, MAX_HIERARCHIES, PROC, directory,
};
use crate::paths::ceilings::Ceilings;
use crate::paths::entry::CompiledPattern;
use crate::paths::exec_roots::is_below;
use crate::paths::expansion::show;
use crate::paths::glob::{Below, Glob};
use crate::{Access, Ask, Grant, Policy, Rights};

/// Why a class is not exact.
pub(super) type Inexact = String;

pub(super) fn classes(policy: &Policy, walked: &Walked) -> Classes {
    let exactness = |found: Result<(), Inexact>| match found {
        Ok(()) => Exactness::Exact,
        Err(reason) => Exactness::Not(reason),
    };
    let read = Compared::reads(policy, walked);
    let write = Compared { policy, walked, bit: Access::WRITE };
    let reads = exactness(
        unbounded(policy)
            .and_then(|()| approved_scripts(policy))
            .and_then(|()| programs(policy, walked))
            .and_then(|()| read.compare()),
    );
    let writes = write.compare();
    Classes {
        list: reads.clone(),
        read: reads,
        create: exactness(writes.clone().and_then(|()| write.tops())),
        write: exactness(writes),
        execute: Exactness::Not(
            "a program's arguments and environment are checked when it starts, which Landlock cannot do"
                .to_owned(),
        ),
    }
}

/// Fails if the policy bounds the size of files that are read: only the broker can look at the size.
fn unbounded(policy: &Policy) -> Result<(), Inexact> {
    match policy.read_bound_key() {
        Some(key) => {
            Err(format!("{key} bounds the size of each file that is read, which Landlock cannot do"))
        }
        None => Ok(()),
    }
}

/// Fails if scripts can be approved: only the broker can give an interpreter the bytes that were approved.
pub(super) fn approved_scripts(policy: &Policy) -> Result<(), Inexact> {
    let programs = &policy.programs;
    let not_exact = |what: &str| Err(format!("{what}: an approved script must be read as it was approved"));
    match &programs.strict_inline_eval {
        _ if programs.ask != Ask::Off => {
            not_exact(&format!("{} is {}", programs.reasons.always.path, programs.ask.as_str()))
        }
        Some(reason) => not_exact(&format!("{} is on", reason.path)),
        None => Ok(()),
    }
}

/// Fails if the floor lets more files be read than the policy does: it lets everything in the exec roots be read.
fn programs(policy: &Policy, walked: &Walked) -> Result<(), Inexact> {
    let is_read =
        |root: &[u8]| policy.is_uniform(root, Access::READ) || walked.standing(root) == NodeKind::Nothing;
    match policy.roots.iter().find(|root| !is_read(root)) {
        Some(root) => {
            let root = show(root);
            Err(format!("programs can start from {root} (exec.roots), where not everything may be read"))
        }
        None => Ok(()),
    }
}

/// One bit of the policy, compared with what the floor grants of it.
pub(super) struct Compared<'a> {
    policy: &'a Policy,
    walked: &'a Walked,
    bit: Access,
}

impl<'a> Compared<'a> {
    pub(super) fn reads(policy: &'a Policy, walked: &'a Walked) -> Self {
        Compared { policy, walked, bit: Access::READ }
    }

    /// Returns why the floor does not grant all that a rule grants. `None` if it does, or the rule grants nothing.
    pub(super) fn why_not_whole(&self, entry: &CompiledPattern) -> Option<Inexact> {
        if self.grant(entry.rights) == Grant::No {
            return None;
        }
        self.kernel_mounts(entry).and_then(|()| self.entry(entry)).err()
    }

    fn compare(&self) -> Result<(), Inexact> {
        let map = &self.policy.map;
        // The longest rule for everything overrides shorter ones, the base and the default.
        let all = map.rules().iter().find(|e| e.glob.covers(b"/") && e.glob.below(b"/") == Below::Everything);
        let length = all.map_or(0, |e| e.glob.length());
        let rules = map.rules().iter().take_while(|e| e.glob.length() >= length);
        let base = map.base().iter().filter(|_| all.is_none());
        if all.is_none() {
            self.default()?;
        }
        let mut entries = rules.chain(base).filter(|e| self.grant(e.rights) != Grant::No);
        entries.clone().try_for_each(|entry| self.kernel_mounts(entry))?;
        entries.try_for_each(|entry| self.entry(entry))?;
        self.replaceable()
    }

    fn grant(&self, rights: Rights) -> Grant {
        if self.bit == Access::READ { rights.r } else { rights.w }
    }

    /// Returns `reading` or `writing`.
    fn word(&self) -> &'static str {
        if self.bit == Access::READ { "reading" } else { "writing" }
    }

    fn default(&self) -> Result<(), Inexact> {
        let reason = self.policy.map.default_reason();
        match self.grant(self.policy.map.default()) {
            Grant::No => Ok(()),
            Grant::Ask => Err(format!("{} what no rule covers is asked for ({})", self.word(), reason.path)),
            Grant::Yes if self.is_granted_below(b"/") => Ok(()),
            Grant::Yes => Err(format!("{} allows {} what no rule covers", reason.path, self.word())),
        }
    }

    /// Fails if a rule reaches names that mean something else to each process: those are judged by more than
    /// their path.
    fn kernel_mounts(&self, entry: &CompiledPattern) -> Result<(), Inexact> {
        let is_harmless =
            entry.glob.is_literal() && HARMLESS_DEVICES.iter().any(|device| entry.glob.literal() == *device);
        let reaches = |mount: &&[u8]| entry.glob.covers(mount) || entry.glob.below(mount) != Below::Nothing;
        match [PROC, DEV].iter().find(|mount| reaches(mount) && !self.is_denied_below(mount)) {
            None => Ok(()),
            Some(_) if is_harmless || self.is_denied(&entry.glob) => Ok(()),
            Some(_) if entry.reason.path == BASE => Err(format!(
                "{BASE} grants /proc/self and terminals, which differ for each process; \"base\": false removes \
                 them"
            )),
            Some(mount) => Err(format!(
                "{} covers {}, where names differ for each process",
                entry.reason.path,
                show(mount)
            )),
        }
    }

    /// Fails unless everything that a rule covers is granted.
    fn entry(&self, entry: &CompiledPattern) -> Result<(), Inexact> {
        let CompiledPattern { glob, rights, reason } = entry;
        let is_literal = glob.is_literal();
        let top = glob.top();
        let is_granted = if is_literal { self.is_granted(top) } else { self.is_granted_below(top) };
        if is_granted || self.is_denied(glob) {
            return Ok(());
        }
        let key = &reason.path;
        if self.grant(*rights) == Grant::Ask {
            return Err(format!("{key} asks before {}", self.word()));
        }
        if self.bit == Access::WRITE && self.policy.protects_shapes() && !is_literal {
            return Err(format!(
                "{key} may later contain names that permissions.persistence protects in every directory, such as .envrc"
            ));
        }
        if self.walked.is_cut {
            return Err(format!("{key} has more hierarchies than the {MAX_HIERARCHIES} that are granted"));
        }
        if !is_literal && glob.below(top) != Below::Everything {
            return Err(format!("{key} matches names, but the floor knows only directories"));
        }
        Err(match self.walked.standing(top) {
            NodeKind::Nothing => format!("{key} does not exist yet"),
            NodeKind::Other => format!("{key} is a link, or not a file on a disk"),
            NodeKind::Directory if is_literal => format!("{key} grants a directory without its contents"),
            _ => format!("{key} has exceptions, and new files may appear beside them"),
        })
    }

    /// Fails if a writable file is granted by itself: a file that replaces it would not be granted.
    fn replaceable(&self) -> Result<(), Inexact> {
        let is_file = |path: &[u8]| !HARMLESS_DEVICES.contains(&path);
        let mut files = self.walked.hierarchies.iter().filter(|h| h.kind == HierarchyKind::File);
        match files.find(|h| h.access.contains(Access::WRITE) && is_file(&h.path)) {
            Some(file) => Err(format!(
                "{} is granted as a single file, which may be replaced; name its directory instead",
                show(&file.path)
            )),
            None => Ok(()),
        }
    }

    /// Fails if the floor does not let a granted object itself be made or removed: for that the kernel checks
    /// the directory around it.
    fn tops(&self) -> Result<(), Inexact> {
        let is_top = |h: &&Hierarchy| {
            h.access.contains(self.bit) && h.path != b"/" && !self.is_granted_below(directory(&h.path))
        };
        let tops: Vec<&Hierarchy> = self.walked.hierarchies.iter().filter(is_top).collect();
        // Prefers a directory, which an operator knows to be the tree's own.
        let top = tops.iter().find(|h| h.kind == HierarchyKind::Directory).or(tops.first());
        match top {
            Some(top) => Err(format!(
                "{} itself may be removed and created again, which Landlock grants only for the directory that contains it",
                show(&top.path)
            )),
            None => Ok(()),
        }
    }

    /// Returns whether a denial covers everything that a pattern covers.
    fn is_denied(&self, glob: &Glob) -> bool {
        let top = glob.top();
        let covers = |e: &CompiledPattern| e.glob.covers(top);
        self.is_denied_below(top) || glob.is_literal() && self.denials().any(covers)
    }

    /// Returns whether a directory is denied with all that is below it.
    fn is_denied_below(&self, dir: &[u8]) -> bool {
        self.denials().any(|e| e.glob.covers(dir))
            && self.denials().any(|e| e.glob.below(dir) == Below::Everything)
    }

    /// Returns the entries that withhold the bit, whatever the rules grant.
    fn denials(&self) -> impl Iterator<Item = &CompiledPattern> {
        let map = &self.policy.map;
        let protected = if self.bit == Access::WRITE { map.protected().entries() } else { &[] };
        map.denies().iter().chain(protected).chain(map.ceilings().iter().flat_map(Ceilings::firm_denials))
    }

    fn is_granted(&self, path: &[u8]) -> bool {
        self.walked.hierarchies.iter().any(|h| h.covers(path, self.bit))
    }

    /// Returns whether a directory is granted with all that is below it.
    fn is_granted_below(&self, dir: &[u8]) -> bool {
        let mut whole = self.walked.hierarchies.iter().filter(|h| h.kind == HierarchyKind::Directory);
        whole.any(|h| h.access.contains(self.bit) && is_below(dir, &h.path))
    }
}

/// The path that the reasons of the base name.
const BASE: &str = "permissions.base";
