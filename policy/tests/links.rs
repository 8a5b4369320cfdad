//! Where the links of a tree may lead.

use crate::common::compile;
use guard_policy::{Link, Outcome, Policy, Request, Site, decide};
use serde_json::{Value, json};

fn with(persistence: Value) -> Policy {
    compile(&json!({ "version": 1, "exec": { "ask": "off" }, "permissions": {
        "persistence": persistence,
        "filesystem": {
            "rules": {
                "~/work/**": "rwx", "~/work/fixed/**": "r--", "~/.pyenv/**": "r-x", "~/tools/**": "r-x", "~/.cache/**": "rw-",
                "/usr/**": "r-x", "/etc/**": "r--", "/srv/closed/**": "---", "/srv/work/**": "rw-",
            },
            "deny": ["**/.env", "~/.ssh/**"], "default": "---" } } }))
}

/// Where the rule stands for which a link from `~/work/link` to there is refused.
fn refused(policy: &Policy, target: &str) -> Option<String> {
    refused_at(policy, "/home/u/work/link", target, None)
}

fn refused_at(policy: &Policy, path: &str, target: &str, site: Option<Site>) -> Option<String> {
    refused_link(
        policy,
        Link { path: path.as_bytes(), target: target.as_bytes(), site, is_to_file: true, after_up: None },
    )
}

fn refused_link(policy: &Policy, link: Link<'_>) -> Option<String> {
    let path = std::str::from_utf8(link.path).unwrap();
    let verdict = decide(policy, &Request::Link(link));
    let is_refused = verdict.outcome != Outcome::Allow;
    for text in [verdict.reason.rule(), &*verdict.reason.text] {
        assert_eq!(text.contains(path), is_refused, "{text}");
    }
    is_refused.then(|| verdict.reason.path.into_owned())
}

#[test]
fn a_link_leads_to_nothing_of_the_operators() {
    let policy = with(json!(true));
    for (target, because) in [
        ("/home/u/.bashrc", "permissions.persistence.shell"),
        ("/home/u/.config/autostart/x.desktop", "permissions.persistence.autostart"),
        ("/home/u/.ssh/config", "permissions.persistence.ssh"),
        ("/home/u/.ssh/known_hosts", "permissions.filesystem.deny[\"~/.ssh/**\"]"),
        ("/home/u/thesis.tex", "permissions.filesystem.default"),
        ("/home/u/work/fixed/x", "permissions.filesystem.rules[\"~/work/fixed/**\"]"),
        ("/home/u/work/sub/.env", "permissions.filesystem.deny[\"**/.env\"]"),
        ("/srv/closed/x", "permissions.filesystem.rules[\"/srv/closed/**\"]"),
        ("/home/u/work/project/.git/hooks/pre-commit", "permissions.persistence.git"),
        ("/home/u/work/.vscode", "permissions.persistence.editors"),
        ("/home/u/.cache/zsh/x", "permissions.persistence.shell"),
        // What is copied through it could be one of the places there: the first that is listed is an editor's.
        ("/home/u/.cache", "permissions.persistence.editors"),
        // The tree may start what is there, but nobody starts a directory of functions.
        ("/home/u/.oh-my-zsh", "permissions.persistence.shell"),
        ("/home/u", "builtin.links"),
        ("/home", "builtin.links"),
        ("/", "builtin.links"),
        ("/proc", "builtin.links"),
        ("/proc/self", "builtin.links"),
        ("/proc/self/cwd", "builtin.links"),
        ("/proc/thread-self/task/12/cwd", "builtin.links"),
        ("/proc/self/cwd/.bashrc", "permissions.persistence.shell"),
        ("/home/u/work/process/cwd/.bashrc", "permissions.persistence.shell"),
        ("/proc/123/root", "builtin.links"),
        ("/proc/123/root/home/u/.bashrc", "builtin.links"),
        ("/proc/123/fd", "builtin.links"),
        ("/proc/self/fd/9/.bashrc", "builtin.links"),
        ("/proc/123/cwd/notes", "builtin.links"),
    ] {
        assert_eq!(refused(&policy, target).as_deref(), Some(because), "{target}");
    }
}

#[test]
fn what_tools_link_to_stays_free() {
    let policy = with(json!(true));
    for target in [
        "/home/u/work/node_modules/x/cli.js",
        "/home/u/work/missing/y",
        "/home/u/.cache/uv/archive-v0/x",
        "/usr/bin/python3",
        "/home/u/.pyenv/versions/3.12/bin/python3.12",
        "/home/u/tools/bin/x",
        "/etc/alternatives/awk",
        "/lib/systemd/system/x.service",
        "/etc/localtime",
        "/srv/work/x",
        "/opt/store/x",
        "/data/store/x",
        "/dev/null",
        "/proc/self/mounts",
        "/proc/self/fd",
        "/proc/self/cwd/notes",
        "/home/u/work/process/cwd/notes",
        "pipe:[12]",
    ] {
        assert_eq!(refused(&policy, target), None, "{target}");
    }
}

#[test]
fn a_name_that_is_protected_itself_may_lead_to_its_like() {
    let policy = with(json!(true));
    let target = "/home/u/work/project/.envrc";
    assert_eq!(refused_at(&policy, "/home/u/work/own/.envrc", target, None), None);
    assert!(refused_at(&policy, "/home/u/work/own/envrc", target, None).is_some());
    assert_eq!(refused_at(&policy, "/home/u/work/own/envrc", target, Some(Site::Own)), None);
    // Another name is not followed for what this one means.
    assert!(
        refused_at(&policy, "/home/u/work/own/.envrc", "/home/u/work/project/.git/hooks/x", None).is_some()
    );
    assert!(refused_at(&policy, "/home/u/work/own/.envrc", "/home/u/.envrc", None).is_some());
    assert!(refused_at(&policy, "/home/u/work/x", "/home/u/work/bare", Some(Site::Repository)).is_some());
}

#[test]
fn a_link_to_a_program_leads_to_nothing_that_would_be_made() {
    let policy = with(json!(true));
    let to = |target: &'static str, is_to_file| {
        let (path, target) = (&b"/home/u/work/link"[..], target.as_bytes());
        refused_link(&policy, Link { path, target, site: None, is_to_file, after_up: None })
    };
    let python = "/home/u/.pyenv/versions/3.12/bin/python3.12";
    assert_eq!(
        (to(python, true), to(python, false).as_deref()),
        (None, Some("permissions.persistence.path"))
    );
    assert_eq!(to("/home/u/.pyenv", false).as_deref(), Some("permissions.persistence.path"));
    assert_eq!(to("/usr/bin/new", false), None);
}

#[test]
fn a_link_to_a_directory_leads_to_nothing_in_it_that_is_denied_or_protected() {
    let policy = compile(&json!({ "version": 1, "exec": { "ask": "off" }, "permissions": {
        "filesystem": {
            "rules": { "~/work/**": "rwx", "/srv/**": "rwx", "/srv/work/shut/**": "---" },
            "deny": ["/srv/data/token", "~/work/secrets/key"], "default": "---" } } }));
    for (path, target, is_refused) in [
        ("/home/u/work/x", "/srv/data", true),
        ("/home/u/work/x", "/srv/other", false),
        ("/home/u/work/x", "/srv/work", true),
        // The directory is around the link.
        ("/home/u/work/x", "/home/u/work", true),
        ("/home/u/work/sub/x", "/home/u/work/sub", false),
        // root's own.
        ("/home/u/work/x", "/etc", false),
    ] {
        let refused = refused_at(&policy, path, target, None);
        assert_eq!(refused.is_some(), is_refused, "{path} -> {target}: {refused:?}");
    }
}

#[test]
fn without_persistence_rules_decide() {
    let policy = with(json!(false));
    assert_eq!(refused(&policy, "/home/u/.bashrc").as_deref(), Some("permissions.filesystem.default"));
    assert_eq!(refused(&policy, "/home/u/work/.vscode"), None);
    assert_eq!(refused(&policy, "/home/u").as_deref(), Some("builtin.links"));
}

#[test]
fn what_follows_a_name_and_two_dots_may_lead_out_of_a_workspace_later() {
    let policy = with(json!(true));
    let link = |rest: &'static str| {
        let (path, target) = (&b"/home/u/work/link"[..], &b"/home/u/work/x"[..]);
        refused_link(
            &policy,
            Link { path, target, site: None, is_to_file: true, after_up: Some(rest.as_bytes()) },
        )
    };
    assert_eq!(link(".bashrc").as_deref(), Some("permissions.persistence.shell"));
    assert!(link("u/.bashrc").is_some() && link("home/u/.bashrc").is_some() && link("").is_some());
    assert!(link("cwd/.bashrc").is_some() && link("cwd/notes").is_none());
    assert!(link(".ssh/id_ed25519").is_some() && link("lib/x").is_none());
}
