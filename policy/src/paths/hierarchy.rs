//! What the map means for whole directories: whether they may be moved, and whether they are uniform.

use super::ceilings::Ceilings;
use super::exec_roots::is_below;
use super::glob::{Below, Glob};
use crate::{Access, Grant, Policy, Site};

/// What may not be read, as far as its name is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unreadable {
    /// This path.
    Path(Vec<u8>),
    /// Every path in the same directory that begins so: a denial of `/c/key*` is about `/c/key` and
    /// `/c/keys`, and one of `/c/key*/**` also about `/c/keys/x`.
    Prefix(Vec<u8>),
}

impl Unreadable {
    /// What a pattern denies below `dir`. `None` if that may be anywhere below it.
    fn new(glob: &Glob, dir: &[u8]) -> Option<Unreadable> {
        let (top, literal) = (glob.top(), glob.literal());
        if !is_below(top, dir) {
            return None;
        }
        // If no part of a name precedes the wildcard, the directory itself counts.
        match glob.is_literal() || literal.ends_with(b"/") {
            true => (top != dir).then(|| Unreadable::Path(top.to_vec())),
            false => Some(Unreadable::Prefix(literal.to_vec())),
        }
    }
}

impl Policy {
    /// Returns true when moving `old` to `new` gives no new right to it or, for a directory, to anything below it. False
    /// where that cannot be proven; `mv` then copies, and the copy is judged.
    pub fn may_move(&self, old: &[u8], new: &[u8], directory: bool) -> bool {
        if !self.rights(new).within(self.rights(old)) {
            return false;
        }
        // A denial such as `**/.env` depends on names below the directory, which move with it. Such a denial
        // holds for the same files at both places and needs no proof. A denial that covers `old` itself denies
        // everything below it, so `least_below` must count it.
        let moves_along = |glob: &Glob| glob.is_position_free() && !glob.covers(old);
        // The contents arrive at the new place without being judged one by one.
        let below = |dir| self.map.least_below(dir, moves_along);
        // A move must not carry protected places away or replace them.
        let leaves_all = || [old, new].iter().all(|dir| self.keeps_below(dir).is_none());
        !directory
            || (self.map.most_below(new).within(below(old)) && below(new).w == Grant::Yes && leaves_all())
    }

    /// Like [`Policy::may_move`], for a file at `old` that the tree has made: what persistence withholds at `old` is
    /// not withheld from such a file.
    pub fn may_move_own(&self, old: &[u8], new: &[u8]) -> bool {
        self.rights(new).within(self.map.find_at(old, Some(Site::Own)).rights)
    }

    /// Returns true when a rule or the base names this path itself, not a hierarchy around it, and grants `w`
    /// on it. The tree needs that for a socket that a process outside it serves.
    pub fn names(&self, path: &[u8]) -> bool {
        let mut rules = self.map.rules().iter().chain(self.map.base().iter());
        rules.any(|e| !e.glob.is_deep() && e.rights.w == Grant::Yes && e.glob.covers(path))
    }

    /// Returns true when the policy allows `access` without asking for `path` and everything that is or will
    /// be below it, so that a floor that grants the hierarchy is still right. False where that cannot be
    /// proven.
    pub fn is_uniform(&self, path: &[u8], access: Access) -> bool {
        // What is protected by its shape may come to be in any directory.
        let may_hold_shapes = access.contains(Access::WRITE) && self.protects_shapes();
        !may_hold_shapes && self.rights(path).grants(access) && self.least_below(path).grants(access)
    }

    /// Returns the names below `dir` without which [`Policy::is_uniform`] would hold for reading: as long as none of
    /// them exists, everything below `dir` may be read. `None` if there is no such list.
    pub fn unreadable_below(&self, dir: &[u8]) -> Option<Vec<Unreadable>> {
        let of_projects = self.map.ceilings().iter().flat_map(Ceilings::denials);
        let denies = self.map.denies().iter().chain(of_projects).map(|entry| &entry.glob);
        let denies = denies.filter(|glob| glob.below(dir) != Below::Nothing);
        let mut names = denies.map(|glob| Unreadable::new(glob, dir)).collect::<Option<Vec<Unreadable>>>()?;
        names.sort_unstable();
        names.dedup();
        let is_readable =
            self.rights(dir).r == Grant::Yes && self.map.least_below(dir, |_| true).r == Grant::Yes;
        is_readable.then_some(names)
    }

    /// Returns true when some program at or below `dir` may start without asking, or when that cannot be excluded.
    pub fn starts_unasked(&self, dir: &[u8]) -> bool {
        self.rights(dir).x == Grant::Yes || self.map.most_below(dir).x == Grant::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::Unreadable;
    use crate::{Access, Document, Host, Overrides, Policy};

    #[test]
    fn what_keeps_a_directory_from_being_read_as_a_whole_is_listed() {
        let text = r#"{"version": 1, "permissions": {"filesystem": {
            "rules": {"/c/**": "rwx", "/k/**": "r--", "/k/longer": "---", "/g/**": "r-x", "/d/**": "r--"},
            "deny": ["/c/token", "/c/deep/secrets", "/c/e/*.key", "/c/key*", "/c/key*/**", "/g/*.pem", "/d", "**/.env"]}}}"#;
        let without = text.replace(", \"**/.env\"", "");
        let policy = |text: &str| {
            let document = Document::parse("test", text).unwrap();
            Policy::compile(&document, "main", &Host::bare(b"/home/u", b"/w"), &Overrides::default()).unwrap()
        };
        let (policy, anywhere) = (policy(&without), policy(text));
        let below = |policy: &Policy, dir: &str| {
            let text = |path: Vec<u8>| String::from_utf8(path).unwrap();
            let found = policy.unreadable_below(dir.as_bytes())?.into_iter();
            let shown = found.map(|name| match name {
                Unreadable::Path(path) => text(path),
                Unreadable::Prefix(path) => text(path) + "*",
            });
            Some(shown.collect::<Vec<_>>())
        };
        let listed = |paths: &[&str]| Some(paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        assert_eq!(below(&policy, "/c"), listed(&["/c/deep/secrets", "/c/e", "/c/token", "/c/key*"]));
        assert_eq!(below(&policy, "/c/deep"), listed(&["/c/deep/secrets"]));
        assert_eq!(below(&policy, "/c/other"), listed(&[]));
        assert!(policy.is_uniform(b"/c/other", Access::READ) && !policy.is_uniform(b"/c", Access::READ));
        // In this order: a rule withholds reading, a pattern begins at the directory itself, the directory is denied,
        // nothing allows it.
        for dir in ["/k", "/g", "/d", "/nowhere"] {
            assert_eq!(below(&policy, dir), None, "{dir}");
        }
        // A name that is denied everywhere may come to be anywhere.
        assert_eq!(below(&anywhere, "/c/other"), None);
    }
}
