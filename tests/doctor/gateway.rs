//! `doctor gateway` where there is no gateway to find.

use std::net::TcpListener;

use guard_tests::{World, ended};
use serde_json::Value;

/// Returns the status of `doctor gateway` with these `approvals` settings, and its findings.
fn found(world: &World, approvals: &str) -> (i32, Vec<Value>) {
    let policy = world.write(
        "policy.json",
        format!(r#"{{"version": 1, "exec": {{"ask": "on-miss"}}, "approvals": {approvals}}}"#),
    );
    let mut doctor = world.command();
    let ended = ended(doctor.arg("--policy").arg(policy).args(["doctor", "gateway", "--json"]));
    let found = serde_json::from_str(&ended.stdout);
    (ended.status, found.unwrap_or_else(|error| panic!("{error}: {ended:?}")))
}

fn is_problem(found: &[Value], name: &str, text: &str) -> bool {
    let is_it = |one: &Value| {
        one["name"] == name
            && one["state"] == "problem"
            && one["text"].as_str().is_some_and(|message| message.contains(text))
    };
    found.iter().any(is_it)
}

#[test]
fn without_a_token_it_says_where_it_looked() {
    let world = World::bare();
    let (status, found) = found(&world, "{}");
    assert_eq!(status, 1);
    assert!(is_problem(&found, "gateway", "OPENCLAW_GATEWAY_TOKEN"), "{found:?}");
    assert!(
        found.last().is_some_and(|last| last["fix"].as_str().is_some_and(|fix| fix.contains("tokenFile")))
    );
}

#[test]
fn where_nobody_listens_it_says_so_and_no_token() {
    let world = World::bare();
    let token = world.write("token", "a-very-secret-token\n");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let gateway =
        format!(r#"{{"gateway": {{"url": "ws://127.0.0.1:{port}", "tokenFile": "{}"}}}}"#, token.display());
    let (status, found) = found(&world, &gateway);
    assert_eq!(status, 1);
    assert!(is_problem(&found, "connection", "nobody listens"), "{found:?}");
    assert!(!found.iter().any(|one| one.to_string().contains("a-very-secret-token")));
}

#[test]
fn a_missing_gateway_route_is_reported() {
    let world = World::bare();
    let (status, found) = found(&world, r#"{"routes": ["cli"]}"#);
    assert_eq!(status, 1);
    assert!(is_problem(&found, "routes", "the guard asks nobody there"), "{found:?}");
}
