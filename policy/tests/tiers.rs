//! What the kernel may be left to decide, on disks that are made up.
#![allow(missing_docs)]

mod common;

use std::collections::BTreeMap;

use common::{compile, compile_with, host};
use guard_policy::{Access, HierarchyKind, Host, Name, NameKind, Overrides, Policy, Tiers};
use serde_json::{Value, json};

/// A disk: each path with what it is. A directory is written with a slash at its end, what is `Other` with `@`, what is
/// `Mixed` with `%`.
struct Disk(BTreeMap<Vec<u8>, Vec<Name>>);

impl Disk {
    fn new(paths: &str) -> Disk {
        let mut disk = Disk(BTreeMap::from([(b"/".to_vec(), Vec::new())]));
        for path in paths.split_whitespace() {
            let (path, kind) = match path.split_at(path.len() - 1) {
                (path, "/") => (path, NameKind::Directory),
                (path, "%") => (path, NameKind::Mixed),
                (path, "@") => (path, NameKind::Other),
                _ => (path, NameKind::File),
            };
            let (parent, name) = path.rsplit_once('/').unwrap();
            let parent = if parent.is_empty() { "/" } else { parent };
            let names = disk.0.get_mut(parent.as_bytes()).unwrap_or_else(|| panic!("{parent} comes later"));
            names.push(Name { name: name.into(), kind });
            if matches!(kind, NameKind::Directory | NameKind::Mixed) {
                disk.0.insert(path.into(), Vec::new());
            }
        }
        disk
    }

    fn tiers(&self, policy: &Policy) -> Tiers {
        let asked = std::cell::RefCell::new(Vec::new());
        let tiers = policy.tiers(&|dir| {
            assert!(
                !asked.borrow().contains(&dir.to_vec()),
                "listed twice: {}",
                String::from_utf8_lossy(dir)
            );
            asked.borrow_mut().push(dir.to_vec());
            self.0.get(dir).cloned()
        });
        for dir in asked.into_inner() {
            assert!(dir == b"/" || self.0.contains_key(&dir), "listed without having been seen");
        }
        tiers
    }
}

/// `r /usr`, `rw /dev/null (file)`, in order.
fn granted(tiers: &Tiers) -> Vec<String> {
    let line = |h: &guard_policy::Hierarchy| {
        let bits: String = [(Access::READ, 'r'), (Access::WRITE, 'w')]
            .iter()
            .filter(|(bit, _)| h.access.contains(*bit))
            .map(|(_, letter)| *letter)
            .collect();
        let file = if h.kind == HierarchyKind::File { " (file)" } else { "" };
        format!("{bits} {}{file}", String::from_utf8_lossy(&h.path))
    };
    tiers.hierarchies.iter().map(line).collect()
}

fn guard(filesystem: Value) -> Value {
    json!({"version": 1, "exec": {"ask": "off", "roots": ["/usr"]},
        "permissions": {"base": false, "filesystem": filesystem}})
}

fn rules(rules: Value) -> Policy {
    compile(&guard(json!({"rules": rules})))
}

#[test]
fn what_is_allowed_as_a_whole_is_granted_as_a_whole() {
    let disk = Disk::new("/a/ /a/b/ /a/b/c/ /usr/ /usr/bin/ /z/");
    let tiers = disk.tiers(&rules(json!({"/usr/**": "r-x", "/a/b/**": "rw-"})));
    assert_eq!(granted(&tiers), ["r /usr", "rw /a/b"]);
    // All is granted at once, where nothing is kept apart.
    let all = compile_with(
        &guard(json!({"default": "r--"})),
        "main",
        &Host { always_denied: vec![], ..host() },
        &Overrides::default(),
    );
    assert_eq!(granted(&disk.tiers(&all)), ["r /"]);
    assert_eq!(granted(&Disk::new("/a/ /l@").tiers(&all)), ["r /a"]);
}

#[test]
fn a_denial_splits_a_hierarchy() {
    let disk = Disk::new("/w/ /w/a/ /w/b/ /w/b/secret/ /w/b/plain/ /w/c/ /w/file /w/link@");
    let policy = compile(&guard(json!({"rules": {"/w/**": "rw-"}, "deny": ["/w/b/secret"]})));
    assert_eq!(granted(&disk.tiers(&policy)), ["rw /w/a", "rw /w/c", "rw /w/b/plain"]);
    // One that may match anywhere leaves nothing whole.
    let policy = compile(&guard(json!({"rules": {"/w/**": "rw-"}, "deny": ["**/.env"]})));
    assert_eq!(granted(&disk.tiers(&policy)), [""; 0]);
    // One that is about the names in a directory leaves the others whole.
    let policy = compile(&guard(json!({"rules": {"/w/**": "rw-"}, "deny": ["/w/*.key", "/w/b*/**"]})));
    assert_eq!(granted(&disk.tiers(&policy)), ["rw /w/a", "rw /w/c"]);
}
