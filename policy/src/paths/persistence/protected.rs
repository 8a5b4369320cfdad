//! All protected places, sorted by path so that a lookup compares only a few.

use std::sync::Arc;

use foldhash::HashSet;

use super::{Shapes, ceiling};
use crate::Grant;
use crate::paths::entry::CompiledPattern;
use crate::paths::glob::Glob;
use crate::verdict::CompiledReason;

/// The protected paths, and the shapes that are protected in every directory. A path may end in `/**`. It may have a star
/// in its last name, or in the name of a directory that is protected with all that is in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProtectedPaths {
    entries: Vec<CompiledPattern>,
    /// The paths that are only a repository's configuration.
    git_configs: HashSet<Vec<u8>>,
    shapes: Shapes,
    /// The reason for [`REPLACEMENT`], if the guard asks about any place.
    replacement: Option<Arc<CompiledReason>>,
}

/// The name of the guard's own file beside one that it is about to replace. The tree can neither make nor write
/// such a file, in any directory.
pub const REPLACEMENT: &[u8] = b".openclaw-guard.new";

impl ProtectedPaths {
    pub(super) fn new(
        entries: Vec<CompiledPattern>,
        git_configs: HashSet<Vec<u8>>,
        shapes: Shapes,
        replacement: Option<CompiledReason>,
    ) -> ProtectedPaths {
        ProtectedPaths { entries, git_configs, shapes, replacement: replacement.map(Arc::new) }
            .sorted()
            .without_repeats()
    }

    /// Leaves out each place that is there twice, for instance below the home and below `$XDG_CONFIG_HOME`. The places of
    /// one path lie next to each other, and are few.
    fn without_repeats(mut self) -> ProtectedPaths {
        let mut kept: Vec<CompiledPattern> = Vec::with_capacity(self.entries.len());
        for entry in std::mem::take(&mut self.entries) {
            let mut others = kept.iter().rev().take_while(|kept| kept.glob.literal() == entry.glob.literal());
            if !others.any(|other| other.glob == entry.glob && other.rights == entry.rights) {
                kept.push(entry);
            }
        }
        self.entries = kept;
        self
    }

    /// Returns why nothing may be written at a path whose name is the guard's own.
    pub(crate) fn replacement(&self, path: &[u8]) -> Option<&CompiledReason> {
        let reason = self.replacement.as_deref()?;
        let is_named = path.strip_suffix(REPLACEMENT).is_some_and(|directory| directory.ends_with(b"/"));
        is_named.then_some(reason)
    }

    /// Returns whether an entry is only for the repository's configuration at this path.
    pub(crate) fn is_git_config(&self, entry: &CompiledPattern, path: &[u8]) -> bool {
        entry.glob.literal() == path && self.git_configs.contains(path)
    }

    /// Adds a symbolic link on the way to what is denied for this reason.
    pub(crate) fn add_way(&mut self, link: &[u8], denied: &CompiledReason) {
        let CompiledReason { source, path, rule, text } = denied;
        let reason = CompiledReason {
            source: *source,
            path: path.clone(),
            rule: format!("{rule}, to which this link leads"),
            text: format!("{text}, and this link leads there"),
        };
        self.add(link, reason);
    }

    /// Adds a single file or directory.
    pub(crate) fn add(&mut self, path: &[u8], reason: CompiledReason) {
        let glob = Glob::new(path, "", true);
        self.entries.push(CompiledPattern { glob, rights: ceiling(Grant::No), reason: Arc::new(reason) });
    }

    /// Returns the places in the order in which they are looked up.
    pub(crate) fn sorted(mut self) -> ProtectedPaths {
        self.entries.sort_by(|a, b| a.glob.literal().cmp(b.glob.literal()));
        self
    }

    pub(crate) fn entries(&self) -> &[CompiledPattern] {
        &self.entries
    }

    /// Returns the shapes that are protected in every directory.
    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Returns a place strictly below a directory, or one that covers everything below it.
    pub(crate) fn any_below(&self, dir: &[u8]) -> Option<&CompiledPattern> {
        let inside = inside(dir);
        let first = self.entries.get(self.entries.partition_point(|entry| entry.glob.literal() < &*inside));
        first.filter(|entry| entry.glob.literal().starts_with(&inside)).or_else(|| self.all_below(dir))
    }

    /// Returns a place that covers everything below a directory.
    pub(crate) fn all_below(&self, dir: &[u8]) -> Option<&CompiledPattern> {
        let inside = inside(dir);
        let ends = (0..inside.len()).filter(|at| inside[*at] == b'/');
        ends.map(|at| &inside[..=at]).find_map(|top| {
            let first = self.entries.partition_point(|entry| entry.glob.literal() < top);
            let mut of_top = self.entries[first..].iter().take_while(|entry| entry.glob.literal() == top);
            // Other places cover only some names in the directory.
            of_top.find(|entry| entry.glob.is_deep_at_once())
        })
    }

    /// Returns a place that covers everything that a pattern covers.
    pub(crate) fn all_of(&self, glob: &Glob) -> Option<&CompiledPattern> {
        self.entries.iter().find(|entry| entry.glob.covers_all_of(glob))
    }
}

/// Returns the directory with a trailing slash: the prefix of every path in it.
fn inside(dir: &[u8]) -> Vec<u8> {
    [dir.strip_suffix(b"/").unwrap_or(dir), b"/"].concat()
}
