//! Which secrets of the operator's environment a command would get. Reports names, never values.

use std::env;
use std::os::unix::ffi::OsStringExt;

use guard_policy::Policy;
use guard_policy::environment::{Inherit, inherited};
use guard_policy::text::shown;
use guard_supervisor::config::Paths;
use guard_supervisor::config::environment::of_command;

use super::finding::Findings;

/// Reports the variables that are withheld, and those that are passed on although their names look secret.
pub fn check(policy: Option<&Policy>, paths: &Paths, findings: &mut Findings) {
    let Some(policy) = policy else {
        return findings.note("environment", "unknown, because the policy has errors");
    };
    let passed = of_command(policy, &paths.state_directory);
    let dropped_names: Vec<_> = passed.dropped.iter().map(|one| shown(&one.name)).collect();
    if dropped_names.is_empty() {
        findings.ok("environment", "no variable of yours needs to be held back");
    } else {
        findings.ok("environment", format!("held back: {}", dropped_names.join(", ")));
    }
    // Applies OpenClaw's stricter rule for containers to find secrets that a wider rule passes on.
    let secrets = inherited(passed.env, Inherit::Sandbox).dropped;
    let all = env::vars_os().map(|(name, _)| name.into_vec());
    let names: Vec<_> =
        all.filter(|name| secrets.iter().any(|one| one.name == *name)).map(|name| shown(&name)).collect();
    if !names.is_empty() {
        const FIX: &str = "\"exec\": {\"environment\": \"sandbox\"} in guard.json, or unset them";
        let text = format!("commands inherit variables that are named like secrets: {}", names.join(", "));
        if paths.policy_file.exists() {
            findings.warning("secrets", text, FIX);
        } else {
            findings.warning("secrets", text, format!("openclaw-guard init, then {FIX}"));
        }
    }
    for (name, sentence) in &passed.suspicious {
        findings.warning(
            "values",
            format!("{}: {sentence}", shown(name)),
            "unset it, unless a command needs it",
        );
    }
}
