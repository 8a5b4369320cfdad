//! Simulated disks, as a supervisor would list them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use guard_policy::{Name, NameKind, Policy, Tiers};

/// The object at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    Directory,
    File,
    Link,
    /// A mount of a special file system, such as procfs.
    Apart,
}

/// Paths with their objects; parents are directories.
#[derive(Clone, Debug)]
pub struct Disk(pub BTreeMap<String, Thing>);

impl Disk {
    /// Parses paths separated by spaces. A directory ends in a slash, a link in `@`, a special mount in `!`.
    pub fn new(paths: &str) -> Disk {
        let thing = |path: &str| {
            let (rest, thing) = match path.split_at(path.len() - 1) {
                (rest, "/") => (rest, Thing::Directory),
                (rest, "@") => (rest, Thing::Link),
                (rest, "!") => (rest, Thing::Apart),
                _ => (path, Thing::File),
            };
            (rest.to_owned(), thing)
        };
        Disk(paths.split_whitespace().map(thing).collect())
    }

    /// The entries of a directory; `None` if the path is not a directory.
    pub fn names(&self, dir: &str) -> Option<Vec<Name>> {
        if dir != "/" && self.0.get(dir) != Some(&Thing::Directory) {
            return None;
        }
        let top = if dir == "/" { "" } else { dir };
        let name = |(path, thing): (&String, &Thing)| {
            let name = path.strip_prefix(top)?.strip_prefix('/').filter(|name| !name.contains('/'))?;
            let kind = match thing {
                Thing::Directory if self.holds_apart(path) => NameKind::Mixed,
                Thing::Directory => NameKind::Directory,
                Thing::File => NameKind::File,
                Thing::Link | Thing::Apart => NameKind::Other,
            };
            Some(Name { name: name.into(), kind })
        };
        // The order must not matter.
        Some(self.0.iter().rev().filter_map(name).collect())
    }

    /// Whether a special mount is below a directory.
    pub fn holds_apart(&self, dir: &str) -> bool {
        let top = format!("{}/", dir.trim_end_matches('/'));
        self.0.iter().any(|(path, thing)| *thing == Thing::Apart && path.starts_with(&top))
    }

    /// Makes the plan. Checks that no directory is listed twice, and none that was not found before.
    pub fn tiers(&self, policy: &Policy) -> Tiers {
        let asked = RefCell::new(Vec::new());
        let tiers = policy.tiers(&|dir| {
            let dir = std::str::from_utf8(dir).unwrap().to_owned();
            assert!(!asked.borrow().contains(&dir), "listed twice: {dir}");
            assert!(dir == "/" || self.0.get(&dir) == Some(&Thing::Directory), "not seen as one: {dir}");
            let names = self.names(&dir);
            asked.borrow_mut().push(dir);
            names
        });
        assert_eq!(asked.borrow().first().map(String::as_str), Some("/"));
        tiers
    }
}
