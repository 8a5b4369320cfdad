//! The remotes that the tree has added to git configurations in this session: it may remove them, too.

use std::collections::HashMap;

use guard_policy::git_config::remotes;
use parking_lot::Mutex;

use crate::resolve::Identity;

/// How many configurations there may be. The remotes of any other count as the operator's.
const MAX_CONFIGS: usize = 1024;

/// A configuration: its git directory, and its real path.
type Config = (Identity, Vec<u8>);

/// The remotes by configuration.
#[derive(Debug, Default)]
pub struct GitRemotes(Mutex<HashMap<Config, Vec<Vec<u8>>>>);

impl GitRemotes {
    /// Returns the names of those in a configuration.
    pub fn names(&self, directory: Identity, path: &[u8]) -> Vec<Vec<u8>> {
        self.0.lock().get(&(directory, path.to_vec())).cloned().unwrap_or_default()
    }

    /// Notes that the tree changes a configuration.
    pub fn note(&self, directory: Identity, path: &[u8], old: &[u8], new: &[u8]) {
        let (before, after) = (remotes(old), remotes(new));
        let mut all = self.0.lock();
        let key = (directory, path.to_vec());
        let known = all.remove(&key).unwrap_or_default();
        let is_own = |name: &Vec<u8>| !before.contains(name) || known.contains(name);
        let own: Vec<Vec<u8>> = after.into_iter().filter(is_own).collect();
        if !own.is_empty() && all.len() < MAX_CONFIGS {
            all.insert(key, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_counts_until_it_is_removed() {
        let config = |names: &[&str]| {
            names.iter().map(|name| format!("[remote \"{name}\"]\n\turl = h:r\n")).collect::<String>()
        };
        let directory = Identity { device: 1, inode: 1 };
        let own = GitRemotes::default();
        let note = |old: &[&str], new: &[&str]| {
            own.note(directory, b"/c", config(old).as_bytes(), config(new).as_bytes());
            own.names(directory, b"/c").concat()
        };
        assert_eq!(note(&["o"], &["o", "a"]), b"a");
        assert_eq!(note(&["o", "a"], &["o", "a", "b"]), b"ab");
        assert_eq!(note(&["o", "a", "b"], &["o", "b"]), b"b");
        // The operator has added this one meanwhile.
        assert_eq!(note(&["o", "a", "b"], &["o", "a", "b"]), b"b");
        assert!(own.names(directory, b"/d").is_empty());
        assert!(own.names(Identity { device: 1, inode: 2 }, b"/c").is_empty());
        assert_eq!(note(&["o", "b"], &["o"]), b"");
    }
}
