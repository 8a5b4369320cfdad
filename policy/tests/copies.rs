//! Tests of rules that name a program, and of copies of that program.

use crate::common::{HOME, compile, host};
use guard_policy::{Exec, Outcome, Overrides, Policy, Request, Role, Source, decide, decide_copy};
use proptest::prelude::*;
use serde_json::{Value, json};

fn policy(exec: Value, rules: Value, deny: Value) -> Policy {
    compile(&json!({
        "version": 1, "exec": exec,
        "permissions": { "filesystem": { "rules": rules, "deny": deny, "default": "r--" } },
    }))
}

fn names(policy: &Policy) -> Vec<String> {
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let withheld = policy.withheld();
    withheld.iter().map(|w| w.file().map_or_else(|| text(w.directory()) + "/*", text)).collect()
}

fn asked(policy: &Policy, path: &str, original: &str) -> (Outcome, String, String) {
    let argv = [path.as_bytes().to_vec()];
    let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: HOME, role: Role::Program };
    let verdict = decide_copy(policy, &exec, original.as_bytes());
    (verdict.outcome, verdict.reason.text.into_owned(), verdict.reason.path.into_owned())
}

#[test]
fn a_program_is_named_by_its_path_or_by_a_glob_of_its_directory() {
    let full = json!({ "security": "full" });
    let rules = json!({
        "/a/ask": "r-?", "/a/no": "r--", "/a/yes": "r-x", "/a/written": "rw-", "/a/maybe": "r?-", "/b/x*": "r--",
        "/b/**": "r--", "/*/far": "r--", "/b/c*d/e": "r--",
    });
    let policy = policy(full, rules, json!(["/d/literal", "/d/*", "~/.ssh/**", "**/name", "/r*"]));
    let mut named = names(&policy);
    named.sort();
    assert_eq!(named, ["/*", "/a/ask", "/a/maybe", "/a/no", "/b/*", "/d/*", "/d/literal"]);
    let glob = policy.withheld().into_iter().find(|w| w.directory() == b"/b").unwrap();
    assert!(glob.names(b"/b/x1") && glob.names(b"/b/x") && !glob.names(b"/b/y") && !glob.names(b"/b/x/y"));
}

#[test]
fn a_builtin_denial_names_no_program() {
    let policy = policy(json!({}), json!({}), json!([]));
    assert_eq!(names(&policy), [""; 0]);
    assert_eq!(
        decide(
            &policy,
            &Request::Exec(Exec { path: b"/home/u/.openclaw", argv: &[], cwd: HOME, role: Role::Program })
        )
        .reason
        .source,
        Source::Builtin
    );
    assert_eq!(names(&Policy::without_file("main", &host(), &Overrides::default())), [""; 0]);
}

#[test]
fn a_longer_rule_takes_a_program_out() {
    let rules = json!({ "/b/x*": "r--", "/b/x1.0": "r-x", "/b/x-mine": "rw-" });
    let policy = policy(json!({ "security": "full" }), rules, json!([]));
    let withheld = [&b"/b/x2"[..], b"/b/x1.0", b"/b/x-mine"].map(|path| policy.withholds(path));
    assert_eq!(withheld, [true, false, false]);
}

#[test]
fn a_copy_is_judged_as_what_it_is_a_copy_of() {
    let rules = json!({ "/w/**": "rwx", "/a/ask": "r-?", "/a/no": "r--", "/a/yes": "r-x", "/w/no": "rw-" });
    let policy = policy(json!({ "security": "full" }), rules, json!(["/d/x"]));
    let (outcome, text, path) = asked(&policy, "/w/c", "/d/x");
    assert_eq!(
        (outcome, text.as_str()),
        (Outcome::Deny, "copy of /d/x, which may not start: \"/d/x\" is denied")
    );
    assert_eq!(path, "permissions.filesystem.deny[\"/d/x\"]");
    let (outcome, text, _) = asked(&policy, "/w/c", "/a/ask");
    assert_eq!(
        (outcome, text.as_str()),
        (Outcome::Ask, "copy of /a/ask, which is asked for: \"/a/ask\" grants read, and asks about execute")
    );
    assert_eq!(asked(&policy, "/w/c", "/a/no").0, Outcome::Deny);
    // A right that the rule for the copy's own path withholds is denied by that rule. Where both paths have the right,
    // the reason does not mention the copy.
    let (outcome, text, _) = asked(&policy, "/w/no", "/a/ask");
    assert_eq!((outcome, text.as_str()), (Outcome::Deny, "\"/w/no\" grants read and write"));
    let (outcome, text, _) = asked(&policy, "/w/c", "/a/yes");
    assert_eq!((outcome, text.contains("copy")), (Outcome::Allow, false));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A copy may do no more than its own path allows, and no more than the program that it copies.
    #[test]
    fn a_copy_may_do_no_more_than_either(
        own in "[r-][w?-][x?-]", named in "[r-][w?-][x?-]", security in "full|allowlist|deny", ask in "off|on-miss|always",
        role in prop::sample::select(vec![Role::Program, Role::Interpreter, Role::Loader]),
    ) {
        let exec = json!({ "security": security, "ask": ask });
        let policy = policy(exec, json!({ "/a": own, "/b": named }), json!([]));
        let of = |path: &'static str| Exec { path: path.as_bytes(), argv: &[], cwd: HOME, role };
        let outcome = |path| decide(&policy, &Request::Exec(of(path))).outcome;
        let copy = decide_copy(&policy, &of("/a"), b"/b");
        prop_assert_eq!(copy.outcome, outcome("/a").min(outcome("/b")));
    }
}
