//! `${workspace}` and `${above}` in a policy.

use crate::common::{compile_with, host};
use guard_policy::{Access, Exec, Host, Outcome, Overrides, Policy, Request, Role, Workspace, decide};
use proptest::prelude::*;
use serde_json::{Value, json};

fn here(workspace: Workspace, document: &Value) -> Policy {
    compile_with(document, "main", &Host { workspace, ..host() }, &Overrides::default())
}

fn document() -> Value {
    json!({
        "version": 1,
        "exec": { "ask": "off" },
        "permissions": { "filesystem": {
            "rules": { "${workspace}/**": "rwx", "${workspace}/vendor/**": "r--", "${above}": "r--", "/srv/keys": "rw-" },
            "deny": ["${workspace}/keys"],
        } },
        "agents": {
            "main": { "allowlist": [{ "pattern": "${workspace}/tool" }] },
            "*": { "permissions": { "filesystem": { "rules": { "${workspace}/vendor/own/**": "---" } } } },
        },
    })
}

fn rights(policy: &Policy, path: &str) -> String {
    policy.rights(path.as_bytes()).to_string()
}

#[test]
fn rules_hold_in_the_workspace_and_nowhere_else() {
    let policy = here(Workspace::at(*b"/srv/a*/p"), &document());
    for (path, expected) in [
        ("/srv/a*/p/x", "rwx"),
        ("/srv/a*/p", "rwx"),
        ("/srv/a*/p/vendor/x", "r--"),
        ("/srv/a*/p/vendor/own/x", "---"),
        ("/srv/a*/p/keys/x", "---"),
        ("/srv/ab/p/x", "---"),
        ("/srv/a*/px", "---"),
        ("/srv/a*", "r--"),
        ("/srv", "r--"),
        ("/srv/a*/other", "---"),
        ("/home/u/${workspace}/x", "---"),
    ] {
        assert_eq!(rights(&policy, path), expected, "{path}");
    }
    let reason = decide(&policy, &Request::File { path: b"/srv/a*/p/keys", access: Access::READ }).reason;
    assert_eq!(reason.path, "permissions.filesystem.deny[\"${workspace}/keys\"]");
    assert_eq!(reason.text, "\"${workspace}/keys\" is denied (here /srv/a*/p/keys)");
    let start = |path: &[u8]| {
        decide(&policy, &Request::Exec(Exec { path, argv: &[], cwd: b"/", role: Role::Program })).outcome
    };
    assert_eq!(start(b"/srv/a*/p/other"), Outcome::Deny);
    // Its own program is the tree's to change, and so is no carrier; an entry by path counts.
    assert_eq!(start(b"/srv/a*/p/tool"), Outcome::Allow);
    assert_eq!(policy.workspace(), Some(&b"/srv/a*/p"[..]));
}

#[test]
fn without_a_workspace_only_denials_are_left() {
    let others = vec![b"/srv".to_vec()];
    let none = Workspace { root: None, others, note: Some("${workspace} names nothing".to_owned()) };
    let policy = here(none, &document());
    for path in ["/srv/x", "/srv", "/srv/vendor/x", "/${workspace}/x", "/home/u/x", "/srv/keys"] {
        assert_eq!(rights(&policy, path), "---", "{path}");
    }
    assert!(policy.warnings().iter().any(|warning| warning == "${workspace} names nothing"));
    let without =
        here(Workspace { note: Some("x".to_owned()), ..Workspace::at(*b"/w") }, &json!({ "version": 1 }));
    assert_eq!((without.workspace(), without.warnings()), (None, &[][..]), "nobody asked for it");
}

#[test]
fn stores_and_other_settings_know_no_placeholder() {
    for section in [
        json!({ "exec": { "roots": ["${workspace}"] } }),
        json!({ "exec": { "pathPrepend": ["${workspace}/bin"] } }),
        json!({ "exec": { "safeBinTrustedDirs": ["${workspace}/bin"] } }),
        json!({ "audit": { "path": "${workspace}/log" } }),
        json!({ "approvals": { "gateway": { "tokenFile": "${workspace}/token" } } }),
        json!({ "permissions": { "filesystem": { "deny": ["${above}"] } } }),
    ] {
        let mut whole = section.clone();
        whole["version"] = 1.into();
        assert!(guard_policy::Document::parse("", &whole.to_string()).is_err(), "{section}");
    }
}

proptest! {
    /// A policy with the placeholder means what the same policy with the path means.
    #[test]
    fn the_placeholder_is_the_path(paths in prop::collection::vec("/(w|w/p|w/p/(a|vendor|keys)(/[a-c]){0,2}|srv(/[a-c])?)", 1..20)) {
        let placeholder = here(Workspace::at(*b"/w/p"), &document());
        let text = document().to_string().replace("${workspace}", "/w/p").replace("${above}", "/w");
        let written = here(Workspace::default(), &serde_json::from_str(&text).unwrap());
        for path in paths {
            prop_assert_eq!(rights(&placeholder, &path), rights(&written, &path), "{}", path);
        }
    }
}
