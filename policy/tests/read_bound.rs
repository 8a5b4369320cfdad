//! Tests of `permissions.filesystem.maxReadBytes` and `tools.read.maxSizeBytes`.

use crate::common::{self, compile, disk::Disk, parse};
use guard_policy::{Access, Document, Outcome, Overrides, Policy, Request, Source, Verdict, decide};
use serde_json::{Value, json};

fn with(filesystem: Value) -> Policy {
    compile(&json!({ "version": 1, "permissions": { "filesystem": filesystem } }))
}

fn sized<'p>(policy: &'p Policy, path: &str, size: u64) -> Verdict<'p> {
    decide(policy, &Request::Sized { path: path.as_bytes(), size })
}

fn reads(policy: &Policy, path: &str, size: u64) -> bool {
    sized(policy, path, size).outcome == Outcome::Allow
}

#[test]
fn a_file_of_the_bound_is_read_and_a_larger_one_is_not() {
    let policy = with(json!({ "rules": { "~/work/**": "rw-" }, "maxReadBytes": 1000 }));
    let file = "/home/u/work/data";
    assert!(reads(&policy, file, 0) && reads(&policy, file, 1000));
    assert!(!reads(&policy, file, 1001) && !reads(&policy, file, u64::MAX));
    // The reason names the key, the size and the bound, in both forms.
    let reason = sized(&policy, file, 1001).reason;
    for text in [reason.rule(), &*reason.text] {
        for part in ["permissions.filesystem.maxReadBytes", "1001", "1000"] {
            assert!(text.contains(part), "{text}");
        }
    }
    assert_eq!((reason.source, &*reason.path), (Source::Global, "permissions.filesystem.maxReadBytes"));
    // The bound grants nothing, and no rule lifts it.
    let path = b"/home/u/other";
    assert_ne!(decide(&policy, &Request::File { path, access: Access::READ }).outcome, Outcome::Allow);
    assert_eq!(policy.max_read_bytes(), Some(1000));
    // Nobody is asked about it.
    let request = Request::Sized { path: file.as_bytes(), size: 1001 };
    assert_eq!(policy.fallback(&request, sized(&policy, file, 1001)).outcome, Outcome::Deny);
}

#[test]
fn without_a_bound_every_size_is_read() {
    let policy = with(json!({ "rules": { "~/work/**": "rw-" } }));
    assert_eq!(policy.max_read_bytes(), None);
    assert!(reads(&policy, "/home/u/work/data", u64::MAX));
}

/// A program reads its libraries to start, as the kernel reads the program.
#[test]
fn the_base_is_not_bounded_unless_the_tree_may_write_it_unasked() {
    let library = "/usr/lib/x86_64-linux-gnu/libLLVM.so.19";
    for rules in [json!({}), json!({ "/usr/**": "r-x" })] {
        let policy = with(json!({ "rules": rules, "maxReadBytes": 10 }));
        assert!(
            reads(&policy, library, 1 << 30) && reads(&policy, "/usr/lib/locale/locale-archive", 1 << 30)
        );
        assert!(!reads(&policy, "/usr/bin/git", 11));
        assert!(!reads(&policy, "/usr/lib/git-core/git", 11));
        assert!(!reads(&policy, "/home/u/usr/lib/x.so", 11));
    }
    let own = with(json!({ "rules": { "/usr/local/**": "rwx" }, "maxReadBytes": 10 }));
    assert!(!reads(&own, "/usr/local/lib/mine.so", 11) && reads(&own, library, 11));
    // Where a miss is asked about, writing a library is, too: that makes it none of the tree's.
    let asked = compile(&json!({ "version": 1, "exec": { "ask": "on-miss" },
        "permissions": { "filesystem": { "maxReadBytes": 10 } } }));
    assert!(reads(&asked, library, 11));
    let bare = compile(&json!({ "version": 1,
        "permissions": { "base": false, "filesystem": { "rules": { "/usr/**": "r-x" }, "maxReadBytes": 10 } } }));
    assert!(!reads(&bare, library, 11));
}

/// A path that is not real, such as that of a memory file, is bounded.
#[test]
fn what_has_no_path_is_bounded() {
    let policy = with(json!({ "maxReadBytes": 10 }));
    for path in ["", "/memfd:x (deleted)", "/usr/lib/../../home/u/x.so", "pipe:[1]", "/"] {
        assert!(!reads(&policy, path, 11), "{path}");
        assert!(reads(&policy, path, 10), "{path}");
    }
}

#[test]
fn a_section_of_an_agent_counts_and_then_the_smaller_of_both_keys() {
    let document = json!({ "version": 1,
        "permissions": { "filesystem": { "maxReadBytes": 1000 } },
        "agents": { "main": { "permissions": { "filesystem": { "maxReadBytes": 5000 } } },
                    "*": { "permissions": { "filesystem": { "maxReadBytes": 200 } } } },
        "tools": { "read": { "maxSizeBytes": 3000 } } });
    let document = parse(&document.to_string()).unwrap();
    let bound = |agent: &str| {
        let policy = Policy::compile(&document, agent, &common::host(), &Overrides::default()).unwrap();
        (policy.max_read_bytes(), policy.read_bound_key().map(str::to_owned))
    };
    let of = |bytes: u64, key: &str| (Some(bytes), Some(key.to_owned()));
    assert_eq!(bound("main"), of(3000, "tools.read.maxSizeBytes"));
    assert_eq!(bound("other"), of(200, "agents[\"*\"].permissions.filesystem.maxReadBytes"));
    let alone = compile(&json!({ "version": 1, "tools": { "read": { "maxSizeBytes": 7 } } }));
    assert!(!reads(&alone, "/home/u/x", 8));
    assert!(sized(&alone, "/home/u/x", 8).reason.rule().starts_with("tools.read.maxSizeBytes 7"));
}

/// What is quiet stays quiet.
#[test]
fn a_denial_on_a_quiet_path_is_quiet() {
    let policy = with(json!({ "rules": { "~/**": "rw-" }, "quiet": ["~/.history"], "maxReadBytes": 10 }));
    let verdict = sized(&policy, "/home/u/.history", 11);
    assert_eq!((verdict.outcome, verdict.reason.is_quiet()), (Outcome::Deny, true));
    assert!(!sized(&policy, "/home/u/other", 11).reason.is_quiet());
}

/// The floor knows no sizes, so no read may be left to the kernel; writes may.
#[test]
fn no_read_is_left_to_the_kernel() {
    let policy = |bound: Option<u64>| {
        let mut filesystem = json!({ "rules": { "/**": "rwx" } });
        if let Some(bound) = bound {
            filesystem["maxReadBytes"] = bound.into();
        }
        compile(&json!({ "version": 1, "exec": { "security": "full", "ask": "off" },
            "permissions": { "base": false, "persistence": false, "filesystem": filesystem } }))
    };
    let classes = |bound| Disk::new("/home/ /home/u/ /home/u/work/").tiers(&policy(bound)).classes;
    let (free, bounded) = (classes(None), classes(Some(u64::MAX)));
    let reason = bounded.read.reason().unwrap();
    assert!(reason.starts_with("permissions.filesystem.maxReadBytes "), "{reason}");
    assert_eq!(bounded.list.reason(), Some(reason));
    assert_eq!((bounded.write, bounded.create), (free.write, free.create));
}

#[test]
fn bad_bounds_are_named_and_the_bound_is_shown() {
    for bad in [json!(0), json!(-1), json!(1.5), json!("10"), json!(null), json!(true), json!([])] {
        let at = [
            json!({ "version": 1, "permissions": { "filesystem": { "maxReadBytes": bad } } }),
            json!({ "version": 1, "tools": { "read": { "maxSizeBytes": bad } } }),
        ];
        for document in at {
            let problems = parse(&document.to_string()).expect_err("refused");
            let line = problems[0].to_string();
            assert!(line.contains("must be a number of bytes, a whole number from 1"), "{line}");
        }
    }
    let text = r#"{"version": 1, "tools": {"read": {"maxSizeBytes": 10, "max": 1}}}"#;
    assert!(Document::parse("guard.json", text).is_err());
    let document = json!({ "version": 1, "permissions": { "filesystem": { "maxReadBytes": 12 } } });
    let document = parse(&document.to_string()).unwrap();
    let policy = Policy::compile(&document, "main", &common::host(), &Overrides::default()).unwrap();
    let settings = policy.explain(Some(&document));
    let setting = settings.iter().find(|one| one.name == "permissions.filesystem.maxReadBytes").unwrap();
    assert_eq!((&*setting.value, setting.source), ("12", Source::Global));
    // The document is written as it was read.
    assert!(document.to_json().contains("\"maxReadBytes\": 12"));
}
