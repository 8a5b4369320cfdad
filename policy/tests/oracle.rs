//! The cases that OpenClaw's own code answered; see `data/README.md`.
#![allow(missing_docs)]

mod common;

use common::{HOME, compile};
use guard_policy::{Access, Exec, Outcome, Request, Role, decide, matches_allowlist_pattern};
use serde_json::{Value, json};

/// The release to agree with.
const NEWEST: &str = "2026.9.6";

/// Cases in which the guard differs on purpose: none.
const DIFFERENT: [(&str, &str); 0] = [];

fn data(file: &str) -> Value {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn home() -> String {
    String::from_utf8(HOME.to_vec()).unwrap()
}

#[test]
fn permission_map() {
    let data = data("rwx-permission-map.json");
    assert_eq!(data["home"], home());
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let filesystem = &data["policies"][case["policy"].as_str().unwrap()];
        // The proposal knows neither base nor asking; security full leaves the map alone to judge.
        let policy = compile(&json!({
            "version": 1,
            "exec": { "security": "full", "ask": "off" },
            "permissions": { "filesystem": filesystem, "base": false },
        }));
        let written = case["path"].as_str().unwrap();
        let path = match written.strip_prefix('~') {
            Some(rest) => home() + rest,
            None => written.to_owned(),
        };
        let path = path.as_bytes();
        let argv = [path.to_vec()];
        let request = match case["op"].as_str().unwrap() {
            "read" => Request::File { path, access: Access::READ },
            "write" => Request::File { path, access: Access::WRITE },
            _ => Request::Exec(Exec { path, argv: &argv, cwd: HOME, role: Role::Program }),
        };
        let expected = match case["verdict"].as_str().unwrap() {
            "allow" => Outcome::Allow,
            _ => Outcome::Deny,
        };
        assert_eq!(decide(&policy, &request).outcome, expected, "{case}");
        agreed += 1;
    }
    println!("permission map: {agreed} of {}", cases.len());
}

#[test]
fn allowlist_patterns() {
    let data = data("allowlist-pattern-match.json");
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let (pattern, target) = (case["pattern"].as_str().unwrap(), case["target"].as_str().unwrap());
        if DIFFERENT.contains(&(pattern, target)) {
            continue;
        }
        let expected = case[NEWEST].as_bool().unwrap();
        assert_eq!(matches_allowlist_pattern(pattern, HOME, target.as_bytes()), expected, "{case}");
        agreed += 1;
    }
    println!("allowlist patterns: {agreed} of {}", cases.len());
}
