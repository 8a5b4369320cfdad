//! Compares verdicts with the recorded answers of OpenClaw's own code; see `data/README.md`.

use crate::common::{HOME, compile, data};
use std::collections::BTreeSet;

use guard_policy::safe_bins::{self, Profile};
use guard_policy::{
    Access, Exec, Outcome, Request, Role, cwd_argv_pattern, decide, matches_allowlist_pattern,
    matches_arg_pattern,
};
use serde_json::json;

/// The release to agree with.
const NEWEST: &str = "2026.9.6";

/// Cases in which the guard differs on purpose: none.
const DIFFERENT: [(&str, &str); 0] = [];

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
        // The proposal knows neither base nor persistence nor asking; security full leaves the map alone to judge.
        let policy = compile(&json!({
            "version": 1,
            "exec": { "security": "full", "ask": "off" },
            "permissions": { "filesystem": filesystem, "base": false, "persistence": false },
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

#[test]
fn safe_bin_profiles() {
    let data = data("safe-bin-profiles.json");
    let release = &data[NEWEST];
    assert_eq!(release["defaultSafeBins"], json!(safe_bins::DEFAULT));
    assert_eq!(release["defaultTrustedDirs"], json!(safe_bins::TRUSTED_DIRS));
    let profiles = release["profiles"].as_object().unwrap();
    for (name, expected) in profiles {
        let profile = Profile::builtin(name.as_bytes()).unwrap();
        let set = |key: &str| serde_json::from_value::<BTreeSet<String>>(expected[key].clone()).unwrap();
        assert_eq!(profile.min_positional as u64, expected["minPositional"].as_u64().unwrap_or(0), "{name}");
        assert_eq!(
            profile.max_positional.map(|most| most as u64),
            expected["maxPositional"].as_u64(),
            "{name}"
        );
        assert_eq!(profile.value_flags, set("allowedValueFlags"), "{name}");
        assert_eq!(profile.boolean_flags, set("allowedBooleanFlags"), "{name}");
        assert_eq!(profile.denied_flags, set("deniedFlags"), "{name}");
    }
    println!("safe-bin profiles: {0} of {0}", profiles.len());
}

/// jq is refused altogether since 2026.7 (pull request 102032). Here its profile counts, as in 2026.4: what it could
/// read is judged when it opens it, and the environment is kept from it by the filter's words.
const JQ_ALLOWED: [&str; 2] = [".foo", "input"];

#[test]
fn safe_bin_arguments() {
    let data = data("safe-bin-argv.json");
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let name = case["bin"].as_str().unwrap();
        let words: Vec<String> = serde_json::from_value(case["args"].clone()).unwrap();
        let arguments: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let verdict = Profile::builtin(name.as_bytes())
            .map(|profile| safe_bins::is_safe(format!("/usr/bin/{name}").as_bytes(), &profile, &arguments));
        if name == "jq" && verdict == Some(true) {
            assert!(
                words.iter().any(|word| JQ_ALLOWED.contains(&&word[..])) || words[0] == "--arg",
                "{case}"
            );
            continue;
        }
        assert_eq!(verdict, case[NEWEST].as_bool(), "{case}");
        agreed += 1;
    }
    println!("safe-bin arguments: {agreed} of {}", cases.len());
}

#[test]
fn cwd_argv_hashes() {
    let data = data("cwd-argv-hash.json");
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let argv: Vec<String> = serde_json::from_value(case["argv"].clone()).unwrap();
        let arguments: Vec<_> = argv[1..].iter().map(|word| word.as_bytes().to_vec()).collect();
        let cwd = case["cwd"].as_str().unwrap().as_bytes();
        assert_eq!(cwd_argv_pattern(cwd, &arguments), case["argPattern"].as_str().unwrap(), "{case}");
        agreed += 1;
    }
    println!("cwd-argv hashes: {agreed} of {}", cases.len());
}

#[test]
fn arg_patterns() {
    let data = data("exec-arg-pattern-native-parity.json");
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let entry = json!({ "pattern": "/usr/bin/x", "argPattern": case["pattern"] });
        let policy = compile(&json!({
            "version": 1,
            "exec": { "ask": "off" },
            "permissions": { "filesystem": { "default": "r-x" } },
            "agents": { "main": { "allowlist": [entry] } },
        }));
        let argv = ["x", case["argument"].as_str().unwrap()].map(|word| word.as_bytes().to_vec());
        let exec = Exec { path: b"/usr/bin/x", argv: &argv, cwd: HOME, role: Role::Program };
        let accepted = decide(&policy, &Request::Exec(exec)).outcome == Outcome::Allow;
        assert_eq!(matches_arg_pattern(case["pattern"].as_str().unwrap(), &exec).unwrap_or(false), accepted);
        assert_eq!(Some(accepted), case["accept"].as_bool(), "{case}");
        agreed += 1;
    }
    println!("exec-arg-pattern-native-parity: {agreed} of {}", cases.len());
}

#[test]
fn arg_patterns_as_node_reads_them() {
    let data = data("arg-pattern-node.json");
    let cases = data.as_array().unwrap();
    let (mut agreed, mut refused) = (0, 0);
    for case in cases {
        let argv = ["x", case["argument"].as_str().unwrap()].map(|word| word.as_bytes().to_vec());
        let exec = Exec { path: b"/usr/bin/x", argv: &argv, cwd: HOME, role: Role::Program };
        match (matches_arg_pattern(case["argPattern"].as_str().unwrap(), &exec), case["match"].as_bool()) {
            (Ok(ours), nodes) => {
                assert_eq!(Some(ours), nodes, "{case}");
                agreed += 1;
            }
            (Err(_), None) => agreed += 1,
            // What needs back-tracking.
            (Err(_), Some(_)) => refused += 1,
        }
    }
    println!("arg-pattern-node: {agreed} of {}, {refused} are refused", cases.len());
    assert!(agreed > cases.len() * 3 / 4);
}
