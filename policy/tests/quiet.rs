//! Tests of `permissions.filesystem.quiet`.

use crate::common::{compile, file, host, outcomes};
use guard_policy::{Access, Outcome, Overrides, Policy, Source};
use proptest::prelude::*;
use serde_json::{Value, json};

fn policy(rules: Value, deny: Value, quiet: Value) -> Policy {
    compile(&json!({
        "version": 1,
        "permissions": { "filesystem": { "rules": rules, "deny": deny, "quiet": quiet, "default": "---" } },
    }))
}

#[test]
fn what_would_be_asked_is_denied() {
    let policy = policy(json!({ "~/?**": "???" }), json!([]), json!(["~/.viminfo", "**/__pycache__/**"]));
    assert_eq!(outcomes(&policy, "/home/u/other"), "???");
    let verdict = file(&policy, "/home/u/.viminfo", Access::READ);
    assert_eq!(verdict.outcome, Outcome::Deny);
    assert_eq!(
        (verdict.reason.source, &*verdict.reason.path),
        (Source::Global, "permissions.filesystem.quiet[\"~/.viminfo\"]")
    );
    assert!(verdict.reason.is_quiet() && verdict.reason.is_unmentioned());
    // Programs that start are always worth a question.
    assert_eq!(outcomes(&policy, "/srv/__pycache__/a.pyc"), "dd?");
    assert_eq!(outcomes(&policy, "/home/u/.viminfo/below"), "dd?");
}

#[test]
fn a_denial_keeps_its_reason() {
    let policy = policy(json!({ "~/a/**": "---" }), json!(["~/.npmrc"]), json!(["~/.npmrc", "~/a/**"]));
    for (path, key) in [
        ("/home/u/.npmrc", "permissions.filesystem.deny[\"~/.npmrc\"]"),
        ("/home/u/a/b", "permissions.filesystem.rules[\"~/a/**\"]"),
    ] {
        let verdict = file(&policy, path, Access::READ);
        assert_eq!((verdict.outcome, &*verdict.reason.path), (Outcome::Deny, key));
        assert!(verdict.reason.is_quiet(), "{path}");
    }
    assert!(!file(&policy, "/srv/x", Access::READ).reason.is_quiet());
}

#[test]
fn what_a_rule_allows_is_allowed() {
    let policy = policy(json!({ "~/work/**": "rw-" }), json!([]), json!(["**"]));
    assert_eq!(outcomes(&policy, "/home/u/work/a"), "aad");
    assert!(!file(&policy, "/home/u/work/a", Access::READ).reason.is_quiet());
    assert_eq!(outcomes(&policy, "/home/u/b"), "dd?");
}

#[test]
fn an_attempt_on_what_would_run_outside_gets_its_line() {
    let policy = policy(json!({ "~/work/**": "rwx" }), json!([]), json!(["**"]));
    let verdict = file(&policy, "/home/u/work/.git/hooks/pre-commit", Access::WRITE);
    assert_ne!(verdict.outcome, Outcome::Allow);
    assert!(!verdict.reason.is_unmentioned(), "{}", verdict.reason.path);
}

#[test]
fn it_gets_its_line_also_where_a_rule_denies_it() {
    let rules = json!({ "~/.bashrc": "r--", "~/work/**": "r--" });
    let policy = compile(&json!({
        "version": 1,
        "permissions": { "persistence": true,
            "filesystem": { "rules": rules, "deny": ["~/.npmrc"], "quiet": ["**"], "default": "---" } },
    }));
    for path in ["/home/u/.bashrc", "/home/u/.npmrc", "/home/u/work/.git/hooks/pre-commit"] {
        let verdict = file(&policy, path, Access::WRITE);
        assert_eq!(verdict.outcome, Outcome::Deny, "{path}");
        assert!(!verdict.reason.is_unmentioned(), "{path}");
    }
    assert!(file(&policy, "/home/u/.npmrc", Access::READ).reason.is_unmentioned());
    assert!(file(&policy, "/home/u/work/a", Access::WRITE).reason.is_unmentioned());
}

#[test]
fn an_agents_list_adds_to_the_top_levels() {
    let policy = compile(&json!({
        "version": 1,
        "permissions": { "filesystem": { "quiet": ["~/a"] } },
        "agents": { "main": { "permissions": { "filesystem": { "quiet": ["~/b"] } } } },
    }));
    for (name, path) in [
        ("a", "permissions.filesystem.quiet[\"~/a\"]"),
        ("b", "agents.main.permissions.filesystem.quiet[\"~/b\"]"),
    ] {
        let verdict = file(&policy, &format!("/home/u/{name}"), Access::READ);
        assert_eq!((verdict.outcome, &*verdict.reason.path), (Outcome::Deny, path));
    }
}

#[test]
fn without_a_file_tools_do_not_report_their_configuration() {
    let policy = Policy::without_file("main", &host(), &Overrides::default());
    for (path, access) in [
        ("/home/u/.npmrc", Access::READ),
        ("/home/u/.netrc", Access::READ),
        ("/home/u/.viminfo", Access::WRITE),
        ("/var/cache/fontconfig/x", Access::WRITE),
    ] {
        let verdict = file(&policy, path, access);
        assert_eq!(verdict.outcome, Outcome::Deny, "{path}");
        assert!(verdict.reason.is_unmentioned(), "{path}");
    }
    assert!(!file(&policy, "/home/u/.ssh/id_rsa", Access::READ).reason.is_unmentioned());
    // npm would run what is written there, outside.
    assert!(!file(&policy, "/home/u/.npmrc", Access::WRITE).reason.is_unmentioned());
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "*", "**", ".git", "hooks"]);
    prop::collection::vec(part, 1..4).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn path() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "c", ".git", "hooks"]);
    prop::collection::vec(part, 0..5).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn permission() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["rwx", "rw-", "r--", "---", "???", "r?-"])
}

proptest! {
    #[test]
    fn a_quiet_pattern_turns_questions_into_denials_and_nothing_else(
        rules in prop::collection::btree_map(pattern(), permission(), 0..4),
        deny in prop::collection::vec(pattern(), 0..2),
        quiet in prop::collection::vec(pattern(), 0..3),
        paths in prop::collection::vec(path(), 1..6),
    ) {
        let without = policy(json!(rules), json!(deny), json!([]));
        let with = policy(json!(rules), json!(deny), json!(quiet));
        for path in &paths {
            for access in [Access::READ, Access::WRITE, Access::READ | Access::WRITE, Access::MAP] {
                let (before, after) = (file(&without, path, access), file(&with, path, access));
                let asked = before.outcome == Outcome::Ask && after.outcome == Outcome::Deny;
                prop_assert!(after.outcome == before.outcome || asked && after.reason.is_quiet());
                prop_assert!(!after.reason.is_quiet() || after.outcome == Outcome::Deny);
            }
        }
    }
}
