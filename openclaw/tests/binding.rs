//! Compares the bindings of approvals with OpenClaw's own answers; see `data/README.md`.
#![allow(missing_docs)]

#[path = "../../policy/tests/common/mod.rs"]
mod common;

use guard_openclaw::oracle::{Binding, EnvBinding, Mismatch};
use proptest::prelude::*;
use serde_json::{Value, json};

use common::data;

const NEWEST: &str = "2026.9.6";

/// Returns the binding of a map's string values; anything else is ignored.
fn env_binding(env: &Value) -> EnvBinding {
    let variables = env.as_object().into_iter().flatten();
    EnvBinding::new(variables.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))))
}

#[test]
fn hashes_of_variables() {
    let data = data("approval-env-binding.json");
    let cases = data["cases"].as_array().unwrap();
    for release in ["2026.4.14", "2026.7.35", NEWEST] {
        let mut agreed = 0;
        for case in cases {
            assert_eq!(json!(env_binding(&case["env"])), case[release], "{case}");
            agreed += 1;
        }
        println!("approval-env-binding {release}: {agreed} of {}", cases.len());
    }
}

fn binding(argv: &Value, rest: &Value) -> Binding {
    let argv = argv.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    let given = |key: &str| rest[key].as_str();
    Binding::new(argv, given("cwd"), given("agentId"), given("sessionKey"), env_binding(&rest["env"]))
}

#[test]
fn bindings() {
    let data = data("2026.4.12-beta.1/system-run-approval-binding-contract.json");
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let (request, invoke) = (&case["request"]["binding"], &case["invoke"]);
        let approved = request.as_object().map(|_| binding(&request["argv"], request));
        let result = binding(&invoke["argv"], &invoke["binding"]).check(approved.as_ref());
        let got = match &result {
            Ok(()) => json!({ "ok": true }),
            Err(mismatch) => json!({ "ok": false, "code": mismatch.code() }),
        };
        assert_eq!(got, case["expected"], "{case}");
        agreed += 1;
    }
    println!("system-run-approval-binding-contract: {agreed} of {}", cases.len());
}

#[test]
fn mismatches() {
    let data = data("2026.4.12-beta.1/system-run-approval-mismatch-contract.json");
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let (matched, details) = (&case["match"], &case["match"]["details"]);
        let hash = |key: &str| details[key].as_str().map(str::to_owned);
        let env_keys = || serde_json::from_value(details["envKeys"].clone()).unwrap();
        let mismatch = match matched["code"].as_str().unwrap() {
            "APPROVAL_REQUEST_MISMATCH" => Mismatch::Request,
            "APPROVAL_ENV_BINDING_MISSING" => Mismatch::EnvUnbound { env_keys: env_keys() },
            _ => Mismatch::Env {
                env_keys: env_keys(),
                expected_env_hash: hash("expectedEnvHash"),
                actual_env_hash: hash("actualEnvHash"),
            },
        };
        assert_eq!(json!(mismatch.to_string()), matched["message"], "{case}");
        assert_eq!(mismatch.answer(case["runId"].as_str().unwrap()), case["expected"], "{case}");
        agreed += 1;
    }
    println!("system-run-approval-mismatch-contract: {agreed} of {}", cases.len());
}

/// The expected order is that of localeCompare in Node 20 (ICU 78).
#[test]
fn names_in_the_order_of_locale_compare() {
    let sorted: Vec<String> = serde_json::from_value(data("locale-compare.json")["sorted"].clone()).unwrap();
    let mut shuffled = sorted.clone();
    shuffled.reverse();
    let keys = EnvBinding::new(shuffled.iter().map(|name| (name.as_str(), ""))).keys;
    assert_eq!(keys, sorted);
    println!("locale-compare: {0} of {0}", sorted.len());
}

fn words() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[a-z ]{0,4}", 0..3)
}

proptest! {
    /// A binding matches its own command and no other.
    #[test]
    fn a_binding_matches_itself_alone(a in words(), b in words(), env in words(), other in words()) {
        let of = |argv: &[String], env: &[String]| {
            let env = EnvBinding::new(env.iter().map(|value| ("X", value.as_str())));
            Binding::new(argv.to_vec(), None, None, None, env)
        };
        let result = of(&a, &env).check(Some(&of(&b, &other)));
        prop_assert_eq!(result.is_ok(), a == b && env == other && !a.is_empty());
    }
}
