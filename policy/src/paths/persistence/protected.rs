//! All places that are kept, in the order of their paths, so that few of them are looked at.

use crate::paths::entry::CompiledPattern;
use crate::paths::glob::Glob;

/// Places without wildcards but for `/**` at the end of one.
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

    /// One at or strictly below a directory, or around it.
    pub(crate) fn any_below(&self, dir: &[u8]) -> Option<&CompiledPattern> {
        let inside = inside(dir);
        let first = self.0.get(self.0.partition_point(|entry| entry.glob.literal() < &*inside));
        first.filter(|entry| entry.glob.literal().starts_with(&inside)).or_else(|| self.all_below(dir))
    }

    /// One that is all that is below a directory.
    pub(crate) fn all_below(&self, dir: &[u8]) -> Option<&CompiledPattern> {
        let inside = inside(dir);
        let ends = (0..inside.len()).filter(|at| inside[*at] == b'/');
        ends.map(|at| &inside[..=at]).find_map(|top| {
            let at = self.0.binary_search_by(|entry| entry.glob.literal().cmp(top)).ok()?;
            Some(&self.0[at])
        })
    }

    /// One that covers all that a pattern does.
    pub(crate) fn all_of(&self, glob: &Glob) -> Option<&CompiledPattern> {
        self.0.iter().find(|entry| entry.glob.covers_all_of(glob))
    }
}

/// What the path of all that is in a directory begins with.
fn inside(dir: &[u8]) -> Vec<u8> {
    [dir.strip_suffix(b"/").unwrap_or(dir), b"/"].concat()
}
