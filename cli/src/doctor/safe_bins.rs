//! Interpreters that may start with any arguments: OpenClaw 2026.9.6's audit rules
//! `tools.exec.safe_bins_interpreter_unprofiled` and `tools.exec.allowlist_interpreter_without_strict_inline_eval`.

use guard_openclaw::gateway::{self, Config};
use guard_policy::analysis::{StrictInlineEval, is_interpreter};
use guard_policy::safe_bins::runs_its_input;
use guard_policy::{Policy, Section, Setting, Source};
use guard_supervisor::config::Paths;
use guard_supervisor::config::options::Options;
use serde_json::Value;

use super::finding::Findings;
use crate::policy;

/// Checks guard.json, OpenClaw's configuration, and the programs that the policy allows.
pub fn look(options: &Options, paths: &Paths, policy: Option<&Policy>, findings: &mut Findings) {
    let before = findings.all().len();
    let source = policy::PolicyText::read(options, None).ok().flatten();
    if let Some(document) = source.and_then(|source| source.valid().ok()) {
        let names: Vec<_> = document.interpreters_without_profile().collect();
        report("exec.safeBins of guard.json", &names, findings);
    }
    let config = Config::read(&gateway::config(&paths.state));
    let tools = config.at("tools.exec");
    report(&format!("tools.exec.safeBins of {}", config.file), &unprofiled(tools, None), findings);
    let agents = config.at("agents.list").and_then(Value::as_array);
    for (i, agent) in agents.into_iter().flatten().enumerate() {
        let own = agent.get("tools").and_then(|tools| tools.get("exec"));
        let key = format!("agents.list[{i}].tools.exec.safeBins of {}", config.file);
        report(&key, &unprofiled(own, tools), findings);
    }
    if findings.all().len() == before {
        findings.ok("safe-bins", "no interpreter is a safe bin without a profile");
    }
    if let Some(policy) = policy {
        entries(policy, findings);
    }
}

fn report(key: &str, names: &[&str], findings: &mut Findings) {
    if !names.is_empty() {
        findings.warning(
            "safe-bins",
            format!(
                "{key}: {} runs any code that it is given, and has no profile (tools.exec.safe_bins_interpreter_unprofiled)",
                names.join(", ")
            ),
            "remove it, and allow the commands that you need by allowlist entries with an argPattern",
        );
    }
}

/// The interpreters among the safe bins of an `exec` section that have a profile neither in this section nor in the
/// enclosing one.
fn unprofiled<'v>(exec: Option<&'v Value>, around: Option<&Value>) -> Vec<&'v str> {
    let has_profile = |name: &str| {
        [exec, around].into_iter().flatten().any(|exec| {
            exec.get("safeBinProfiles")
                .is_some_and(|profiles| profiles.get(name.to_ascii_lowercase()).is_some())
        })
    };
    let names = exec.and_then(|exec| exec.get("safeBins")?.as_array()).into_iter().flatten();
    let names = names.filter_map(Value::as_str).map(str::trim);
    names.filter(|name| runs_its_input(name) && !has_profile(name)).collect()
}

/// Interpreters that start without a question, with any arguments.
fn entries(policy: &Policy, findings: &mut Findings) {
    let settings = policy.explain(None);
    let programs = settings.iter().filter(|setting| setting.section == Section::Programs);
    let (carriers, others): (Vec<_>, Vec<_>) = programs.partition(|setting| setting.value == "carrier");
    let is_open = |setting: &&Setting| setting.value == "entry" && setting.note.is_empty();
    let entries: Vec<_> =
        others.into_iter().filter(is_open).filter(|entry| interprets(&entry.name)).collect();
    let shown = |settings: &[&Setting]| {
        let one = |setting: &&Setting| format!("{} ({})", setting.name, setting.path);
        settings.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    if entries.is_empty() {
        findings.ok("entries", "no allowlist entry lets an interpreter run any code");
    } else if policy.strict_inline_eval() == StrictInlineEval::On {
        findings.note(
            "entries",
            format!("the guard asks about code in arguments (strictInlineEval): {}", shown(&entries)),
        );
    } else {
        findings.warning(
            "entries",
            format!(
                "interpreters run any code that they are given: {} \
                 (tools.exec.allowlist_interpreter_without_strict_inline_eval)",
                shown(&entries)
            ),
            "\"exec\": {\"strictInlineEval\": true}, or an argPattern for each",
        );
    }
    let added = |carrier: &&Setting| carrier.source == Source::Global && carrier.name != "xargs";
    let added: Vec<_> = carriers.into_iter().filter(added).filter(|one| interprets(&one.name)).collect();
    if !added.is_empty() {
        findings.warning(
            "carriers",
            format!("start without a question, and run any code that they are given: {}", shown(&added)),
            "remove them from exec.carriers, which is for programs that only start others",
        );
    }
}

/// Whether one of the patterns names an interpreter.
fn interprets(patterns: &str) -> bool {
    patterns.split(", ").any(|pattern| is_interpreter(pattern.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_profile_counts_in_its_section_and_the_one_around() {
        let exec = json!({"safeBins": ["jq", " Python3 ", "node", 7], "safeBinProfiles": {"node": {}}});
        assert_eq!(unprofiled(Some(&exec), None), ["Python3"]);
        let own = json!({"safeBins": ["node", "ruby"]});
        assert_eq!(unprofiled(Some(&own), Some(&exec)), ["ruby"]);
        assert!(unprofiled(None, Some(&exec)).is_empty());
        assert!(unprofiled(Some(&json!({"safeBins": "python3"})), None).is_empty());
    }

    #[test]
    fn patterns_tell_by_their_last_name() {
        for pattern in ["/usr/bin/python3", "/usr/bin/python3*", "/x, **/node", "/usr/bin/python3.12"] {
            assert!(interprets(pattern), "{pattern}");
        }
        for pattern in ["/usr/bin/git", "/usr/bin/python3/x", "*"] {
            assert!(!interprets(pattern), "{pattern}");
        }
    }
}
