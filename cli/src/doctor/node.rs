//! The node host: whether it runs, is connected, and may run anything.

use guard_policy::text::shown;
use guard_supervisor::config::Paths;

use super::finding::Findings;
use crate::node::files::{APPROVED, NodeFiles, NodeStatus, PENDING, REJECTED, REMOVED};

/// Checks the node of this state directory, if one was ever started.
pub fn look(paths: &Paths, findings: &mut Findings) {
    const NAME: &str = "node";
    let files = NodeFiles::new(&paths.state_directory);
    let (node, status) = match (files.node(), files.status()) {
        (Ok(None), _) => return,
        (Ok(Some(node)), Ok(status)) => (node, status.unwrap_or_default()),
        (Err(error), _) | (_, Err(error)) => {
            let fix = "remove it, and start the node again";
            return findings.problem(NAME, error.to_string(), fix);
        }
    };
    let name = shown(node.display_name.as_bytes());
    let url = shown(node.url.as_bytes());
    if !files.is_locked() {
        return findings
            .note(NAME, format!("{name} does not run: systemctl --user enable --now openclaw-guard-node"));
    }
    match (&status.connected_since_ms, &status.problem) {
        (Some(_), _) => findings.ok(NAME, format!("{name} is connected to {url}")),
        (None, Some(why)) => {
            findings.problem(
                NAME,
                format!("{name} is not connected: {}", shown(why.as_bytes())),
                "openclaw-guard node status",
            );
        }
        (None, None) => findings.note(NAME, format!("{name} is connecting to {url}")),
    }
    surface(&status, findings);
}

/// Checks whether the gateway may call the node's commands.
fn surface(status: &NodeStatus, findings: &mut Findings) {
    const NAME: &str = "node-commands";
    let commands = shown(status.commands.join(", ").as_bytes());
    match status.surface.as_str() {
        APPROVED => findings.ok(NAME, format!("the gateway may call {commands}")),
        PENDING => {
            let id = status.request_id.as_deref().unwrap_or("REQUEST");
            let fix = format!("openclaw nodes approve {}", shown(id.as_bytes()));
            findings.warning(NAME, format!("{commands} wait for approval at the gateway"), &fix);
        }
        REJECTED | REMOVED => {
            let fix = "systemctl --user restart openclaw-guard-node, and approve them at the gateway";
            findings.problem(
                NAME,
                format!("{commands}: {} at the gateway, which may not call them", status.surface),
                fix,
            );
        }
        _ => findings.note(NAME, format!("{commands}: the gateway does not say whether they are approved")),
    }
}
