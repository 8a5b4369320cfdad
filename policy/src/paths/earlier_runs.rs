//! Where earlier guarded runs could write. Nothing there is the operator's for certain, whatever this policy withholds.

use std::collections::HashSet;
use std::sync::Arc;

/// The places that earlier runs, maybe under other policies, could write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierRuns {
    /// Real paths: each stands for itself and everything below it. Each policy of a host has the same ones.
    places: Arc<HashSet<Vec<u8>>>,
    /// Directories that do not count, in the same way.
    except: HashSet<Vec<u8>>,
}

impl EarlierRuns {
    /// Returns the runs that could write these real paths and what is below them.
    pub fn new(places: impl IntoIterator<Item = Vec<u8>>) -> EarlierRuns {
        EarlierRuns { places: Arc::new(places.into_iter().collect()), except: HashSet::new() }
    }

    /// Returns the same runs, of which none could write in these directories.
    #[must_use]
    pub fn outside_of(self, directories: &[&str]) -> EarlierRuns {
        let except = directories.iter().map(|directory| directory.as_bytes().to_vec()).collect();
        EarlierRuns { except, ..self }
    }

    /// Adds places.
    pub(crate) fn extend(&mut self, places: impl IntoIterator<Item = Vec<u8>>) {
        Arc::make_mut(&mut self.places).extend(places);
    }

    /// Returns whether one of them could write a path.
    pub fn may_write(&self, path: &[u8]) -> bool {
        is_in(&self.places, path) && !is_in(&self.except, path)
    }
}

/// Returns whether a set has a path or a directory above it.
fn is_in(set: &HashSet<Vec<u8>>, path: &[u8]) -> bool {
    if set.is_empty() {
        return false;
    }
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut above = slashes.map(|(at, _)| path.get(..at.max(1)).unwrap_or_default());
    set.contains(path) || above.any(|directory| set.contains(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_stands_for_what_is_below_it() {
        let runs = EarlierRuns::new([b"/home/u/work".to_vec(), b"/tmp".to_vec()]);
        for path in ["/home/u/work", "/home/u/work/a/b", "/tmp/x"] {
            assert!(runs.may_write(path.as_bytes()), "{path}");
        }
        for path in ["/home/u", "/home/u/workshop", "/", "/tmpx", "home/u/work", ""] {
            assert!(!runs.may_write(path.as_bytes()), "{path}");
        }
        assert!(EarlierRuns::new([b"/".to_vec()]).may_write(b"/usr/bin/env"));
        let unknown = EarlierRuns::new([b"/".to_vec()]).outside_of(&["/usr", "/lib"]);
        assert!(unknown.may_write(b"/opt/tool") && unknown.may_write(b"/library/x"));
        assert!(!unknown.may_write(b"/usr/bin/env") && !unknown.may_write(b"/usr"));
        assert!(!EarlierRuns::default().may_write(b"/usr/bin/env"));
    }
}
