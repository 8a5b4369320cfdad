//! The operator's rules whose reads cannot be left to the kernel as they are, and the parts of them that can.

use super::exact::Compared;
use super::walk::Walked;
use super::{Hierarchy, HierarchyKind, MAX_HIERARCHIES, Name, NameKind, walk};
use crate::paths::entry::CompiledPattern;
use crate::{Access, Grant, Permission, Policy, Rights};

/// A rule that grants reading, where the floor grants only a part of what the rule covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialRead {
    /// Its pattern, as `permissions.filesystem.rules` has it.
    pub pattern: String,
    /// Why it is not granted as it is: a clause that names the rule.
    pub reason: String,
    /// The directories and files that it decides about and that can be granted whole, the shallowest first.
    pub parts: Vec<ReadPart>,
    /// The paths of further parts, for which a floor has no room.
    pub beyond: Vec<Vec<u8>>,
}

/// A directory or a file that a rule lets be read, with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPart {
    /// What the floor grants.
    pub hierarchy: Hierarchy,
    /// What the rule grants there.
    pub permission: Permission,
}

impl Policy {
    /// Returns each rule that is for every agent and that keeps reads from the kernel. `names` is as for
    /// [`Policy::tiers`], but is called a second time for directories that are split. All parts together are no more
    /// than a floor can hold.
    pub fn partial_reads(&self, names: &dyn Fn(&[u8]) -> Option<Vec<Name>>) -> Vec<PartialRead> {
        let walked = walk::walk(self, names);
        let reads = Compared::reads(self, &walked);
        let whole = walked.hierarchies.iter().filter(|h| h.access.contains(Access::READ)).cloned();
        let files = self.files_in_split(&walked, names);
        let granted: Vec<Hierarchy> = whole.chain(files).collect();
        let (granted, beyond) = granted.split_at(granted.len().min(MAX_HIERARCHIES));
        let parts = |key: &str| {
            let decided = granted.iter().filter_map(|hierarchy| {
                let found = self.map.find(&hierarchy.path);
                // For a file alone, `w` and `x` do not count: a program may replace the file, and programs start in directories.
                let rights = match hierarchy.kind {
                    HierarchyKind::Directory => found.rights,
                    HierarchyKind::File => Rights { w: Grant::No, x: Grant::No, ..found.rights },
                };
                let permission = Permission(rights);
                (found.r.path == key).then(|| ReadPart { hierarchy: hierarchy.clone(), permission })
            });
            decided.collect()
        };
        let beyond = |key: &str| {
            let paths = beyond.iter().map(|hierarchy| &hierarchy.path);
            paths.filter(|path| self.map.find(path).r.path == key).cloned().collect()
        };
        let partial = |entry: &CompiledPattern| {
            let reason = reads.why_not_whole(entry)?;
            let key = &entry.reason.path;
            let pattern = key.strip_prefix("permissions.filesystem.rules[\"")?.strip_suffix("\"]")?;
            Some(PartialRead { pattern: pattern.to_owned(), parts: parts(key), beyond: beyond(key), reason })
        };
        self.map.rules().iter().filter_map(partial).collect()
    }

    /// Returns the readable files beside the directories that a split leaves. A floor grants only files that a pattern
    /// names, so it has none of these.
    fn files_in_split(&self, walked: &Walked, names: &dyn Fn(&[u8]) -> Option<Vec<Name>>) -> Vec<Hierarchy> {
        let mut files = Vec::new();
        for directory in walked.split() {
            let mut listed = names(directory).unwrap_or_default();
            listed.retain(|name| name.kind == NameKind::File);
            listed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            for Name { name, .. } in listed {
                let path = [directory.strip_suffix(b"/").unwrap_or(directory), &name].join(&b'/');
                let is_granted = walked.hierarchies.iter().any(|h| h.covers(&path, Access::READ));
                if !is_granted && self.rights(&path).r == Grant::Yes {
                    files.push(Hierarchy { path, access: Access::READ, kind: HierarchyKind::File });
                }
            }
        }
        files
    }
}
