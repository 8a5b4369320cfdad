//! All protected places, sorted by path so that a lookup compares only a few.

use crate::paths::entry::CompiledPattern;
use crate::paths::glob::Glob;

/// Protected places, whose only wildcard is a trailing `/**`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProtectedPaths(Vec<CompiledPattern>);

impl ProtectedPaths {
    pub(super) fn new(mut entries: Vec<CompiledPattern>) -> ProtectedPaths {
        entries.sort_by(|a, b| a.glob.literal().cmp(b.glob.literal()));
        ProtectedPaths(entries)
    }

    pub(crate) fn entries(&self) -> &[CompiledPattern] {
        &self.0
    }

    /// Returns a place strictly below a directory, or one that covers everything below it.
    pub(crate) fn any_below(&self, dir: &[u8]) -> Option<&CompiledPattern> {
        let inside = inside(dir);
        let first = self.0.get(self.0.partition_point(|entry| entry.glob.literal() < &*inside));
        first.filter(|entry| entry.glob.literal().starts_with(&inside)).or_else(|| self.all_below(dir))
    }

    /// Returns a place that covers everything below a directory.
    pub(crate) fn all_below(&self, dir: &[u8]) -> Option<&CompiledPattern> {
        let inside = inside(dir);
        let ends = (0..inside.len()).filter(|at| inside[*at] == b'/');
        ends.map(|at| &inside[..=at]).find_map(|top| {
            let at = self.0.binary_search_by(|entry| entry.glob.literal().cmp(top)).ok()?;
            Some(&self.0[at])
        })
    }

    /// Returns a place that covers everything that a pattern covers.
    pub(crate) fn all_of(&self, glob: &Glob) -> Option<&CompiledPattern> {
        self.0.iter().find(|entry| entry.glob.covers_all_of(glob))
    }
}

/// Returns the directory with a trailing slash: the prefix of every path in it.
fn inside(dir: &[u8]) -> Vec<u8> {
    [dir.strip_suffix(b"/").unwrap_or(dir), b"/"].concat()
}
