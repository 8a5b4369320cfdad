//! OpenClaw on this host: its configuration, its stores, its gateway, and the interpreters that it trusts.

use std::net::TcpListener;

use guard_tests::World;

use super::found::{Found, open};

fn state(world: &World, name: &str, text: &str) {
    world.write(format!("home/.openclaw/{name}"), text);
}

#[test]
fn without_openclaw_the_section_has_only_notes() {
    let found = Found::of(&World::bare());
    found.must("note", "state-directory", "OpenClaw has not run here", "");
    found.must("note", "config", "there is no ", "");
    found.must("note", "store", "there is no ", "");
    found.must("note", "saved", "saved no \"always\"", "");
    found.must("note", "gateway", "none is configured", "");
    found.must("ok", "safe-bins", "", "");
}

#[test]
fn openclaws_configuration_is_read_as_openclaw_reads_it() {
    let world = World::bare();
    state(&world, "openclaw.json", "// JSON5\n{meta: {lastTouchedVersion: '2026.9.6\\u001b[31m'},}");
    let found = Found::of(&world);
    found.must("ok", "config", "written by OpenClaw 2026.9.6", "");
    assert!(!found.raw.stdout.contains('\x1b'));
    for broken in ["{", "[]", "\"x\"", "{gateway: "] {
        state(&world, "openclaw.json", broken);
        Found::of(&world).must("problem", "config", "cannot be read", "openclaw doctor");
    }
}

#[test]
fn openclaws_store_is_reported_in_each_state() {
    let world = World::bare();
    state(&world, "exec-approvals.json", "{\"version\": 1}");
    Found::of(&world).must("ok", "store", "its entries count", "");
    state(&world, "exec-approvals.json", "{\n\"version\": 1,\n nonsense");
    Found::of(&world).must("problem", "store", "exec-approvals.json:3", "openclaw doctor --fix");
    state(&world, "exec-approvals.json", "{\"version\": 1}");
    state(&world, "state/openclaw.sqlite", "");
    Found::of(&world).must("warning", "store", "refuse to run beside this file", "openclaw doctor --fix");
    std::fs::remove_file(world.home().join(".openclaw/exec-approvals.json")).expect("it was there");
    Found::of(&world).must("note", "store", "in a database", "");
}

#[test]
fn the_guards_own_stores_are_checked() {
    let world = World::bare();
    state(&world, "guard/approvals.json", "{\"version\": 1}");
    Found::of(&world).must("ok", "saved", "is in force", "");
    state(&world, "guard/approvals.json", "{\"version\": ");
    state(&world, "guard/gateway-policy.json", "{}");
    let found = Found::of(&world);
    found.must("problem", "saved", "approvals.json:1", "repair or remove");
    found.must("problem", "gateway-store", "gateway-policy.json", "remove it");
}

#[test]
fn listeners_on_the_routes_are_found_without_asking() {
    let world = World::bare();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    state(&world, "openclaw.json", &format!("{{\"gateway\": {{\"port\": {port}}}}}"));
    Found::of(&world).must("ok", "gateway", &format!("somebody listens on port {port}"), "");
    listener.set_nonblocking(true).expect("a listener");
    assert!(listener.accept().is_err(), "nobody came");
    drop(listener);
    Found::of(&world).must("warning", "gateway", "nobody listens", "openclaw-guard doctor gateway");
    let quiet = World::bare().policy(r#"{"version": 1, "exec": {"ask": "off"}}"#);
    state(&quiet, "openclaw.json", &format!("{{\"gateway\": {{\"port\": {port}}}}}"));
    Found::of(&quiet).must("note", "gateway", "the policy asks nothing", "");
    let named = World::bare()
        .policy(r#"{"version": 1, "approvals": {"gateway": {"url": "wss://gateway.example:1"}}}"#);
    Found::of(&named).must("note", "gateway", "wss://gateway.example:1, by guard.json", "");
    state(&world, "openclaw.json", r#"{"gateway": {"mode": "remote"}}"#);
    Found::of(&world).must("note", "gateway", "on another host", "");
}

#[test]
fn interpreters_are_no_safe_bins() {
    let world = World::bare();
    let profile = r#""safeBinProfiles": {"node": {}}"#;
    state(
        &world,
        "openclaw.json",
        &format!(
            r#"{{"tools": {{"exec": {{"safeBins": ["jq", "python3", "node"], {profile}}}}},
                "agents": {{"list": [{{"id": "a"}}, {{"id": "b", "tools": {{"exec": {{"safeBins": ["ruby"]}}}}}}]}}}}"#
        ),
    );
    let found = Found::of(&world);
    found.must("warning", "safe-bins", "openclaw.json: python3 runs", "argPattern");
    found.must("warning", "safe-bins", "agents.list[1].tools.exec.safeBins", "");
    found.must("warning", "safe-bins", "ruby", "");
    found.must("warning", "safe-bins", "tools.exec.safe_bins_interpreter_unprofiled", "");
    let texts: Vec<_> = found.named("safe-bins").iter().filter_map(|one| one["text"].as_str()).collect();
    // Only the names of the programs: the directories before them are temporary.
    let names: Vec<_> =
        texts.iter().filter_map(|text| text.split(" runs ").next()?.rsplit(": ").next()).collect();
    assert_eq!(names, ["python3", "ruby"], "{texts:?}");
    let own = World::bare().policy(r#"{"version": 1, "exec": {"safeBins": ["bash", "cut"]}}"#);
    Found::of(&own).must("warning", "safe-bins", "exec.safeBins of guard.json: bash", "");
}

#[test]
fn interpreters_that_run_any_code_are_reported() {
    let entry = |more: &str, exec: &str| {
        World::bare().policy(&format!(
            r#"{{"version": 1, "exec": {{"security": "allowlist"{exec}}},
                "agents": {{"main": {{"allowlist": [{{"pattern": "/usr/bin/git"}}, {{"pattern": "/usr/bin/python3*"{more}}}]}}}}}}"#
        ))
    };
    let found = Found::of(&entry("", ""));
    found.must("warning", "entries", "/usr/bin/python3*", "strictInlineEval");
    found.must("warning", "entries", "agents.main.allowlist[1]", "argPattern");
    assert!(!found.is("warning", "entries", "/usr/bin/git"));
    Found::of(&entry("", r#", "strictInlineEval": true"#)).must("note", "entries", "asks about code", "");
    Found::of(&entry(r#", "argPattern": "^x$""#, "")).must("ok", "entries", "", "");
    Found::of(&entry("", r#", "carriers": ["bash", "xargs", "python3"]"#)).must(
        "warning",
        "carriers",
        "python3 (exec.carriers)",
        "exec.carriers",
    );
    assert!(Found::of(&open("")).named("carriers").is_empty(), "those that there are by default");
}
