//! `system.run`, up to the start of the command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use guard_openclaw::gateway::Run;
use guard_openclaw::ids;
use guard_openclaw::node::{
    Approval, Captured, Denied, FileOperand, InvokeError, Plan, RunParams, RunReport, command_text,
};
use guard_policy::environment::Variable;
use guard_supervisor::config::node_run::RunApproval;
use guard_supervisor::config::options::Options;

use super::approval::covered;
use super::host::NodeHost;
use super::judge::{CallPolicy, Caller, TextVerdict, directory};
use super::shell_code::of_gateway;

/// A run that may start.
pub struct Order {
    /// The options of its guard.
    pub options: Options,
    /// The arguments.
    pub argv: Vec<String>,
    /// The directory.
    pub cwd: PathBuf,
    /// The variables that its guard gets.
    pub env: Vec<Variable>,
    /// What somebody has approved.
    pub approval: Option<RunApproval>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// The run, as its events name it.
    pub report: RunReport,
    /// The time after which a notice that it is still running goes to the gateway.
    pub notice: Duration,
}

/// What becomes of a call.
pub enum Decided {
    /// The command runs.
    Runs(Box<Order>),
    /// The command does not run, and the answer says why.
    Denied(RunReport, Denied),
    /// The command cannot start.
    Fails(RunReport, Captured),
}

/// Decides about a call. `gateway` is the run of the gateway that makes the call.
///
/// # Errors
/// The answer to a call that is malformed, or that no policy can judge.
pub fn decide(host: &NodeHost, gateway: &Run, params: Option<&str>) -> Result<Decided, InvokeError> {
    let mut params = RunParams::read(params)?;
    if let Approval::Given(plan) = &mut params.approval
        && plan.policy_snapshot.is_none()
    {
        // Releases before 2026.8 leave the snapshot out of the plan that they return (OpenClaw 2026.7.35,
        // `normalizeSystemRunApprovalPlan`).
        let is_old = matches!(gateway, Run::Since(_));
        let prepared = is_old.then(|| host.tickets.lock().snapshot(plan, &params.env)).flatten();
        let missing = || InvokeError::invalid("delayed approval requires a prepared policy snapshot");
        plan.policy_snapshot = Some(prepared.ok_or_else(missing)?);
    }
    let report = RunReport {
        session_key: params.session_key.clone(),
        run_id: params.run_id.clone().unwrap_or_else(|| ids::random().to_string()),
        command: command_text(&params.argv),
        is_silent: params.is_silent,
    };
    let cwd = directory(host, params.cwd.as_deref());
    let caller = Caller {
        agent: params.agent_id.as_deref(),
        session_key: params.session_key.as_deref(),
        tightened: params.tightened,
    };
    // A directory that does not exist is reported only if everything else is in order.
    let place = if cwd.is_dir() { &cwd } else { &host.cwd };
    let rules = CallPolicy::read(host, caller, place)?;
    let env = rules.environment(&params.argv, params.env.iter())?;
    let evaluation = rules.evaluate(&params.argv, params.has_text, &cwd, &env.found);
    let verdict = rules.verdict(&evaluation, params.tightened.strict_inline_eval);
    let approval = match (verdict, &params.approval) {
        (TextVerdict::No(denied), _) => return Ok(Decided::Denied(report, denied)),
        (TextVerdict::Asks, Approval::None) => return Ok(Decided::Denied(report, Denied::ApprovalRequired)),
        (TextVerdict::Runs, Approval::None) => None,
        (verdict, Approval::Given(plan)) => {
            match approved(
                host,
                &params,
                plan,
                &rules,
                &cwd,
                || {
                    let code = of_gateway(&params.argv, params.has_text);
                    covered(&params.argv, code, &evaluation, &rules, &cwd, &env.found)
                },
                matches!(verdict, TextVerdict::Asks),
            ) {
                Ok(approval) => approval,
                Err(denied) => return Ok(Decided::Denied(report, denied)),
            }
        }
    };
    if let Some(error) = missing(&cwd) {
        return Ok(Decided::Fails(report, Captured::failed(error)));
    }
    Ok(Decided::Runs(Box::new(Order {
        notice: Duration::from_millis(rules.policy().running_notice_ms()),
        options: rules.options,
        argv: params.argv,
        cwd,
        env: env.given,
        approval,
        timeout: params.timeout_ms.map(Duration::from_millis),
        report,
    })))
}

/// Checks an approval: it must be for exactly what was prepared, and that must not have changed. In any case
/// the approval's ticket is used up.
fn approved(
    host: &NodeHost,
    params: &RunParams,
    plan: &Plan,
    rules: &CallPolicy,
    cwd: &Path,
    covered: impl FnOnce() -> Result<(RunApproval, FileOperand), Denied>,
    is_needed: bool,
) -> Result<Option<RunApproval>, Denied> {
    let ticket = host.tickets.lock().take(plan, &params.env);
    if plan.policy_snapshot.as_ref() != Some(&rules.snapshot()) {
        return Err(Denied::PolicyChanged);
    }
    if cwd.canonicalize().ok().as_deref() != Some(cwd) {
        return Err(Denied::DirectoryChanged);
    }
    let (covers, operand) = covered()?;
    if plan.mutable_file_operand.as_ref() != Some(&operand) {
        return Err(Denied::FileChanged);
    }
    let Some(ticket) = ticket else {
        // The ticket was used up, or there never was one.
        return if is_needed { Err(Denied::ApprovalRequired) } else { Ok(None) };
    };
    if ticket.policy != rules.digest {
        return Err(Denied::PolicyChanged);
    }
    if ticket.covers != covers {
        return Err(Denied::FileChanged);
    }
    Ok(Some(covers))
}

/// Why a directory cannot be entered, in OpenClaw's words.
fn missing(cwd: &Path) -> Option<String> {
    let (what, code) = match cwd.metadata() {
        Ok(stat) if stat.is_dir() => return None,
        Ok(_) => ("is not a directory", "ENOTDIR"),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => ("is not a directory", "ENOTDIR"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => ("does not exist", "ENOENT"),
        Err(_) => return None,
    };
    let path = cwd.display();
    let os = format!("os reported: Command failed during launch or output capture ({code})");
    Some(format!("node exec working directory {what} on the node host: {path} ({os})"))
}
