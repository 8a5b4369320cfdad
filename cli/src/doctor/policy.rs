//! Checks that guard.json exists and is valid.

use guard_policy::Policy;
use guard_policy::text::shown;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths};

use super::finding::Findings;
use crate::policy::{PolicyText, ValidationReport, report};

/// The command that shows every error.
const VALIDATE: &str = "openclaw-guard policy validate";

/// Checks the policy, and returns it; None when there is no valid one.
pub fn look(options: &Options, paths: &Paths, findings: &mut Findings) -> Option<Policy> {
    let source = match PolicyText::read(options, None) {
        Ok(source) => source,
        Err(why) => {
            let fix = "make it a file that this user may read, or name another with --policy";
            findings.problem("policy", why.to_string(), fix);
            return None;
        }
    };
    let validate = format!("{VALIDATE}{}", named(options));
    let Some(source) = source else {
        findings.note(
            "policy",
            format!("the built-in policy is in force: there is no {}", paths.policy.display()),
        );
        return taken(config::policy(options, paths, Disk::Used), &validate, findings);
    };
    let ValidationReport { file, errors, warnings } = match report(&source) {
        Ok(report) => report,
        Err(why) => {
            findings.problem("policy", why.to_string(), validate);
            return None;
        }
    };
    if let Some(first) = errors.first() {
        findings.problem("policy", format!("{}{}", first.line(&file, ""), more(errors.len())), validate);
        return None;
    }
    findings.ok("policy", format!("{file} is valid"));
    if let Some(first) = warnings.first() {
        findings.warning(
            "warnings",
            format!("{}{}", first.line(&file, ""), more(warnings.len())),
            validate.as_str(),
        );
    }
    let policy = taken(source.policy(&options.agent, Disk::Used), &validate, findings)?;
    workspace(&policy, findings);
    Some(policy)
}

/// Says what `${workspace}` is here, if the policy names it.
fn workspace(policy: &Policy, findings: &mut Findings) {
    if let Some(workspace) = policy.workspace() {
        findings.ok("workspace", format!("${{workspace}} is {}", shown(workspace)));
    }
    for warning in policy.warnings().iter().filter(|warning| warning.starts_with("${workspace}")) {
        findings.note("workspace", warning.clone());
    }
}

fn taken<E: std::fmt::Display>(
    policy: Result<Policy, E>,
    validate: &str,
    findings: &mut Findings,
) -> Option<Policy> {
    policy.map_err(|why| findings.problem("policy", why.to_string(), validate)).ok()
}

/// How the policy's file was selected.
fn named(options: &Options) -> String {
    options.policy.as_ref().map_or_else(String::new, |path| format!(" {}", super::owners::word(path)))
}

/// Mentions that there are further errors.
fn more(count: usize) -> String {
    if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() }
}
