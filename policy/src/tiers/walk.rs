//! From the root downward: what is allowed as a whole is granted, what is allowed in part is taken apart.

use std::collections::{HashMap, VecDeque};

use super::{HARMLESS_DEVICES, Hierarchy, HierarchyKind, MAX_HIERARCHIES, Name, NameKind};
use crate::glob::Glob;
use crate::reach::Reach;
use crate::{Access, Grant, Policy, Rights};

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) hierarchies: Vec<Hierarchy>,
    pub(super) is_cut: bool,
    /// What was found in the directories that were taken apart.
    found: HashMap<Vec<u8>, NameKind>,
}

impl Walked {
    /// What a path was, where its directory was taken apart.
    pub(super) fn kind(&self, path: &[u8]) -> Option<NameKind> {
        self.found.get(path).copied()
    }
}

/// What a directory grants as a whole; never empty.
type Granted = Option<Access>;

/// A directory that is to be taken apart.
struct Part<'p> {
    path: Vec<u8>,
    granted: Granted,
    reach: Reach<'p>,
}

struct Walk<'p> {
    policy: &'p Policy,
    named: Named<'p>,
    /// The shallowest first.
    parts: VecDeque<Part<'p>>,
    walked: Walked,
}

pub(super) fn walk(policy: &Policy, names: &dyn Fn(&[u8]) -> Option<Vec<Name>>) -> Walked {
    let walk = Walk { policy, named: Named::of(policy), parts: VecDeque::new(), walked: Walked::default() };
    walk.run(names)
}

impl<'p> Walk<'p> {
    fn run(mut self, names: &dyn Fn(&[u8]) -> Option<Vec<Name>>) -> Walked {
        // Whether all of it may be granted is not said by a name, but by those that are in it.
        let Some(mut top) = names(b"/") else { return self.walked };
        let is_mixed = top.iter().any(|name| matches!(name.kind, NameKind::Other | NameKind::Mixed));
        let kind = if is_mixed { NameKind::Mixed } else { NameKind::Directory };
        let all = Reach::of(&self.policy.map);
        self.directory(b"/".to_vec(), kind, None, &all);
        while let Some(part) = self.parts.pop_front().filter(|_| !self.walked.is_cut) {
            let listed = if part.path == b"/" { Some(std::mem::take(&mut top)) } else { names(&part.path) };
            self.apart(&part, listed.unwrap_or_default());
        }
        self.walked
    }

    /// Takes the names of a directory one by one.
    fn apart(&mut self, part: &Part<'p>, mut names: Vec<Name>) {
        // The same disk gives the same floor.
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for Name { name, kind } in names {
            if matches!(&*name, b"" | b"." | b"..") || name.contains(&b'/') {
                continue;
            }
            let path = [part.path.strip_suffix(b"/").unwrap_or(&part.path), &name].join(&b'/');
            if self.named.is_spoken_of(&path) {
                self.walked.found.insert(path.clone(), kind);
            }
            match kind {
                NameKind::Directory | NameKind::Mixed => {
                    self.directory(path, kind, part.granted, &part.reach);
                }
                NameKind::File if self.named.is_file(&path) => {
                    self.grant(&path, part.granted, self.policy.rights(&path), HierarchyKind::File);
                }
                NameKind::File | NameKind::Other => {}
            }
        }
    }

    /// Grants what is granted of all of a directory, and remembers it for later where more is granted of parts of it.
    fn directory(&mut self, path: Vec<u8>, kind: NameKind, around: Granted, reach: &Reach<'p>) {
        let own = self.policy.rights(&path);
        let has_parts = kind == NameKind::Mixed || self.named.is_below(&path);
        let mut granted = around;
        if kind == NameKind::Directory && !missing(around, own).is_empty() {
            let least = reach.least(&path, |_| false);
            granted = self.grant(&path, around, own.meet(least), HierarchyKind::Directory);
        }
        if has_parts && !missing(granted, reach.most(&path)).is_empty() {
            let reach = reach.below(&path);
            self.parts.push_back(Part { path, granted, reach });
        }
    }

    /// Grants what `rights` has and the directory around it does not grant already.
    fn grant(&mut self, path: &[u8], around: Granted, rights: Rights, kind: HierarchyKind) -> Granted {
        let new = missing(around, rights);
        let Some(access) = new.into_iter().chain(around).reduce(|all, bit| all | bit) else { return around };
        if Some(access) == around {
            return around;
        }
        if self.walked.hierarchies.len() >= MAX_HIERARCHIES {
            self.walked.is_cut = true;
            return around;
        }
        self.walked.hierarchies.push(Hierarchy { path: path.to_vec(), access, kind });
        Some(access)
    }
}

/// What `rights` grants of reading and writing without asking and `around` does not.
fn missing(around: Granted, rights: Rights) -> Vec<Access> {
    let bits = [(Access::READ, rights.r), (Access::WRITE, rights.w)];
    let is_new = |bit: Access| around.is_none_or(|around| !around.contains(bit));
    bits.into_iter().filter(|(bit, grant)| *grant == Grant::Yes && is_new(*bit)).map(|(bit, _)| bit).collect()
}

/// The paths that patterns name.
struct Named<'p> {
    /// Where patterns without wildcards lead, in order.
    literals: Vec<&'p [u8]>,
    /// Where a directory has to be taken apart: what a pattern names, or the directory before its first wildcard; with a
    /// slash at the end where the wildcard is about the names in it. In order.
    beginnings: Vec<&'p [u8]>,
}

impl<'p> Named<'p> {
    fn of(policy: &'p Policy) -> Named<'p> {
        let map = &policy.map;
        let entries = map.denies.iter().chain(&map.rules).chain(&map.base).map(|e| &e.glob);
        let globs: Vec<&Glob> = entries.chain(map.answers.iter().map(|a| &a.glob)).collect();
        let mut literals: Vec<&[u8]> =
            globs.iter().filter(|g| g.is_literal()).map(|g| g.literal()).chain(HARMLESS_DEVICES).collect();
        let mut beginnings: Vec<&[u8]> = globs.iter().map(|glob| beginning(glob)).collect();
        literals.sort_unstable();
        beginnings.sort_unstable();
        beginnings.dedup();
        Named { literals, beginnings }
    }

    /// Whether a pattern, or the list of harmless devices, names this file itself.
    fn is_file(&self, path: &[u8]) -> bool {
        self.literals.binary_search(&path).is_ok()
    }

    /// Whether a pattern begins with a path itself.
    fn is_spoken_of(&self, path: &[u8]) -> bool {
        self.behind(path).any(|rest| matches!(rest, b"" | b"/"))
    }

    /// Whether a pattern's beginning lies strictly below a directory.
    fn is_below(&self, dir: &[u8]) -> bool {
        self.behind(dir.strip_suffix(b"/").unwrap_or(dir)).any(|rest| rest.starts_with(b"/"))
    }

    /// What stands behind `path` in the beginnings that start with these bytes.
    fn behind(&self, path: &[u8]) -> impl Iterator<Item = &'p [u8]> {
        let start = self.beginnings.partition_point(|beginning| *beginning < path);
        self.beginnings[start..].iter().map_while(move |beginning| beginning.strip_prefix(path))
    }
}

fn beginning(glob: &Glob) -> &[u8] {
    let literal = glob.literal();
    if glob.is_literal() {
        return literal;
    }
    let end = literal.iter().rposition(|b| *b == b'/').unwrap_or(0);
    // `dir/*.key` leaves the directories in `dir` whole, `dir/**` and `dir/a**` do not.
    if glob.is_deep_at_once() { &literal[..end] } else { &literal[..literal.len().min(end + 1)] }
}
