//! Tests the analysis of commands against OpenClaw's own answers and with arbitrary texts.
#![allow(missing_docs)]

#[path = "../../../policy/tests/common/mod.rs"]
mod common;

mod contract;
mod entries;
mod hostile;
mod oracle;

use std::sync::LazyLock;

use guard_openclaw::command_text::{Evaluation, Resolved, Surroundings, evaluate};
use guard_policy::Policy;
use serde_json::{Value, json};

use common::data;

/// The directory in which OpenClaw answered the cases; the file calls it `/oracle`.
const PREFIX: &str = "/tmp/oc-oracle";

/// The stub programs of the cases.
const STUBS: &str = "awk busybox curl dash doas docker fd fish flock gawk git gog jq ksh lua make mytool node npm npx \
    perl php pnpm prettier python3 rg rg-link ruby sqlite3 ssh sudo toybox tsc vitest wget xargs2 yarn zsh";

/// The programs in /usr/bin.
const SYSTEM: &str = "[ bash cat chrt cut echo env false find grep head id ls mv nice nohup printenv printf pwd rm sed \
    seq setsid sh sort stdbuf tail taskset tee test time timeout touch tr true uniq wc whoami xargs yes";

/// Returns a policy with these patterns, whose file rules let every program start.
fn policy(patterns: &[String]) -> Policy {
    let allowlist: Vec<_> = patterns.iter().map(|pattern| json!({ "pattern": pattern })).collect();
    common::compile(&json!({
        "version": 1,
        "exec": { "security": "allowlist", "ask": "on-miss" },
        "permissions": { "filesystem": { "rules": { "/**": "r-x" } }, "base": false },
        "agents": { "main": { "allowlist": allowlist } },
    }))
}

/// Returns the policy of the cases.
fn of_cases() -> &'static Policy {
    static POLICY: LazyLock<Policy> = LazyLock::new(|| {
        let entries = data("shell-allowlist.json")["context"]["allowlist"].take();
        let pattern = |entry: &Value| entry["pattern"].as_str().unwrap().replace("/oracle", PREFIX);
        policy(&entries.as_array().unwrap().iter().map(pattern).collect::<Vec<_>>())
    });
    &POLICY
}

fn resolve(name: &str) -> Option<Resolved> {
    let found = |path: String| {
        let real = path.replace("rg-link", "rg");
        Some(Resolved { path, real })
    };
    match name.rsplit_once('/') {
        None if STUBS.split_whitespace().any(|stub| stub == name) => found(format!("{PREFIX}/bin/{name}")),
        None if SYSTEM.split_whitespace().any(|program| program == name) => found(format!("/usr/bin/{name}")),
        Some(("/usr/bin" | "/bin", name)) => resolve(name),
        Some((dir, name)) if dir == format!("{PREFIX}/bin") => resolve(name),
        _ if name.ends_with("scripts/save.sh") => found(format!("{PREFIX}/work/scripts/save.sh")),
        _ => None,
    }
}

fn evaluated(policy: &Policy, command: &str) -> Evaluation {
    let around = Surroundings {
        cwd: &format!("{PREFIX}/work"),
        // The home of the process that answered, whatever HOME it gave to the command.
        home: "/root",
        resolve: &resolve,
    };
    evaluate(policy, command, &around)
}
