//! `system.run.prepare`: describes what an approval would cover.

use std::path::PathBuf;

use guard_openclaw::command_text::Evaluation;
use guard_openclaw::node::{Answer, Denied, InvokeError, Plan, PrepareParams, command_text};
use guard_policy::programs::starters::is_shell;
use guard_policy::{Ask, Security};
use serde_json::{Value, json};

use super::approval::covered;
use super::bind::program;
use super::host::NodeHost;
use super::judge::{CallPolicy, Caller, TextVerdict, directory};
use super::shell_code::of_gateway;
use super::tickets::Ticket;

/// Answers a call.
pub fn prepare(host: &NodeHost, params: Option<&str>) -> Answer {
    let params = PrepareParams::read(params)?;
    let cwd = canonical(host, params.cwd.as_deref())?;
    let caller = Caller {
        agent: params.agent_id.as_deref(),
        session_key: params.session_key.as_deref(),
        tightened: params.tightened,
    };
    let rules = CallPolicy::read(host, caller, &cwd)?;
    let env = rules.environment(&params.argv, params.env.iter())?;
    let invalid = |denied: Denied| InvokeError::invalid(denied.message());
    let mut argv = params.argv;
    let mut evaluation = rules.evaluate(&argv, params.has_text, &cwd, &env.found);
    if is_direct(&evaluation, &argv) {
        let program = program(&argv, &cwd, &env.found).map_err(invalid)?;
        argv[0] = program.into_os_string().into_string().map_err(|_| invalid(Denied::Unbindable))?;
        evaluation = rules.evaluate(&argv, params.has_text, &cwd, &env.found);
    }
    let code = of_gateway(&argv, params.has_text);
    let (covers, operand) = covered(&argv, code, &evaluation, &rules, &cwd, &env.found).map_err(invalid)?;
    let plan = Plan {
        cwd: cwd.to_str().map(str::to_owned),
        command_text: command_text(&argv),
        command_preview: params.preview,
        agent_id: params.agent_id,
        session_key: params.session_key,
        mutable_file_operand: Some(operand),
        policy_snapshot: Some(rules.snapshot()),
        argv,
    };
    let (security, ask) = match rules.verdict(&evaluation, params.tightened.strict_inline_eval) {
        // The gateway does not know this machine's allowlists. With the real settings, it would ask about commands
        // that these allowlists allow.
        TextVerdict::Runs => (Security::Full, Ask::Off),
        TextVerdict::Asks | TextVerdict::No(_) => (rules.policy().security(), rules.policy().ask()),
    };
    let answer = json!({
        "plan": plan,
        "execPolicy": {"security": security.as_str(), "ask": ask.as_str()},
        "allowAlwaysCoverage": coverage(&evaluation),
    });
    host.tickets.lock().add(Ticket { plan, env: params.env, covers, policy: rules.digest });
    Ok(answer)
}

/// The real path of the directory, as text.
fn canonical(host: &NodeHost, named: Option<&str>) -> Result<PathBuf, InvokeError> {
    let message = "SYSTEM_RUN_DENIED: approval requires an existing canonical cwd";
    let real =
        directory(host, named).canonicalize().ok().filter(|cwd| cwd.is_dir() && cwd.to_str().is_some());
    real.ok_or_else(|| InvokeError::invalid(message))
}

/// Whether the first argument is the program itself, and not a wrapper or an interpreter of it.
fn is_direct(evaluation: &Evaluation, argv: &[String]) -> bool {
    matches!(&evaluation.segments[..], [only] if only.program == argv)
}

/// What "always" would cover. An entry for a script does not cover the shell that reads it (OpenClaw 2026.9.6,
/// `resolveAllowAlwaysPatternCoverage`).
fn coverage(evaluation: &Evaluation) -> Value {
    let patterns = if evaluation.once.is_some() { &[][..] } else { &evaluation.allow_always };
    let has_shell = evaluation.segments.iter().any(|segment| segment.program.first().is_some_and(is_shell));
    json!({"complete": !patterns.is_empty() && !has_shell, "patterns": patterns})
}
