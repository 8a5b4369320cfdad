//! The own files of projects: they take away, and give only what the operator trusts.

use crate::common::{compile_with, exec, file, host};
use guard_policy::{
    Access, Document, Host, Outcome, Overrides, Policy, ProjectFile, ProjectTrust, Request, Source, decide,
};
use serde_json::{Value, json};

fn operators() -> Value {
    json!({
        "version": 1,
        "exec": { "security": "allowlist", "ask": "on-miss", "carriers": ["sh", "env"] },
        "permissions": { "filesystem": {
            "rules": { "/usr/**": "r-x", "/w/p/**": "rwx", "/w/p/asked/**": "???", "/w/p/kept/**": "---" },
            "deny": ["/w/p/secret"],
        } },
        "network": { "connect": { "ports": [80, 443], "private": "allow" } },
        "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/git" }] } },
    })
}

fn project(trust: ProjectTrust, document: &Value) -> ProjectFile {
    let document = Document::parse_project("/w/p/.openclaw/guard.json", &document.to_string()).unwrap();
    ProjectFile { directory: b"/w/p".to_vec(), document, trust }
}

fn beside(project: &ProjectFile) -> Policy {
    let projects = std::slice::from_ref(project);
    compile_with(&operators(), "main", &Host { projects, ..host() }, &Overrides::default())
}

fn rights(policy: &Policy, path: &str) -> String {
    policy.rights(path.as_bytes()).to_string()
}

#[test]
fn what_it_takes_away_is_taken_and_named() {
    let policy = beside(&project(
        ProjectTrust::Untrusted,
        &json!({
            "version": 1,
            "exec": { "ask": "always", "carriers": ["sh"], "safeBins": ["wc"] },
            "permissions": { "filesystem": {
                "rules": { "${workspace}/**": "rw?", "${workspace}/vendor/**": "r--", "${workspace}/vendor/own/**": "rw-" },
                "deny": ["${workspace}/keys", "**/.env"],
            } },
            "network": { "connect": { "deny": ["10.0.0.0/8"], "ports": [443, 8080], "private": "deny" } },
        }),
    ));
    for (path, expected) in [
        ("/w/p/x", "rw?"),
        ("/w/p/vendor/x", "r--"),
        // The longest of its rules counts.
        ("/w/p/vendor/own/x", "rw-"),
        ("/w/p/keys/x", "---"),
        ("/w/p/a/.env", "---"),
        ("/usr/lib/.env", "---"),
        ("/usr/x", "r-x"),
        // It lifts nothing.
        ("/w/p/asked/x", "???"),
        ("/w/p/kept/x", "---"),
        ("/w/p/secret", "---"),
    ] {
        assert_eq!(rights(&policy, path), expected, "{path}");
    }
    let reason = file(&policy, "/w/p/vendor/x", Access::WRITE).reason;
    assert_eq!(reason.source, Source::Project);
    assert_eq!(
        reason.path,
        "/w/p/.openclaw/guard.json: permissions.filesystem.rules[\"${workspace}/vendor/**\"]"
    );
    assert_eq!(exec(&policy, &["/usr/bin/git"]).outcome, Outcome::Ask);
    assert_eq!(policy.ask().as_str(), "always");
    assert_eq!(exec(&policy, &["/usr/bin/sh"]).outcome, Outcome::Allow);
    assert_eq!(exec(&policy, &["/usr/bin/env"]).outcome, Outcome::Ask, "no carrier any more");
    assert_eq!(policy.tcp_ports(), Some(&[443][..]));
    let connect = |address: &str| {
        let connection = guard_policy::Connection::to(address.parse().unwrap());
        let verdict = decide(&policy, &Request::Connect(connection));
        (verdict.outcome, verdict.reason.source)
    };
    assert_eq!(connect("10.1.1.1:443"), (Outcome::Deny, Source::Project));
    assert_eq!(connect("192.168.1.1:443"), (Outcome::Deny, Source::Project));
    assert_eq!(connect("1.1.1.1:80"), (Outcome::Deny, Source::Project));
    assert_eq!(connect("1.1.1.1:443").0, Outcome::Allow);
    let sources: Vec<_> = policy.explain(None).into_iter().map(|setting| setting.source).collect();
    assert!(sources.contains(&Source::Project));
}

#[test]
fn the_strictest_answer_counts_for_private_networks() {
    let outcome = |operators: Value, theirs: &str, address: &str| {
        let own = json!({ "version": 1, "network": { "connect": { "private": theirs } } });
        let project = project(ProjectTrust::Untrusted, &own);
        let host = Host { projects: std::slice::from_ref(&project), ..host() };
        let document = json!({ "version": 1, "network": { "connect": operators } });
        let policy = compile_with(&document, "main", &host, &Overrides::default());
        let connection = guard_policy::Connection::to(address.parse().unwrap());
        decide(&policy, &Request::Connect(connection)).outcome
    };
    let (allow, ask) = (json!({ "private": "allow" }), json!({ "private": "ask" }));
    for (operators, theirs, private, reserved) in [
        (&allow, "allow", Outcome::Allow, Outcome::Allow),
        (&allow, "ask", Outcome::Ask, Outcome::Ask),
        (&allow, "deny", Outcome::Deny, Outcome::Deny),
        (&ask, "allow", Outcome::Ask, Outcome::Ask),
        (&ask, "deny", Outcome::Deny, Outcome::Deny),
        // What the operator has not written leaves out what is nobody's network.
        (&json!({}), "allow", Outcome::Deny, Outcome::Allow),
        (&json!({}), "ask", Outcome::Deny, Outcome::Ask),
    ] {
        assert_eq!(outcome(operators.clone(), theirs, "10.1.1.1:443"), private, "{operators} {theirs}");
        assert_eq!(outcome(operators.clone(), theirs, "198.18.0.1:443"), reserved, "{operators} {theirs}");
    }
}

#[test]
fn what_is_taken_away_makes_nothing_trusted() {
    // A clone may bring both: a carrier's name, and a file that takes `w` from it.
    for taken in
        [json!({ "rules": { "${workspace}/bin/**": "r-x" } }), json!({ "deny": ["${workspace}/bin/x"] })]
    {
        let project = project(
            ProjectTrust::Untrusted,
            &json!({ "version": 1, "permissions": { "filesystem": taken } }),
        );
        let policy = beside(&project);
        assert_eq!(exec(&policy, &["/w/p/bin/sh"]).outcome, Outcome::Ask);
        assert!(policy.writable(b"/w/p/bin/sh") && policy.writable_unasked(b"/w/p/bin/x"));
    }
}

#[test]
fn asking_is_stricter_only_than_allowing() {
    let ask = json!({ "version": 1, "exec": { "ask": "on-miss" }, "permissions": { "filesystem": { "rules": { "/w/**": "???" } } } });
    let project = project(ProjectTrust::Untrusted, &ask);
    let mut operators = operators();
    operators["exec"]["ask"] = json!("off");
    let host = Host { projects: std::slice::from_ref(&project), ..host() };
    let policy = compile_with(&operators, "main", &host, &Overrides::default());
    assert_eq!(policy.ask().as_str(), "off");
    assert_eq!(rights(&policy, "/w/p/x"), "---", "there is nobody to be asked");
    assert_eq!(exec(&policy, &["/usr/bin/curl"]).outcome, Outcome::Deny);
}

#[test]
fn trust_answers_what_the_policy_asks_and_lifts_no_denial() {
    let gives = json!({
        "version": 1,
        "permissions": { "filesystem": {
            "rules": { "${workspace}/asked/**": "rw-", "${workspace}/kept/**": "rwx", "${workspace}/secret": "rwx",
                "/srv/**": "r--", "~/.openclaw/**": "rwx" },
            "deny": ["${workspace}/asked/no"],
        } },
        "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/make" }] } },
    });
    let untrusted = project(ProjectTrust::Untrusted, &gives);
    let before = beside(&untrusted);
    let after = beside(&ProjectFile { trust: ProjectTrust::Trusted, ..untrusted.clone() });
    for (path, without, with) in [
        ("/w/p/asked/x", "??-", "rw-"),
        ("/w/p/asked/no", "---", "---"),
        ("/w/p/kept/x", "---", "---"),
        ("/w/p/secret", "---", "---"),
        ("/srv/x", "?--", "r--"),
        ("/home/u/.openclaw/x", "---", "---"),
        ("/w/p/x", "rwx", "rwx"),
    ] {
        assert_eq!((&*rights(&before, path), &*rights(&after, path)), (without, with), "{path}");
    }
    assert_eq!(exec(&before, &["/usr/bin/make"]).outcome, Outcome::Ask);
    assert_eq!(exec(&after, &["/usr/bin/make"]).outcome, Outcome::Allow);
    assert_eq!(exec(&after, &["/usr/bin/make"]).reason.source, Source::Project);
    let granted = before.granted_by(&untrusted);
    let granted: Vec<_> =
        granted.iter().map(|one| (&*one.pattern, one.bits.map(|b| b.to_string()))).collect();
    let bits = |bits: &str| Some(bits.to_owned());
    let expected = [("/w/p/asked/**", bits("rw")), ("/srv/**", bits("r")), ("/usr/bin/make", None)];
    assert_eq!(granted, expected);
}

#[test]
fn a_line_says_what_does_not_count() {
    let gives = json!({ "version": 1, "permissions": { "filesystem": { "rules": { "/srv/**": "r--" } } } });
    let takes =
        json!({ "version": 1, "permissions": { "filesystem": { "rules": { "${workspace}/x/**": "r--" } } } });
    let warnings = |trust, document| {
        let policy = beside(&project(trust, document));
        policy.warnings().iter().filter(|line| line.contains(".openclaw")).cloned().collect::<Vec<_>>()
    };
    assert!(warnings(ProjectTrust::Untrusted, &takes).is_empty());
    assert!(warnings(ProjectTrust::Trusted, &gives).is_empty());
    for (trust, why) in [
        (ProjectTrust::Untrusted, "you have not trusted it"),
        (ProjectTrust::Changed, "it has changed since you trusted it"),
        (ProjectTrust::Never("it is another user's".into()), "it is another user's"),
    ] {
        let lines = warnings(trust, &gives);
        assert!(lines.len() == 1 && lines[0].contains(why), "{lines:?}");
    }
}

#[test]
fn it_cannot_be_written_whatever_persistence_protects() {
    let mut operators = operators();
    operators["permissions"]["persistence"] = json!(false);
    let project = project(ProjectTrust::Untrusted, &json!({ "version": 1 }));
    let host = Host { projects: std::slice::from_ref(&project), ..host() };
    let policy = compile_with(&operators, "main", &host, &Overrides::default());
    assert_eq!(rights(&policy, "/w/p/.openclaw/guard.json"), "r-x");
    assert_eq!(rights(&policy, "/w/p/.openclaw"), "r-x");
    assert_eq!(rights(&policy, "/w/p/.openclaw/other"), "rwx");
    assert!(policy.keeps_below(b"/w/p").is_some() && policy.keeps_below(b"/w/p/.openclaw").is_some());
}

#[test]
fn other_keys_are_errors_with_their_place() {
    let problems = |text: &str| {
        let problems = Document::parse_project("f", text).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for (text, place) in [
        (r#"{"version": 1, "extends": "coding"}"#, "f:1:16: extends: a project file cannot have this key"),
        (r#"{"version": 1, "audit": {"path": "/x"}}"#, "f:1:16: audit: "),
        (r#"{"version": 1, "approvals": {}}"#, "f:1:16: approvals: "),
        (r#"{"version": 1, "exec": {"roots": ["/"]}}"#, "f:1:25: exec.roots: "),
        (r#"{"version": 1, "exec": {"strictInlineEval": false}}"#, "f:1:25: exec.strictInlineEval: "),
        (r#"{"version": 1, "permissions": {"persistence": false}}"#, "f:1:32: permissions.persistence: "),
        (
            r#"{"version": 1, "permissions": {"filesystem": {"default": "rwx"}}}"#,
            "f:1:47: permissions.filesystem.default: ",
        ),
        (
            r#"{"version": 1, "network": {"connect": {"gateway": "allow"}}}"#,
            "f:1:40: network.connect.gateway: ",
        ),
        (r#"{"version": 1, "network": {"unixDatagram": true}}"#, "f:1:28: network.unixDatagram: "),
        (
            r#"{"version": 1, "agents": {"a": {"permissions": {"base": true}}}}"#,
            "f:1:49: agents.a.permissions.base: ",
        ),
        (
            r#"{"version": 1, "agents": {"a": {"exec": {"autoAllowSkills": true}}}}"#,
            "f:1:42: agents.a.exec.autoAllowSkills: ",
        ),
    ] {
        let problems = problems(text);
        assert!(problems.iter().any(|problem| problem.starts_with(place)), "{text}: {problems:?}");
    }
    let everything = json!({
        "$schema": "s", "version": 1,
        "exec": { "mode": "full", "security": "full", "ask": "off", "askFallback": "deny", "safeBins": [], "carriers": [] },
        "permissions": { "filesystem": { "rules": {}, "deny": [] } },
        "network": { "connect": { "deny": [], "ports": [], "private": "allow" } },
        "agents": { "*": { "exec": { "mode": "deny" }, "allowlist": [{ "pattern": "x" }],
            "permissions": { "filesystem": { "rules": {}, "deny": [] } } } },
    });
    Document::parse_project("f", &everything.to_string()).unwrap();
}
