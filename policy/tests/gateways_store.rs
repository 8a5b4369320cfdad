//! Tests of a policy with the approvals store of OpenClaw's gateway, alone and together with OpenClaw's file.

use crate::common::{compile_with, exec, host};
use guard_policy::store::{Store, StoreContents};
use guard_policy::{Ask, Host, OpenclawStore, Outcome, Overrides, Policy, Security, Source};
use serde_json::{Value, json};

fn reading(store: &Value) -> StoreContents {
    Store::parse("the gateway", &store.to_string(), &mut || "id".to_owned())
        .unwrap_or_else(|problem| panic!("{problem}"))
}

/// A guard.json that asks the gateway as an administrator.
fn guard(exec: &Value) -> Value {
    json!({ "version": 1, "exec": exec, "approvals": { "gateway": { "admin": true } },
            "permissions": { "filesystem": { "rules": { "/usr/**": "r-x", "/asked/**": "r-?", "/never/**": "r--" } } } })
}

fn compile(guard: &Value, file: OpenclawStore<'_>, gateways: OpenclawStore<'_>) -> Policy {
    compile_with(guard, "main", &Host { openclaw: file, gateways, ..host() }, &Overrides::default())
}

fn found(policy: &Policy) -> (Security, Ask, Security) {
    (policy.security(), policy.ask(), policy.ask_fallback())
}

fn modes(n: usize) -> Value {
    let (security, ask, fallback) = (n / 9, n / 3 % 3, n % 3);
    json!({ "security": Security::NAMES[security], "ask": Ask::NAMES[ask], "askFallback": Security::NAMES[fallback] })
}

#[test]
fn the_gateways_store_alone_acts_like_the_file() {
    let mut compared = 0;
    for (ours, theirs) in (0..27).flat_map(|ours| (0..27).map(move |theirs| (ours, theirs))) {
        let mut store = json!({ "version": 1, "agents": { "*": { "allowlist": ["/usr/bin/a"] } } });
        match (ours + theirs) % 3 {
            0 => store["defaults"] = modes(theirs),
            1 => store["agents"]["*"] = modes(theirs),
            _ => store["agents"]["main"] = modes(theirs),
        }
        let (reading, guard) = (reading(&store), guard(&modes(ours)));
        let present = OpenclawStore::Present(&reading);
        let file = compile(&guard, present, OpenclawStore::Absent);
        let gateway = compile(&guard, OpenclawStore::Absent, present);
        assert_eq!(found(&file), found(&gateway), "{ours} {store}");
        for program in ["/usr/bin/a", "/usr/bin/b", "/asked/a", "/never/a"] {
            let (one, other) = (exec(&file, &[program]), exec(&gateway, &[program]));
            assert_eq!(one.outcome, other.outcome, "{ours} {store} {program}");
            assert_eq!(one.reason.path.replacen("openclaw", "gateway", 1), other.reason.path);
        }
        compared += 1;
    }
    println!("like the file: {compared} of {}", 27 * 27);
}

#[test]
fn the_stricter_of_both_stores_counts() {
    let open = guard(&json!({ "security": "full", "ask": "off", "askFallback": "full" }));
    let stores: Vec<StoreContents> =
        (0..27).map(|n| reading(&json!({ "version": 1, "defaults": modes(n) }))).collect();
    let stores: Vec<OpenclawStore<'_>> = stores.iter().map(OpenclawStore::Present).collect();
    let alone: Vec<_> =
        stores.iter().map(|store| found(&compile(&open, *store, OpenclawStore::Absent))).collect();
    for (file, gateway) in (0..27).flat_map(|file| (0..27).map(move |gateway| (file, gateway))) {
        let both = found(&compile(&open, stores[file], stores[gateway]));
        let (one, other) = (alone[file], alone[gateway]);
        let expected = (one.0.min_security(other.0), one.1.max_ask(other.1), one.2.min_security(other.2));
        assert_eq!(both, expected, "{file} {gateway}");
    }
}

#[test]
fn entries_of_both_stores_count_and_name_their_store() {
    let file = reading(&json!({ "version": 1, "agents": { "main": { "allowlist": ["/usr/bin/a"] } } }));
    let gateways = reading(&json!({ "version": 1, "agents": {
        "*": { "allowlist": ["/usr/bin/b"] }, "main": { "allowlist": ["/never/c"] },
        "other": { "allowlist": ["/usr/bin/d"] },
    } }));
    let guard = guard(&json!({ "ask": "off" }));
    let policy = compile(&guard, OpenclawStore::Present(&file), OpenclawStore::Present(&gateways));
    let verdict = exec(&policy, &["/usr/bin/b"]);
    assert_eq!((verdict.outcome, verdict.reason.source), (Outcome::Allow, Source::Openclaw));
    assert_eq!(verdict.reason.path, "gateway.agents[\"*\"].allowlist[0]");
    assert_eq!(verdict.reason.rule(), "gateway.agents[\"*\"].allowlist \"/usr/bin/b\"");
    assert_eq!(verdict.reason.text, "the allowlist of the gateway's exec approvals has \"/usr/bin/b\"");
    assert_eq!(exec(&policy, &["/usr/bin/a"]).reason.path, "openclaw.agents.main.allowlist[0]");
    for denied in ["/never/c", "/usr/bin/d", "/usr/bin/e"] {
        assert_eq!(exec(&policy, &[denied]).outcome, Outcome::Deny, "{denied}");
    }
}

#[test]
fn the_same_store_twice_counts_once() {
    let mut store = json!({ "version": 1, "socket": { "path": "/s" }, "defaults": { "autoAllowSkills": true },
        "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/a", "id": "1" }, { "pattern": "x", "id": "2", "source": "allow-always" }] } } });
    let gateways = reading(&store);
    store["socket"]["token"] = "secret".into();
    let file = reading(&store);
    let guard = guard(&json!({ "ask": "off" }));
    let both = compile(&guard, OpenclawStore::Present(&file), OpenclawStore::Present(&gateways));
    let alone = compile(&guard, OpenclawStore::Present(&file), OpenclawStore::Absent);
    assert_eq!(both.warnings(), alone.warnings());
    assert_eq!(both.explain(None), alone.explain(None));
    store["agents"]["main"]["security"] = "deny".into();
    let stricter = reading(&store);
    let both = compile(&guard, OpenclawStore::Present(&file), OpenclawStore::Present(&stricter));
    assert_eq!(both.security(), Security::Deny);
}

#[test]
fn nothing_starts_while_the_gateways_store_is_unknown() {
    let open = guard(&json!({ "security": "full", "ask": "always", "askFallback": "full" }));
    let gateways = OpenclawStore::Broken("ws://127.0.0.1:18789: nobody listens");
    let store = reading(&json!({ "version": 1, "defaults": { "security": "full" } }));
    for file in [OpenclawStore::Absent, OpenclawStore::Present(&store)] {
        let policy = compile(&open, file, gateways);
        assert_eq!(found(&policy), (Security::Deny, Ask::Off, Security::Deny));
        let verdict = exec(&policy, &["/usr/bin/ls"]);
        assert_eq!((verdict.outcome, verdict.reason.source), (Outcome::Deny, Source::Openclaw));
        assert_eq!(verdict.reason.rule(), "gateway: its exec approvals are not known");
        assert!(verdict.reason.text.contains("nobody listens"), "{}", verdict.reason.text);
        let [warning] = policy.warnings() else { panic!("{:?}", policy.warnings()) };
        assert!(warning.contains("nobody listens; no program may start until the gateway"), "{warning}");
    }
    // Both cause a warning, and the file is the reason.
    let policy = compile(&open, OpenclawStore::Broken("x"), gateways);
    assert_eq!(exec(&policy, &["/usr/bin/ls"]).reason.rule(), "openclaw: exec-approvals.json cannot be read");
    assert_eq!(policy.warnings().len(), 2);
}

#[test]
fn the_gateways_store_does_not_count_without_admin() {
    let deny = reading(&json!({ "version": 1, "defaults": { "security": "deny" } }));
    for admin in [json!(false), Value::Null] {
        let mut open = guard(&json!({ "security": "full", "ask": "off" }));
        open["approvals"]["gateway"]["admin"] = admin;
        open["approvals"]["gateway"].as_object_mut().expect("a section").retain(|_, value| !value.is_null());
        for gateways in [OpenclawStore::Present(&deny), OpenclawStore::Broken("x")] {
            let policy = compile(&open, OpenclawStore::Absent, gateways);
            assert_eq!(policy.security(), Security::Full);
            assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());
        }
    }
    let host = Host { gateways: OpenclawStore::Present(&deny), ..host() };
    let policy = Policy::without_file("main", &host, &Overrides::default());
    assert_eq!(exec(&policy, &["/usr/bin/ls"]).outcome, Outcome::Allow);
}
