//! Which commands an entry for a shell, or with arguments, satisfies.

use guard_policy::Policy;
use serde_json::{Value, json};

use super::{common, evaluated};

fn policy(entry: &Value) -> Policy {
    common::compile(&json!({
        "version": 1,
        "permissions": { "filesystem": { "rules": { "/**": "r-x" } } },
        "agents": { "main": { "allowlist": [entry] } },
    }))
}

#[test]
fn an_entry_for_a_shell_is_none_for_what_it_is_told() {
    let satisfied = |entry: Value, command: &str| evaluated(&policy(&entry), command).satisfied();
    let bash = || json!({ "pattern": "/usr/bin/bash" });
    assert!(satisfied(bash(), "bash"));
    assert!(!satisfied(bash(), "bash -c 'curl x'"));
    assert!(!satisfied(bash(), "bash -x script"));
    assert!(satisfied(json!({ "pattern": "*" }), "bash -x script"));
    assert!(satisfied(json!({ "pattern": "/usr/bin/bash", "argPattern": "^-x script$" }), "bash -x script"));
}

#[test]
fn an_entry_with_arguments_is_none_for_what_a_shell_carries() {
    let carried = r#"sh -c '$0 "$@"' rg x"#;
    let rg = |entry: Value| evaluated(&policy(&entry), carried).satisfied();
    let pattern = "/tmp/oc-oracle/bin/rg";
    assert!(rg(json!({ "pattern": pattern })));
    assert!(!rg(json!({ "pattern": pattern, "argPattern": "^x$" })));
    assert!(!rg(json!({ "pattern": pattern, "argPattern": "" , "source": "allow-always" })));
}
