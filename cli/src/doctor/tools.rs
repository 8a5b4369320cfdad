//! The well-known traps in OpenClaw's tool policy, for each agent of openclaw.json.

use guard_openclaw::gateway::{self, Config};
use guard_policy::text::shown;
use guard_policy::tools::{
    EffectiveTools, Inventory, Release, SeenWarnings, Subagent, ToolContext, ToolSettings, effective,
};
use guard_supervisor::config::Paths;
use guard_supervisor::config::options::Options;

use super::DoctorError;
use super::finding::{Findings, Section};
use crate::gate::status::is_loaded;

/// Tools that open files, start programs or reach the Web.
const REACHING: [&str; 8] = ["read", "ls", "write", "edit", "apply_patch", "exec", "web_fetch", "browser"];

/// Runs the checks.
///
/// # Errors
/// When there is no home directory.
pub fn check(options: &Options) -> Result<Findings, DoctorError> {
    let paths = Paths::find(options)?;
    let mut findings = Findings::about(Section::Tools);
    super::gate::look(&paths, &mut findings);
    let config = Config::read(&gateway::config(&paths.state));
    if let Some(problem) = config.problem() {
        findings.problem("config", problem.to_string(), "openclaw doctor");
        return Ok(findings);
    }
    let Some(content) = config.content() else {
        findings.note("config", format!("there is no {}: every agent has every tool", config.file));
        return Ok(findings);
    };
    let settings = match ToolSettings::from_config(content) {
        Ok(settings) => settings,
        Err(issue) => {
            findings.problem("config", format!("{}: {issue}", config.file), "openclaw doctor");
            return Ok(findings);
        }
    };
    for issue in settings.issues() {
        let fix = "repair it: OpenClaw does not start with it";
        findings.problem("lists", shown(format!("{}: {issue}", config.file).as_bytes()), fix);
    }
    for note in settings.notes() {
        findings.warning("notes", shown(format!("{}: {note}", config.file).as_bytes()), "correct it");
    }
    let release = Release::that_wrote(config.text("meta.lastTouchedVersion"));
    let is_gated = is_loaded(&paths);
    let mut agents = settings.agent_ids();
    if agents.is_empty() {
        agents.push(settings.default_agent());
    }
    let mut seen = SeenWarnings::default();
    for agent in agents {
        look_at(agent, &settings, release, is_gated, &mut seen, &mut findings);
    }
    Ok(findings)
}

fn look_at(
    agent: &str,
    settings: &ToolSettings,
    release: Release,
    is_gated: bool,
    seen: &mut SeenWarnings,
    findings: &mut Findings,
) {
    let inventory = Inventory::of_release(release);
    let mut of = |subagent: Option<Subagent>| {
        let context = ToolContext { agent: Some(agent.to_owned()), subagent, ..ToolContext::default() };
        effective(settings, &context, &inventory, seen)
    };
    let (Ok(own), Ok(below)) = (of(None), of(Some(Subagent { depth: 1, ..Subagent::default() }))) else {
        return;
    };
    let has = |tools: &EffectiveTools, tool: &str| tools.allowed.iter().any(|name| name == tool);
    for warning in own.warnings.iter().chain(&below.warnings) {
        let fix = "a list of plugins' tools alone removes every tool of OpenClaw: use alsoAllow, or repair the name";
        findings.warning("entries", shown(warning.as_bytes()), fix);
    }
    if own.allowed.is_empty() {
        let fix = "openclaw-guard tools explain says which list removes each tool";
        findings.warning("none", format!("agent {agent} has no tool of OpenClaw"), fix);
    }
    if has(&below, "exec") {
        let fix = "add \"exec\" to tools.subagents.tools.deny in openclaw.json, unless you want it";
        findings.warning("subagents", format!("agent {agent}: its sub-agents may use exec"), fix);
    }
    let loose: Vec<_> = REACHING.into_iter().filter(|tool| has(&own, tool) && !is_gated).collect();
    if loose.is_empty() {
        findings.ok(
            "held",
            format!("agent {agent}: every tool that reaches files or the Web is held to guard.json"),
        );
    } else {
        let text = format!("agent {agent}: nobody holds {} to guard.json", loose.join(", "));
        findings.warning("nobody", text, "openclaw-guard gate install");
    }
}
