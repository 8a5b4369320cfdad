//! The gate for OpenClaw's own tools: its plugin, and the service that the plugin asks.

use guard_policy::text::shown;
use guard_supervisor::config::Paths;

use super::finding::Findings;
use crate::gate::plugin::PluginState;
use crate::gate::status::{GateStatus, denied_workspace};

const NAME: &str = "gate";
const SERVE: &str = "systemctl --user start openclaw-guard-gate, or: openclaw-guard gate serve";
const INSTALL: &str = "openclaw-guard gate install, then: openclaw gateway restart";

/// Checks both. The service gets no question.
pub fn look(paths: &Paths, findings: &mut Findings) {
    let status = GateStatus::find(paths);
    if let Some(workspace) = denied_workspace(paths).filter(|_| status.plugin != PluginState::Absent) {
        let workspace = shown(workspace.as_bytes());
        let text = format!(
            "every policy denies the agent's workspace {workspace}: its tools can read nothing there"
        );
        findings.warning("workspace", text, "openclaw config set agents.defaults.workspace ~/project");
    }
    match (&status.plugin, &status.silence) {
        (PluginState::Absent, Some(_)) => findings.note(
            NAME,
            "there is no gate: nobody asks the policy about OpenClaw's own tools (openclaw-guard gate install)",
        ),
        (PluginState::Absent, None) => findings.warning(
            NAME,
            "the gate's service answers, but the plugin that would ask it is not installed",
            INSTALL,
        ),
        (changed @ PluginState::Changed(..), _) => findings.problem(NAME, changed.to_string(), INSTALL),
        (PluginState::AsInstalled, Some(why)) => findings.problem(
            NAME,
            format!("the gate does not answer ({why}): every tool call is blocked where the plugin is loaded"),
            SERVE,
        ),
        (PluginState::AsInstalled, None) if !status.is_configured => findings.warning(
            NAME,
            "the gate answers, but OpenClaw does not load its plugin: openclaw.json has no entry for it, disables it, or does not allow it",
            INSTALL,
        ),
        (PluginState::AsInstalled, None) => {
            findings.ok(NAME, "the gate answers, and its plugin is as installed");
        }
    }
}
