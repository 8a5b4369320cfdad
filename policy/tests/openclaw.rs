//! Tests of a policy with OpenClaw's own store: its entries count; otherwise the store only tightens.

use crate::common::{self, HOME, compile_with, exec, file, host, parse};
use guard_policy::store::{Store, StoreContents};
use guard_policy::{
    Access, Ask, Exec, Host, OpenclawStore, Outcome, Overrides, Policy, Request, Role, Security, Source,
    decide,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn reading(store: &Value) -> StoreContents {
    Store::parse("exec-approvals.json", &store.to_string(), &mut || "id".to_owned())
        .unwrap_or_else(|problem| panic!("{problem}"))
}

fn with_store(guard: &Value, store: &Value, agent: &str) -> Policy {
    let reading = reading(store);
    let host = Host { openclaw: OpenclawStore::Present(&reading), ..host() };
    compile_with(guard, agent, &host, &Overrides::default())
}

/// A guard.json that lets everything in /usr run.
fn guard(exec: &Value, allowlist: &[&str]) -> Value {
    let allowlist: Vec<Value> = allowlist.iter().map(|pattern| json!({"pattern": pattern})).collect();
    json!({"version": 1, "exec": exec, "agents": {"main": {"allowlist": allowlist}},
           "permissions": {"filesystem": {"rules": {"/usr/**": "r-x", "/asked/**": "r-?", "/never/**": "r--"}}}})
}

const SECURITIES: [Security; 3] = [Security::Deny, Security::Allowlist, Security::Full];
const ASKS: [Ask; 3] = [Ask::Off, Ask::OnMiss, Ask::Always];

/// minSecurity, by the places of both in the order deny, allowlist, full.
const MIN_SECURITY: [[usize; 3]; 3] = [[0, 0, 0], [0, 1, 1], [0, 1, 2]];

/// maxAsk, by the places of both in the order off, on-miss, always.
const MAX_ASK: [[usize; 3]; 3] = [[0, 1, 2], [1, 1, 2], [2, 2, 2]];

fn triples() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..27).map(|n| (n / 9, n / 3 % 3, n % 3))
}

fn modes((security, ask, fallback): (usize, usize, usize)) -> Value {
    json!({"security": Security::NAMES[security], "ask": Ask::NAMES[ask], "askFallback": Security::NAMES[fallback]})
}

#[test]
fn modes_compose_by_the_definition() {
    let mut compared = 0;
    for ours in triples() {
        for theirs in triples() {
            for section in ["defaults", "agent", "everyone"] {
                let store = match section {
                    "defaults" => json!({"version": 1, "defaults": modes(theirs)}),
                    "agent" => json!({"version": 1, "agents": {"main": modes(theirs)}}),
                    _ => json!({"version": 1, "agents": {"*": modes(theirs)}}),
                };
                let policy = with_store(&guard(&modes(ours), &[]), &store, "main");
                let security = MIN_SECURITY[ours.0][theirs.0];
                let ask = MAX_ASK[ours.1][theirs.1];
                let mut fallback = MIN_SECURITY[MIN_SECURITY[ours.2][theirs.2]][security];
                if ours.1 == 0 && ask != 0 {
                    // The store makes the policy ask, so nobody answering must not allow more than the allowlist.
                    fallback = MIN_SECURITY[fallback][1];
                }
                let found = (policy.security(), policy.ask(), policy.ask_fallback());
                let expected = (SECURITIES[security], ASKS[ask], SECURITIES[fallback]);
                assert_eq!(found, expected, "{ours:?} {theirs:?} {section}");
                compared += 1;
            }
        }
    }
    println!("compositions: {compared} of {}", 27 * 27 * 3);
}

#[test]
fn modes_that_the_store_leaves_out_stay() {
    for ours in triples() {
        for store in [
            json!({"version": 1}),
            json!({"version": 1, "defaults": {"security": "bogus"}, "agents": {"other": modes((0, 2, 0))}}),
        ] {
            let policy = with_store(&guard(&modes(ours), &[]), &store, "main");
            let fallback = MIN_SECURITY[ours.2][ours.0];
            let found = (policy.security(), policy.ask(), policy.ask_fallback());
            assert_eq!(found, (SECURITIES[ours.0], ASKS[ours.1], SECURITIES[fallback]), "{ours:?} {store}");
        }
    }
}

#[test]
fn the_reason_says_who_tightened() {
    let open = guard(&json!({"security": "full", "ask": "off"}), &[]);
    let deny = with_store(&open, &json!({"version": 1, "agents": {"*": {"security": "deny"}}}), "main");
    let reason = exec(&deny, &["/usr/bin/ls"]).reason;
    assert_eq!((reason.source, &*reason.path), (Source::Openclaw, "openclaw.agents[\"*\"].security"));
    assert_eq!(reason.rule(), "openclaw.agents[\"*\"].security \"deny\"");
    let always = with_store(&open, &json!({"version": 1, "defaults": {"ask": "always"}}), "main");
    let reason = exec(&always, &["/usr/bin/ls"]).reason;
    assert_eq!((reason.source, &*reason.path), (Source::Openclaw, "openclaw.defaults.ask"));
    // An equal value does not tighten.
    let always = guard(&json!({"security": "full", "ask": "always"}), &[]);
    let same = with_store(&always, &json!({"version": 1, "defaults": {"ask": "always"}}), "main");
    assert_eq!(exec(&same, &["/usr/bin/ls"]).reason.source, Source::Global);
    let same = with_store(&open, &json!({"version": 1, "defaults": {"security": "full"}}), "main");
    assert_eq!(exec(&same, &["/usr/bin/ls"]).reason.source, Source::Global);
}

#[test]
fn the_command_line_tightens_further() {
    let reading = reading(&json!({"version": 1, "defaults": {"security": "allowlist", "ask": "on-miss"}}));
    let host = Host { openclaw: OpenclawStore::Present(&reading), ..host() };
    let overrides = Overrides { security: Some(Security::Deny), ask: Some(Ask::Always) };
    let policy =
        compile_with(&guard(&json!({"security": "full", "ask": "off"}), &[]), "main", &host, &overrides);
    assert_eq!((policy.security(), policy.ask()), (Security::Deny, Ask::Always));
    let looser = Overrides { security: Some(Security::Full), ask: Some(Ask::Off) };
    let policy =
        compile_with(&guard(&json!({"security": "full", "ask": "off"}), &[]), "main", &host, &looser);
    assert_eq!((policy.security(), policy.ask()), (Security::Allowlist, Ask::OnMiss));
}

#[test]
fn entries_of_openclaws_store_count() {
    let store = json!({"version": 1, "agents": {
        "*": {"allowlist": ["/usr/bin/every"]},
        "main": {"allowlist": ["/usr/bin/a", {"pattern": "/usr/bin/git", "argPattern": "^status$"}, "rg", "/never/b", "/asked/c"]},
        "other": {"allowlist": ["/usr/bin/other"]}}});
    let guard = guard(&json!({"ask": "off"}), &["/usr/bin/own"]);
    let policy = with_store(&guard, &store, "main");
    for (argv, path) in [
        (&["/usr/bin/every"][..], "openclaw.agents[\"*\"].allowlist[0]"),
        (&["/usr/bin/a", "-x"], "openclaw.agents.main.allowlist[0]"),
        (&["/usr/bin/git", "status"], "openclaw.agents.main.allowlist[1]"),
    ] {
        let verdict = exec(&policy, argv);
        assert_eq!((verdict.outcome, verdict.reason.source), (Outcome::Allow, Source::Openclaw), "{argv:?}");
        assert_eq!(verdict.reason.path, path);
        assert!(
            verdict.reason.rule().starts_with(path.split_at(path.len() - 3).0),
            "{}",
            verdict.reason.rule()
        );
    }
    assert_eq!(exec(&policy, &["/usr/bin/own"]).reason.source, Source::Agent);
    for argv in [&["/usr/bin/git", "push"][..], &["/usr/bin/other"], &["/never/b"]] {
        assert_eq!(exec(&policy, argv).outcome, Outcome::Deny, "{argv:?}");
    }
    assert_eq!(exec(&policy, &["/asked/c"]).outcome, Outcome::Deny, "the map has the last word");
    let bare = [b"rg".to_vec(), b"TODO".to_vec()];
    let request = Request::Exec(Exec { path: b"/usr/bin/rg", argv: &bare, cwd: HOME, role: Role::Program });
    assert_eq!(decide(&policy, &request).reason.path, "openclaw.agents.main.allowlist[2]");
    // Another agent has its own.
    let other = with_store(&guard, &store, "other");
    assert_eq!(exec(&other, &["/usr/bin/other"]).outcome, Outcome::Allow);
    assert_eq!(exec(&other, &["/usr/bin/every"]).outcome, Outcome::Allow);
    assert_eq!(exec(&other, &["/usr/bin/a"]).outcome, Outcome::Deny);
}

#[test]
fn entries_that_match_nothing_are_reported_once_for_each_reason() {
    let always = |pattern: &str| json!({"pattern": pattern, "source": "allow-always"});
    let store = json!({"version": 1, "defaults": {"security": "bogus", "autoAllowSkills": true}, "agents": {"main": {"allowlist": [
        always("/usr/bin/a"), always("/usr/bin/b"), always("/usr/bin/c"), always("=command:0123456789abcdef"),
        {"pattern": "/usr/bin/d", "argPattern": "sha256:argv:00"}, {"pattern": "/usr/bin/e", "argPattern": "("}, 7,
    ]}}});
    let policy = with_store(&guard(&json!({"ask": "off"}), &[]), &store, "main");
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(exec(&policy, &[&format!("/usr/bin/{name}")]).outcome, Outcome::Deny, "{name}");
    }
    let starts = [
        "exec-approvals.json: defaults.security: \"bogus\" is ignored: it is not one of deny, allowlist, full",
        "exec-approvals.json: agents.main.allowlist[6]: is ignored",
        "openclaw.agents.main.allowlist[5]: its argPattern is not a regular expression",
        "openclaw.agents.main.allowlist[3] matches nothing: it names a whole command line",
        "openclaw.agents.main.allowlist[4] matches nothing: it is bound to arguments without a directory",
        "openclaw.agents.main.allowlist[0] and 2 more match nothing: it was allowed \"always\"",
        "openclaw.defaults.autoAllowSkills is on, but the guard uses only",
    ];
    assert_eq!(policy.warnings().len(), starts.len(), "{:#?}", policy.warnings());
    for (warning, start) in policy.warnings().iter().zip(starts) {
        assert!(warning.starts_with(start), "{warning}");
    }
}

#[test]
fn nothing_starts_beside_a_broken_store() {
    let line = "/s/exec-approvals.json:3:1: trailing comma";
    let host = Host { openclaw: OpenclawStore::Broken(line), ..host() };
    let none = Overrides::default();
    let open = guard(&json!({"security": "full", "ask": "always", "askFallback": "full"}), &["*"]);
    for policy in [compile_with(&open, "main", &host, &none), Policy::without_file("main", &host, &none)] {
        let modes = (policy.security(), policy.ask(), policy.ask_fallback());
        assert_eq!(modes, (Security::Deny, Ask::Off, Security::Deny));
        for role in [Role::Program, Role::Interpreter, Role::Loader] {
            let verdict = common::exec_as(&policy, "/usr/bin/sh", &["sh"], role);
            assert_eq!((verdict.outcome, verdict.reason.source), (Outcome::Deny, Source::Openclaw));
            assert_eq!(verdict.reason.rule(), "openclaw: exec-approvals.json cannot be read");
            assert!(verdict.reason.text.contains(line), "{}", verdict.reason.text);
        }
        let [warning] = policy.warnings() else { panic!("{:?}", policy.warnings()) };
        assert!(warning.starts_with(line) && warning.contains("repaired or moved away"), "{warning}");
    }
}

#[test]
fn openclaws_store_counts_without_a_guard_json() {
    let reading =
        reading(&json!({"version": 1, "agents": {"main": {"ask": "always", "allowlist": ["/srv/tool"]}}}));
    let host = Host { openclaw: OpenclawStore::Present(&reading), ..host() };
    let policy = Policy::without_file("main", &host, &Overrides::default());
    let verdict = exec(&policy, &["/usr/bin/ls"]);
    assert_eq!((verdict.outcome, &*verdict.reason.path), (Outcome::Ask, "openclaw.agents.main.ask"));
    assert_eq!(exec(&policy, &["/usr/bin/bash"]).outcome, Outcome::Allow, "a carrier is not asked for");
    let listed = Policy::without_file("main", &common::host(), &Overrides::default());
    assert_eq!(exec(&listed, &["/usr/bin/ls"]).outcome, Outcome::Allow);
    assert_eq!(file(&policy, "/home/u/.openclaw/exec-approvals.json", Access::READ).outcome, Outcome::Deny);
}

fn mode() -> impl Strategy<Value = Value> {
    let word = |names: [&'static str; 3]| prop::option::of(prop::sample::select(names.to_vec()));
    (word(Security::NAMES), word(Ask::NAMES), word(Security::NAMES)).prop_map(|(security, ask, fallback)| {
        let mut mode = json!({});
        for (key, value) in [("security", security), ("ask", ask), ("askFallback", fallback)] {
            if let Some(value) = value {
                mode[key] = value.into();
            }
        }
        mode
    })
}

const PROGRAMS: [&str; 6] =
    ["/usr/bin/a", "/usr/bin/b", "/usr/bin/bash", "/asked/a", "/never/a", "/elsewhere/a"];

fn patterns() -> impl Strategy<Value = Vec<&'static str>> {
    let pattern =
        prop::sample::select(vec!["/usr/bin/a", "/usr/**", "/asked/*", "/never/a", "/elsewhere/a", "b", "*"]);
    prop::collection::vec(pattern, 0..3)
}

/// The outcome of a request if nobody can be asked.
fn ends(policy: &Policy, request: &Request<'_>) -> Outcome {
    policy.fallback(request, decide(policy, request)).outcome
}

fn requests(check: &mut dyn FnMut(&Request<'_>)) {
    for path in PROGRAMS {
        for name in [path, "a", "b"] {
            for role in [Role::Program, Role::Interpreter, Role::Loader] {
                let argv = [name.as_bytes().to_vec()];
                check(&Request::Exec(Exec { path: path.as_bytes(), argv: &argv, cwd: HOME, role }));
            }
        }
        for access in [Access::READ, Access::WRITE, Access::MAP] {
            check(&Request::File { path: path.as_bytes(), access });
        }
    }
}

fn compile(guard: &Value, openclaw: OpenclawStore<'_>) -> Policy {
    let document = parse(&guard.to_string()).unwrap_or_else(|problems| panic!("{problems:?}"));
    let host = Host { openclaw, ..host() };
    Policy::compile(&document, "main", &host, &Overrides::default()).unwrap()
}

proptest! {
    /// As if its entries stood in guard.json, and nothing else were in it that allows.
    #[test]
    fn a_store_allows_no_more_than_its_entries(
        ours in prop_oneof![mode(), Just(modes((2, 0, 2)))], own in patterns(), default in prop::sample::select(vec!["---", "r-x", "???", "rw?"]),
        (defaults, agent, everyone) in (mode(), prop_oneof![mode(), Just(json!({}))], prop_oneof![mode(), Just(json!({}))]), (theirs, all) in (patterns(), patterns()),
    ) {
        let mut guard = guard(&ours, &own);
        guard["permissions"]["filesystem"]["default"] = default.into();
        let (mut agent, mut everyone) = (agent, everyone);
        let mut combined = guard.clone();
        let list = combined["agents"]["main"]["allowlist"].as_array_mut().expect("a list");
        list.extend(theirs.iter().chain(&all).map(|pattern| json!({"pattern": pattern})));
        agent["allowlist"] = json!(theirs);
        everyone["allowlist"] = json!(all);
        let reading = reading(&json!({"version": 1, "defaults": defaults, "agents": {"main": agent, "*": everyone}}));
        let with = compile(&guard, OpenclawStore::Present(&reading));
        let without = compile(&combined, OpenclawStore::Absent);
        let broken = compile(&guard, OpenclawStore::Broken("x"));
        requests(&mut |request| {
            let (with, without) = ((decide(&with, request).outcome, ends(&with, request)), (decide(&without, request).outcome, ends(&without, request)));
            assert!(with.0 != Outcome::Allow || without.0 == Outcome::Allow, "{request:?}: {with:?} {without:?}");
            assert!(with.1 != Outcome::Allow || without.1 == Outcome::Allow, "{request:?}: {with:?} {without:?}");
            if matches!(request, Request::Exec(_)) {
                assert_eq!(decide(&broken, request).outcome, Outcome::Deny);
            }
        });
    }
}
