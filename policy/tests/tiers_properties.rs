//! Properties of every plan, for random policies and disks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::disk::{Disk, Thing};
use crate::common::{self, compile_with, host};
use guard_policy::store::Store;
use guard_policy::{
    Access, Ask, Document, Exactness, HierarchyKind, Host, MAX_HIERARCHIES, Outcome, Overrides, OwnStore,
    PersistenceSites, Policy, ProjectFile, ProjectTrust, Request, Tiers, decide,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// Few names, so that patterns, disks and paths meet.
const NAMES: [&str; 7] = ["a", "b", "ab", ".env", "a\nb", "é", "a-b"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(NAMES.to_vec())
}

/// Of few directories at the top, or chance would name none that is there.
fn path() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(name(), 0..4);
    (prop::sample::select(vec!["a", "a", "a", "b", "b", "b", "dev", "proc"]), parts)
        .prop_map(|(top, parts)| [&[""][..], &[top], &parts].concat().join("/"))
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["*", "**", "a*", "*b", "?", ".env", "**b"]);
    prop_oneof![
        6 => path().prop_map(|path| format!("{path}/**")),
        3 => path(),
        1 => (path(), part.clone()).prop_map(|(path, part)| format!("{path}/{part}")),
        1 => (path(), part.clone(), name()).prop_map(|(path, part, name)| format!("{path}/{part}/{name}")),
        1 => (path(), part).prop_map(|(path, part)| format!("{path}/{part}/**")),
        1 => name().prop_map(|name| format!("**/{name}")),
        1 => Just("/**".to_owned()),
    ]
}

fn permission(asks: bool) -> impl Strategy<Value = String> {
    let bits = if asks { vec!["r-?", "w-?", "x-?"] } else { vec!["r-", "w-", "x-"] };
    let bit = |letters: &'static str| prop::sample::select(letters.chars().collect::<Vec<_>>());
    (bit(bits[0]), bit(bits[1]), bit(bits[2])).prop_map(|(r, w, x)| [r, w, x].iter().collect())
}

#[derive(Clone, Debug)]
struct Doc {
    rules: Vec<(String, String)>,
    deny: Vec<String>,
    default: String,
    base: bool,
    ask: Ask,
    strict: bool,
    roots: Vec<String>,
    answers: Vec<(String, &'static str)>,
    /// Places that persistence keeps.
    protected: Vec<String>,
    /// Rules and denials of a project's file.
    project: (Vec<(String, String)>, Vec<String>),
}

/// Everything that may be written.
fn any_doc() -> impl Strategy<Value = Doc> {
    let bits = prop::sample::select(vec!["r", "w", "rw", "rwx"]);
    (
        prop::collection::vec((pattern(), permission(true)), 0..8),
        prop::collection::vec(pattern(), 0..3),
        prop_oneof![2 => Just("---".to_owned()), 1 => permission(true)],
        any::<bool>(),
        prop::sample::select(vec![Ask::Off, Ask::OnMiss, Ask::Always]),
        any::<bool>(),
        prop::collection::vec(path(), 0..2),
        prop::collection::vec((pattern(), bits), 0..4),
        (prop::collection::vec(path(), 0..3), project()),
    )
        .prop_map(|(rules, deny, default, base, ask, strict, roots, answers, (protected, project))| {
            Doc { protected, project, rules, deny, default, base, ask, strict, roots, answers }
        })
}

/// What an operator writes who wants it exact: whole directories, nothing asked, with a slip now and then.
fn plain_doc() -> impl Strategy<Value = Doc> {
    let plain = prop::sample::select(vec!["r--", "rw-"]).prop_map(str::to_owned);
    let granted = prop_oneof![4 => plain, 1 => permission(false)];
    let pattern =
        || prop_oneof![8 => path().prop_map(|path| format!("{path}/**")), 2 => path(), 1 => pattern()];
    (
        prop::collection::vec((pattern(), granted), 0..4),
        prop::collection::vec(pattern(), 0..2),
        prop_oneof![9 => Just("---".to_owned()), 1 => permission(true)],
        prop::bool::weighted(0.1),
        prop_oneof![9 => Just(Ask::Off), 1 => Just(Ask::OnMiss)],
        prop::collection::vec(path(), 0..2),
        prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(path(), 1..3)],
        project(),
    )
        .prop_map(|(rules, deny, default, base, ask, roots, protected, project)| Doc {
            protected,
            project,
            rules,
            deny,
            default,
            base,
            ask,
            strict: false,
            roots,
            answers: Vec::new(),
        })
}

fn project() -> impl Strategy<Value = (Vec<(String, String)>, Vec<String>)> {
    let rules = prop::collection::vec((pattern(), permission(true)), 0..3);
    prop_oneof![2 => Just(Default::default()), 1 => (rules, prop::collection::vec(pattern(), 0..2))]
}

/// A directory's names grow from it; what is below what is none is left out.
fn disk() -> impl Strategy<Value = Disk> {
    let thing = prop_oneof![
        14 => Just(Thing::Directory),
        3 => Just(Thing::File),
        1 => Just(Thing::Link),
        1 => Just(Thing::Apart),
    ];
    prop::collection::vec((path(), thing), 0..25).prop_map(|things| {
        let mut disk = BTreeMap::new();
        for (path, thing) in things {
            put(&mut disk, &path, thing);
        }
        Disk(disk)
    })
}

/// With the directories on the way, where nothing else is in it.
fn put(disk: &mut BTreeMap<String, Thing>, path: &str, thing: Thing) {
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1);
    let parents: Vec<String> = ends.map(|at| path[..at].to_owned()).collect();
    let is_there = |parent: &String| disk.get(parent).is_none_or(|thing| *thing == Thing::Directory);
    if parents.iter().all(is_there) && !disk.contains_key(path) {
        disk.extend(parents.into_iter().map(|parent| (parent, Thing::Directory)));
        disk.insert(path.to_owned(), thing);
    }
}

impl Doc {
    fn policy(&self) -> Policy {
        let rules: serde_json::Map<_, _> = self.rules.iter().map(|(p, r)| (p.clone(), json!(r))).collect();
        let guard = json!({
            "version": 1,
            "exec": { "ask": self.ask.as_str(), "strictInlineEval": self.strict, "roots": self.roots },
            "permissions": {
                "base": self.base,
                // What may be anywhere leaves the kernel no writes: here it is on in few documents.
                "persistence": if self.strict && self.protected.is_empty() { json!(true) } else {
                    json!({"git": false, "direnv": false, "editors": false, "packages": false, "agents": false})
                },
                "filesystem": { "rules": rules, "deny": self.deny, "default": self.default },
            },
        });
        let answers: serde_json::Map<_, _> =
            self.answers.iter().map(|(pattern, bits)| (pattern.clone(), json!(bits))).collect();
        let store = json!({"version": 1, "agents":
            {"main": {"permissions": {"filesystem": {"rules": Value::Object(answers)}}}}});
        let reading = Store::parse_own("approvals.json", &store.to_string(), &mut common::ids()).unwrap();
        let protected = self.protected.iter().map(|path| path.as_bytes().to_vec()).collect();
        let persistence_sites = PersistenceSites { guard: protected, ..PersistenceSites::default() };
        let (rules, deny) = &self.project;
        let rules: serde_json::Map<_, _> = rules.iter().map(|(p, r)| (p.clone(), json!(r))).collect();
        let project = json!({"version": 1, "permissions": {"filesystem": {"rules": rules, "deny": deny}}});
        let project = ProjectFile {
            directory: b"/home/u/work".to_vec(),
            document: Document::parse_project("project", &project.to_string()).unwrap(),
            trust: ProjectTrust::Untrusted,
        };
        let projects = if self.project == Default::default() { vec![] } else { vec![project] };
        let host =
            Host { own: OwnStore::Present(&reading), persistence_sites, projects: &projects, ..host() };
        compile_with(&guard, "main", &host, &Overrides::default())
    }
}

fn outcome(policy: &Policy, path: &str, access: Access) -> Outcome {
    decide(policy, &Request::File { path: path.as_bytes(), access }).outcome
}

fn join(dir: &str, tail: &str) -> String {
    format!("{}{tail}", dir.trim_end_matches('/'))
}

const BITS: [Access; 2] = [Access::READ, Access::WRITE];

/// Everything at and below what is granted is allowed, and it is there, as it is said to be.
fn nothing_else_is_granted(
    policy: &Policy,
    disk: &Disk,
    tiers: &Tiers,
    tails: &[String],
) -> Result<(), TestCaseError> {
    prop_assert!(tiers.hierarchies.len() <= MAX_HIERARCHIES);
    for hierarchy in &tiers.hierarchies {
        let path = std::str::from_utf8(&hierarchy.path).unwrap();
        let bits = BITS.into_iter().filter(|bit| hierarchy.access.contains(*bit));
        for bit in bits {
            prop_assert_eq!(outcome(policy, path, bit), Outcome::Allow, "{}", path);
            for tail in tails.iter().filter(|_| hierarchy.kind == HierarchyKind::Directory) {
                let path = join(path, tail);
                prop_assert_eq!(outcome(policy, &path, bit), Outcome::Allow, "{:?}", path);
                prop_assert!(tiers.cover(path.as_bytes(), bit));
            }
        }
        match hierarchy.kind {
            HierarchyKind::Directory => {
                prop_assert!(path == "/" || disk.0.get(path) == Some(&Thing::Directory), "{}", path);
                prop_assert!(!disk.holds_apart(path), "{}", path);
                prop_assert!(path != "/dev" && path != "/proc" && !path.starts_with("/proc/"), "{}", path);
                prop_assert!(
                    path != "/" || ["/dev", "/proc"].iter().all(|mount| !disk.0.contains_key(*mount))
                );
                prop_assert!(policy.is_uniform(&hierarchy.path, hierarchy.access));
            }
            HierarchyKind::File => prop_assert_eq!(disk.0.get(path), Some(&Thing::File), "{}", path),
        }
        for other in tiers.hierarchies.iter().filter(|other| *other != hierarchy) {
            let is_around = other.covers(&hierarchy.path, other.access);
            // What is granted inside is more.
            prop_assert!(
                !is_around || !other.access.contains(hierarchy.access),
                "{:?} in {:?}",
                hierarchy,
                other
            );
            prop_assert!(
                !is_around || hierarchy.access.contains(other.access),
                "{:?} in {:?}",
                hierarchy,
                other
            );
        }
    }
    Ok(())
}

/// For an exact class the policy and the hierarchies say the same of every path.
fn exact_is_exact(
    policy: &Policy,
    tiers: &Tiers,
    paths: &[String],
    counts: &Counts,
) -> Result<(), TestCaseError> {
    let classes = &tiers.classes;
    let exact = |class: &Exactness| class.is_exact();
    prop_assert!(!exact(&classes.execute));
    for (class, bit) in
        [(&classes.read, Access::READ), (&classes.list, Access::READ), (&classes.write, Access::WRITE)]
    {
        if !exact(class) {
            continue;
        }
        for path in paths {
            let expected = if tiers.cover(path.as_bytes(), bit) { Outcome::Allow } else { Outcome::Deny };
            prop_assert_eq!(outcome(policy, path, bit), expected, "{:?}", path);
        }
        let granted = tiers.hierarchies.iter().filter(|hierarchy| hierarchy.access.contains(bit)).count();
        counts.exact.fetch_add(1, Ordering::Relaxed);
        counts.granting.fetch_add(usize::from(granted > 0), Ordering::Relaxed);
        counts.several.fetch_add(usize::from(granted > 1), Ordering::Relaxed);
    }
    if exact(&classes.read) || exact(&classes.list) {
        prop_assert_eq!(policy.ask(), Ask::Off);
    }
    if exact(&classes.create) {
        prop_assert!(exact(&classes.write));
        for path in paths.iter().filter(|path| *path != "/") {
            // Of a name the kernel asks the directory around it.
            let parent =
                path.rsplit_once('/').map_or("/", |(parent, _)| if parent.is_empty() { "/" } else { parent });
            let is_granted = tiers.cover(parent.as_bytes(), Access::WRITE);
            prop_assert_eq!(outcome(policy, path, Access::WRITE) == Outcome::Allow, is_granted, "{:?}", path);
        }
        counts.created.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// A directory that a rule names, that stands there and is whole, is granted.
fn what_is_named_and_whole_is_granted(
    doc: &Doc,
    policy: &Policy,
    disk: &Disk,
    tiers: &Tiers,
    counts: &Counts,
) -> Result<(), TestCaseError> {
    for (pattern, _) in &doc.rules {
        let dir = pattern.strip_suffix("/**").unwrap_or(pattern);
        let is_apart = dir == "/dev" || dir == "/proc" || dir.starts_with("/proc/") || disk.holds_apart(dir);
        if disk.0.get(dir) != Some(&Thing::Directory) || is_apart || dir.contains(['*', '?']) {
            continue;
        }
        for bit in BITS.into_iter().filter(|bit| policy.is_uniform(dir.as_bytes(), *bit)) {
            prop_assert!(tiers.cover(dir.as_bytes(), bit), "{:?} in {:?}", dir, tiers.hierarchies);
            counts.named.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// How often each property's condition was met.
#[derive(Default)]
struct Counts {
    exact: AtomicUsize,
    granting: AtomicUsize,
    several: AtomicUsize,
    created: AtomicUsize,
    named: AtomicUsize,
    nested: AtomicUsize,
    split: AtomicUsize,
}

fn hold(documents: impl Strategy<Value = Doc>) -> (Counts, usize) {
    let counts = Counts::default();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    // Rare cases must occur at least once.
    let mut runner = TestRunner::new(ProptestConfig { cases: config.cases.max(1024), ..config });
    let strategy = (
        documents,
        disk(),
        prop::collection::vec(path(), 1..20),
        prop::collection::vec(prop::collection::vec(name(), 1..4), 1..20),
        prop::sample::select(vec![0, 0xff, 0xff, 0x55]),
    );
    let done = runner.run(&strategy, |(doc, mut disk, paths, tails, there): (_, _, _, Vec<Vec<_>>, u32)| {
        // Rules are about what is there, more often than not.
        let named = doc.rules.iter().map(|(pattern, _)| pattern.trim_end_matches("/**"));
        for (i, path) in named.enumerate().filter(|(_, path)| !path.is_empty() && !path.contains(['*', '?']))
        {
            if there >> (i % 8) & 1 == 1 {
                put(&mut disk.0, path, Thing::Directory);
            }
        }
        let tails: Vec<String> = tails.iter().map(|names| format!("/{}", names.join("/"))).collect();
        let mut paths = paths;
        paths.extend(disk.0.keys().cloned());
        paths.push("/".to_owned());
        let below: Vec<String> =
            paths.iter().flat_map(|path| tails.iter().map(|tail| join(path, tail))).collect();
        paths.extend(below);
        let policy = doc.policy();
        let tiers = disk.tiers(&policy);
        prop_assert!(!tiers.is_cut);
        nothing_else_is_granted(&policy, &disk, &tiers, &tails)?;
        exact_is_exact(&policy, &tiers, &paths, &counts)?;
        what_is_named_and_whole_is_granted(&doc, &policy, &disk, &tiers, &counts)?;
        let around =
            |inner: &[u8]| tiers.hierarchies.iter().any(|h| h.path != inner && h.covers(inner, h.access));
        let is_nested = tiers.hierarchies.iter().any(|hierarchy| around(&hierarchy.path));
        counts.nested.fetch_add(usize::from(is_nested), Ordering::Relaxed);
        let is_named = |path: &[u8]| {
            doc.rules.iter().any(|(pattern, _)| pattern.trim_end_matches("/**").as_bytes() == path)
        };
        let is_split = tiers.hierarchies.iter().any(|hierarchy| !is_named(&hierarchy.path));
        counts.split.fetch_add(usize::from(is_split), Ordering::Relaxed);
        Ok(())
    });
    if let Err(failed) = done {
        panic!("{failed}\n{runner}");
    }
    (counts, runner.config().cases as usize)
}

/// A property that never meets its condition cannot fail.
fn met(what: &str, count: &AtomicUsize, least: usize) {
    let count = count.load(Ordering::Relaxed);
    println!("{what}: {count} times");
    assert!(count >= least, "{what}: {count} times, not {least}");
}

#[test]
fn plans_are_right_for_any_policy() {
    let (counts, cases) = hold(any_doc());
    met("something named is granted", &counts.named, cases / 20);
    met("something is split", &counts.split, cases / 20);
    met("something is nested", &counts.nested, cases / 200);
}

#[test]
fn plans_are_right_for_plain_policies() {
    let (counts, cases) = hold(plain_doc());
    met("a class is exact", &counts.exact, cases / 5);
    met("one that grants something", &counts.granting, cases / 10);
    met("one that grants several things", &counts.several, cases / 100);
    met("making names is exact", &counts.created, cases / 20);
    met("something named is granted", &counts.named, cases / 10);
}
