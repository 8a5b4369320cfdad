//! `sandbox check`

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use guard_openclaw::sandbox::{agent_id, agent_ids};
use guard_policy::text::{shown, shown_json};
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde::Serialize;

use super::SandboxError;
use super::question::{SandboxConfig, SessionSandbox};

/// What to check.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard sandbox check\n  \
    openclaw-guard sandbox check openclaw.json\n  \
    openclaw-guard --agent work sandbox check --json | jq -r '.[].problems[].text'\n\n\
    All agents are checked, or the one that --agent names. Links on the disk are followed.\n\
    Sentences that begin with \"Stricter than OpenClaw\" are the guard's own.\n\n\
    Exit status: 0 nothing is refused, 1 something is, 125 openclaw.json cannot be used.")]
pub struct SandboxCheckArgs {
    /// OpenClaw's configuration [default: openclaw.json in its state directory]
    #[arg(value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// Print a JSON array of objects: agent, mode, allowed, problems (kind, text)
    #[arg(long)]
    json: bool,
}

/// The findings about an agent's settings.
#[derive(Serialize)]
struct AgentReport {
    agent: String,
    mode: guard_openclaw::sandbox::SandboxMode,
    allowed: bool,
    problems: Vec<SandboxProblem>,
}

#[derive(Serialize)]
struct SandboxProblem {
    kind: ProblemKind,
    text: String,
}

#[derive(Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum ProblemKind {
    /// The container cannot be made.
    Refused,
    /// The container can be made, but not as it was meant.
    Warning,
}

pub fn check(options: &Options, arguments: &SandboxCheckArgs) -> Result<Exit, SandboxError> {
    let config = SandboxConfig::read(options, arguments.file.as_deref(), None)?;
    let mut ids = agent_ids(&config.content).map_err(|error| config.wrong(error))?;
    if options.agent_is_named {
        let id = agent_id(&options.agent);
        if !ids.contains(&id) {
            return Err(config.wrong(format!("there is no agent {id:?} in it")));
        }
        ids = vec![id];
    }
    let mut reports = Vec::new();
    for id in ids {
        reports.push(report(&config, &config.agent(&id)?)?);
    }
    let is_wrong = reports.iter().any(|report| !report.allowed);
    let text = if arguments.json {
        let json = serde_json::to_string_pretty(&reports).unwrap_or_default();
        shown_json(&json).into_owned() + "\n"
    } else {
        reports.iter().map(render).collect()
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(if is_wrong { Exit::Wrong } else { Exit::Success })
}

fn report(config: &SandboxConfig, sandbox: &SessionSandbox) -> Result<AgentReport, SandboxError> {
    let SessionSandbox { session, settings, .. } = sandbox;
    let args = sandbox.container_args(0);
    let dropped =
        args.dropped.iter().map(|name| format!("the variable {name} is left out: its value contains a NUL"));
    let suspicious = args.suspicious.iter().map(|text| format!("the variable {text}"));
    let problem = |kind: ProblemKind| move |text: String| SandboxProblem { kind, text };
    let mut problems: Vec<_> =
        config.refusals(sandbox)?.into_iter().map(problem(ProblemKind::Refused)).collect();
    let allowed = problems.is_empty();
    problems.extend(dropped.chain(suspicious).map(problem(ProblemKind::Warning)));
    Ok(AgentReport { agent: session.agent.clone(), mode: settings.mode, allowed, problems })
}

fn render(report: &AgentReport) -> String {
    let verdict = if report.allowed { "fine" } else { "refused" };
    let mode = serde_json::json!(report.mode);
    let mut text =
        format!("agent {} (mode {}): {verdict}\n", report.agent, mode.as_str().unwrap_or_default());
    for problem in &report.problems {
        let kind = if problem.kind == ProblemKind::Warning { "warning: " } else { "" };
        text += &format!("  {kind}{}\n", shown(problem.text.as_bytes()));
    }
    text
}
