//! Walks from the root downward: grants directories that are allowed as a whole, and splits those allowed in
//! part.
//!
//! Why: docs/decisions.md, "A hierarchy for the kernel is proven from the patterns, not from its present contents."

use std::collections::VecDeque;

use foldhash::{HashMap, HashSet};

use super::{DEV, HARMLESS_DEVICES, Hierarchy, HierarchyKind, MAX_HIERARCHIES, Name, NameKind, PROC};
use crate::paths::bounds::RightsBelow;
use crate::paths::ceilings::Ceilings;
use crate::paths::glob::Glob;
use crate::{Access, Grant, Policy, Rights};

/// The result of the walk.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// The shallowest first.
    pub(super) hierarchies: Vec<Hierarchy>,
    pub(super) is_cut: bool,
    /// The directories that were split.
    listed: HashSet<Vec<u8>>,
    /// The names in the split directories that lie on the way to where patterns and roots lead.
    found: HashMap<Vec<u8>, NameKind>,
}

/// What was at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Nothing,
    /// A directory, granted as a whole or not.
    Directory,
    File,
    /// Something of kind [`NameKind::Other`], at the path or on the way to it.
    Other,
    /// The directory around it was not split, so nobody looked.
    Unknown,
}

impl Walked {
    /// The directories that were split, in order.
    pub(super) fn split(&self) -> Vec<&[u8]> {
        let mut split: Vec<&[u8]> = self.listed.iter().map(Vec::as_slice).collect();
        split.sort_unstable();
        split
    }

    /// Returns what was at a path.
    pub(super) fn standing(&self, path: &[u8]) -> NodeKind {
        if path == b"/" {
            return NodeKind::Directory;
        }
        let parent = super::directory(path);
        match self.standing(parent) {
            NodeKind::Directory if self.listed.contains(parent) => match self.found.get(path) {
                Some(NameKind::Directory | NameKind::Mixed) => NodeKind::Directory,
                Some(NameKind::File) => NodeKind::File,
                Some(NameKind::Other) => NodeKind::Other,
                None => NodeKind::Nothing,
            },
            NodeKind::Directory => NodeKind::Unknown,
            NodeKind::File => NodeKind::Nothing,
            above => above,
        }
    }
}

/// The access granted on a whole directory; never empty.
type Granted = Option<Access>;

/// A directory to be split.
struct Subtree<'p> {
    path: Vec<u8>,
    granted: Granted,
    reach: RightsBelow<'p>,
}

struct TierWalk<'p> {
    policy: &'p Policy,
    beginnings: Sorted<'p>,
    /// The protected places, which name nothing that is granted.
    protected: Sorted<'p>,
    /// The exec roots.
    roots: Sorted<'p>,
    /// The directories still to be split, the shallowest first.
    parts: VecDeque<Subtree<'p>>,
    /// The number of granted hierarchies that no pattern names.
    unnamed: usize,
    walked: Walked,
}

pub(super) fn walk(policy: &Policy, names: &dyn Fn(&[u8]) -> Option<Vec<Name>>) -> Walked {
    let map = &policy.map;
    let entries = map.denies().iter().chain(map.rules()).chain(map.base()).map(|e| &e.glob);
    let of_projects = map.ceilings().iter().flat_map(Ceilings::entries).map(|e| &e.glob);
    let globs = entries.chain(of_projects).chain(map.answers().iter().map(|answer| &answer.glob));
    let walk = TierWalk {
        policy,
        beginnings: Sorted::new(globs.map(beginning)),
        protected: Sorted::new(map.protected().entries().iter().map(|e| beginning(&e.glob))),
        roots: Sorted::new(policy.roots.iter().map(Vec::as_slice)),
        parts: VecDeque::new(),
        unnamed: 0,
        walked: Walked::default(),
    };
    walk.run(names)
}

impl<'p> TierWalk<'p> {
    fn run(mut self, names: &dyn Fn(&[u8]) -> Option<Vec<Name>>) -> Walked {
        // No listing contains `/`, so its kind follows from the names in it.
        let Some(mut top) = names(b"/") else { return self.walked };
        let is_whole = |name: &Name| {
            matches!(placed(&[b"/", &*name.name].concat(), name.kind), NameKind::Directory | NameKind::File)
        };
        let is_mixed = !top.iter().all(is_whole);
        let kind = if is_mixed { NameKind::Mixed } else { NameKind::Directory };
        let all = self.policy.map.reach();
        let summary = self.summarise(b"/");
        self.directory(b"/".to_vec(), kind, summary, None, &all);
        while let Some(part) = self.parts.pop_front() {
            // `cut` would remove everything that follows.
            if self.walked.hierarchies.len() - self.unnamed >= MAX_HIERARCHIES {
                self.walked.is_cut = true;
                break;
            }
            let listed = if part.path == b"/" { Some(std::mem::take(&mut top)) } else { names(&part.path) };
            if let Some(listed) = listed {
                self.apart(&part, listed);
                self.walked.listed.insert(part.path);
            }
        }
        self.cut();
        self.walked
    }

    /// Reduces the result to [`MAX_HIERARCHIES`]: those that patterns name, where the work is, then the
    /// shallowest.
    fn cut(&mut self) {
        let hierarchies = &mut self.walked.hierarchies;
        let mut left = MAX_HIERARCHIES.saturating_sub(hierarchies.len() - self.unnamed);
        if hierarchies.len() <= MAX_HIERARCHIES {
            return;
        }
        self.walked.is_cut = true;
        hierarchies.retain(|hierarchy| {
            if self.beginnings.summarise(&hierarchy.path).is_named {
                return true;
            }
            let is_left = left > 0;
            left = left.saturating_sub(1);
            is_left
        });
        hierarchies.truncate(MAX_HIERARCHIES);
    }

    fn summarise(&self, path: &[u8]) -> PatternSummary {
        let summary = self.beginnings.summarise(path);
        PatternSummary { is_below: summary.is_below || self.protected.summarise(path).is_below, ..summary }
    }

    /// Handles the names of a directory one by one.
    fn apart(&mut self, part: &Subtree<'p>, mut names: Vec<Name>) {
        // Sorted, so that the same disk gives the same floor.
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for Name { name, kind } in names {
            if matches!(&*name, b"" | b"." | b"..") || name.contains(&b'/') {
                continue;
            }
            let path = [part.path.strip_suffix(b"/").unwrap_or(&part.path), &name].join(&b'/');
            let kind = placed(&path, kind);
            let summary = self.summarise(&path);
            if [summary, self.roots.summarise(&path)]
                .iter()
                .any(|summary| summary.is_named || summary.is_below)
            {
                self.walked.found.insert(path.clone(), kind);
            }
            match kind {
                NameKind::Directory | NameKind::Mixed => {
                    self.directory(path, kind, summary, part.granted, &part.reach);
                }
                NameKind::File if summary.is_named || HARMLESS_DEVICES.contains(&&*path) => {
                    let rights = self.policy.rights(&path);
                    self.grant(&path, summary, part.granted, rights, HierarchyKind::File);
                }
                NameKind::File | NameKind::Other => {}
            }
        }
    }

    /// Grants what the policy grants on all of a directory, and queues it to be split if more is granted on
    /// parts of it.
    fn directory(
        &mut self,
        path: Vec<u8>,
        kind: NameKind,
        summary: PatternSummary,
        around: Granted,
        reach: &RightsBelow<'p>,
    ) {
        let own = self.whole(self.policy.rights(&path));
        let has_parts = kind == NameKind::Mixed || summary.is_below;
        let mut granted = around;
        if kind == NameKind::Directory && !missing(around, own).is_empty() {
            let least = self.whole(reach.least(&path, |_| false));
            granted = self.grant(&path, summary, around, own.meet(least), HierarchyKind::Directory);
        }
        if has_parts && !missing(granted, self.whole(reach.most(&path))).is_empty() {
            let reach = reach.below(&path);
            self.parts.push_back(Subtree { path, granted, reach });
        }
    }

    /// Returns the rights of a directory that may be left to the kernel. Writing is not among them while something is
    /// protected by its shape, because such a shape may appear anywhere.
    fn whole(&self, rights: Rights) -> Rights {
        if self.policy.protects_shapes() { Rights { w: Grant::No, ..rights } } else { rights }
    }

    /// Grants the rights in `rights` that the directory around it does not grant already.
    fn grant(
        &mut self,
        path: &[u8],
        summary: PatternSummary,
        around: Granted,
        rights: Rights,
        kind: HierarchyKind,
    ) -> Granted {
        let new = missing(around, rights);
        let Some(access) = new.into_iter().chain(around).reduce(|all, bit| all | bit) else { return around };
        if Some(access) == around {
            return around;
        }
        let alike =
            if summary.is_named { self.walked.hierarchies.len() - self.unnamed } else { self.unnamed };
        if alike >= MAX_HIERARCHIES {
            self.walked.is_cut = true;
            return around;
        }
        self.unnamed += usize::from(!summary.is_named);
        self.walked.hierarchies.push(Hierarchy { path: path.to_vec(), access, kind });
        Some(access)
    }
}

/// Returns the kind of a path: `/proc` and `/dev` have their own, whatever the supervisor reports.
fn placed(path: &[u8], kind: NameKind) -> NameKind {
    match kind {
        _ if path == PROC => NameKind::Other,
        NameKind::Directory if path == DEV => NameKind::Mixed,
        kind => kind,
    }
}

/// Returns the reading and writing that `rights` grants without asking and `around` does not.
fn missing(around: Granted, rights: Rights) -> Vec<Access> {
    let bits = [(Access::READ, rights.r), (Access::WRITE, rights.w)];
    let is_new = |bit: Access| around.is_none_or(|around| !around.contains(bit));
    bits.into_iter().filter(|(bit, grant)| *grant == Grant::Yes && is_new(*bit)).map(|(bit, _)| bit).collect()
}

/// How patterns refer to a path, whatever they grant.
#[derive(Clone, Copy, Debug, Default)]
struct PatternSummary {
    /// A pattern names it, or the names in it.
    is_named: bool,
    /// A pattern names something strictly below it, or the names in it.
    is_below: bool,
}

/// Paths in byte order; a trailing slash means the names in a directory.
struct Sorted<'p>(Vec<&'p [u8]>);

impl<'p> Sorted<'p> {
    fn new(paths: impl Iterator<Item = &'p [u8]>) -> Sorted<'p> {
        let mut paths: Vec<&[u8]> = paths.collect();
        paths.sort_unstable();
        Sorted(paths)
    }

    fn summarise(&self, path: &[u8]) -> PatternSummary {
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let start = self.0.partition_point(|other| *other < path);
        let mut summary = PatternSummary::default();
        for rest in self.0[start..].iter().map_while(|other| other.strip_prefix(path)) {
            summary.is_named |= matches!(rest, b"" | b"/");
            if rest.first().is_some_and(|byte| *byte >= b'/') {
                summary.is_below = rest.starts_with(b"/");
                break;
            }
        }
        summary
    }
}

/// Returns the path up to which directories must be split for a pattern: what it names, or the directory
/// before its first wildcard.
fn beginning(glob: &Glob) -> &[u8] {
    let literal = glob.literal();
    if glob.is_literal() {
        return literal;
    }
    let end = literal.iter().rposition(|b| *b == b'/').unwrap_or(0);
    // `dir/*.key` does not split the directories in `dir`; `dir/**` and `dir/a**` do.
    if glob.is_deep_at_once() { &literal[..end] } else { &literal[..literal.len().min(end + 1)] }
}
