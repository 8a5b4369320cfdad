//! `system.run.prepare`: describes what an approval would cover.

use std::path::PathBuf;

use guard_openclaw::command_text::Evaluation;
use guard_openclaw::node::{Answer, Denied, InvokeError, Plan, PrepareParams, command_text};
use serde_json::{Value, json};

use super::bind::bind;
use super::host::NodeHost;
use super::judge::{CallPolicy, Caller, directory};
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
    let evaluation = rules.evaluate(&argv, &cwd, &env.found);
    let bound = bind(&argv, &cwd, &env.found).map_err(invalid)?;
    if is_direct(&evaluation, &argv) {
        argv[0].clone_from(&bound.files[0].path);
    }
    let plan = Plan {
        cwd: cwd.to_str().map(str::to_owned),
        command_text: command_text(&argv),
        command_preview: params.preview,
        agent_id: params.agent_id,
        session_key: params.session_key,
        mutable_file_operand: Some(bound.operand),
        policy_snapshot: Some(rules.snapshot()),
        argv,
    };
    let answer = json!({
        "plan": plan,
        "execPolicy": {"security": rules.policy.security().as_str(), "ask": rules.policy.ask().as_str()},
        "allowAlwaysCoverage": coverage(&rules.evaluate(&plan.argv, &cwd, &env.found)),
    });
    host.tickets.lock().add(Ticket { plan, env: params.env, files: bound.files, policy: rules.digest });
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

/// What "always" would cover.
fn coverage(evaluation: &Evaluation) -> Value {
    let patterns = if evaluation.once.is_some() { &[][..] } else { &evaluation.allow_always };
    json!({"complete": !patterns.is_empty(), "patterns": patterns})
}
