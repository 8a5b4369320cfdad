//! The remotes that the tree has added to git configurations in this session: it may remove them, too.
//!
//! A remote that somebody else has changed since is the operator's: the operator means it when they type its name, and
//! without the remote, git would take the name for a path.

use std::collections::{BTreeMap, HashMap};

use guard_policy::git_config::{Entry, remotes};
use parking_lot::Mutex;

use crate::resolve::Identity;

/// How many configurations the guard remembers. The remotes of any further configuration count as the operator's.
const MAX_CONFIGS: usize = 1024;
/// How many bytes the guard remembers of each configuration. A remote that has no room counts as the operator's.
const MAX_BYTES: usize = 64 << 10;

/// A configuration: its git directory, and its real path.
type Config = (Identity, Vec<u8>);
/// What is said of each remote, by its name.
type Remotes = BTreeMap<Vec<u8>, Vec<Entry>>;

/// The remotes by configuration, as the tree has written them.
#[derive(Debug, Default)]
pub struct GitRemotes(Mutex<HashMap<Config, Remotes>>);

impl GitRemotes {
    /// Returns the names of the remotes in a configuration that are still as the tree wrote them. `now` is the
    /// configuration's text.
    pub fn names(&self, directory: Identity, path: &[u8], now: &[u8]) -> Vec<Vec<u8>> {
        let written = self.0.lock().get(&(directory, path.to_vec())).cloned().unwrap_or_default();
        if written.is_empty() {
            return Vec::new();
        }
        unchanged(written, &remotes(now)).into_keys().collect()
    }

    /// Notes that the tree changes a configuration.
    pub fn note(&self, directory: Identity, path: &[u8], old: &[u8], new: &[u8]) {
        let (before, after) = (remotes(old), remotes(new));
        let mut all = self.0.lock();
        let key = (directory, path.to_vec());
        let known = unchanged(all.remove(&key).unwrap_or_default(), &before);
        let is_own = |name: &Vec<u8>| !before.contains_key(name) || known.contains_key(name);
        let mut left = MAX_BYTES;
        let own: Remotes = after
            .into_iter()
            .filter(|(name, said)| {
                let rest = is_own(name).then(|| left.checked_sub(length(name, said))).flatten();
                left = rest.unwrap_or(left);
                rest.is_some()
            })
            .collect();
        if !own.is_empty() && all.len() < MAX_CONFIGS {
            all.insert(key, own);
        }
    }
}

/// The remotes that are in `now` as the tree wrote them.
fn unchanged(mut written: Remotes, now: &Remotes) -> Remotes {
    written.retain(|name, said| now.get(name) == Some(said));
    written
}

fn length(name: &[u8], said: &[Entry]) -> usize {
    let entry = |entry: &Entry| entry.name.len() + entry.value.as_ref().map_or(0, Vec::len);
    name.len() + said.iter().map(entry).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTORY: Identity = Identity { device: 1, inode: 1 };

    fn config(remotes: &[(&str, &str)]) -> String {
        let remote = |(name, url): &(&str, &str)| format!("[remote \"{name}\"]\n\turl = {url}\n");
        remotes.iter().map(remote).collect()
    }

    #[test]
    fn what_was_added_counts_until_it_is_removed() {
        let config = |names: &[&str]| config(&names.iter().map(|name| (*name, "h:r")).collect::<Vec<_>>());
        let own = GitRemotes::default();
        let note = |old: &[&str], new: &[&str]| {
            own.note(DIRECTORY, b"/c", config(old).as_bytes(), config(new).as_bytes());
            own.names(DIRECTORY, b"/c", config(new).as_bytes()).concat()
        };
        assert_eq!(note(&["o"], &["o", "a"]), b"a");
        assert_eq!(note(&["o", "a"], &["o", "a", "b"]), b"ab");
        assert_eq!(note(&["o", "a", "b"], &["o", "b"]), b"b");
        // The operator has added this one meanwhile.
        assert_eq!(note(&["o", "a", "b"], &["o", "a", "b"]), b"b");
        let all = config(&["o", "a", "b"]);
        assert!(own.names(DIRECTORY, b"/d", all.as_bytes()).is_empty());
        assert!(own.names(Identity { device: 1, inode: 2 }, b"/c", all.as_bytes()).is_empty());
        assert_eq!(note(&["o", "b"], &["o"]), b"");
    }

    #[test]
    fn what_somebody_else_has_changed_does_not_count() {
        let own = GitRemotes::default();
        let names = |text: &str| own.names(DIRECTORY, b"/c", text.as_bytes());
        let (old, new) = (config(&[("o", "h:r")]), config(&[("o", "h:r"), ("a", "h:r")]));
        own.note(DIRECTORY, b"/c", old.as_bytes(), new.as_bytes());
        assert_eq!(names(&new), [b"a"]);
        assert_eq!(names(&format!("# a comment\n{new}")), [b"a"]);
        let changed = config(&[("o", "h:r"), ("a", "h:other")]);
        for text in [&*changed, &*format!("{new}\tfetch = x\n"), &*format!("{new}\turl = h:other\n"), &*old] {
            assert!(names(text).is_empty(), "{text}");
        }
        // The tree changes something else, and then what the operator has changed: neither makes the remote the tree's again.
        let user = format!("{changed}[user]\n\tname = u\n");
        own.note(DIRECTORY, b"/c", changed.as_bytes(), user.as_bytes());
        assert!(names(&user).is_empty());
        own.note(DIRECTORY, b"/c", user.as_bytes(), new.as_bytes());
        assert!(names(&new).is_empty());
        // A remote that the tree itself changes stays the tree's.
        own.note(DIRECTORY, b"/c", old.as_bytes(), new.as_bytes());
        own.note(DIRECTORY, b"/c", new.as_bytes(), changed.as_bytes());
        assert_eq!(names(&changed), [b"a"]);
    }

    #[test]
    fn what_has_no_room_does_not_count() {
        let own = GitRemotes::default();
        let long = "x".repeat(MAX_BYTES);
        let new = config(&[("a", "h:r"), ("b", &*long), ("c", "h:r")]);
        own.note(DIRECTORY, b"/c", b"", new.as_bytes());
        assert_eq!(own.names(DIRECTORY, b"/c", new.as_bytes()).concat(), b"ac");
    }
}
