//! `openclaw-guard node status`

use std::io::{self, Write};

use guard_policy::text::shown;
use guard_supervisor::exit::Exit;
use jiff::Timestamp;
use serde_json::json;

use super::arguments::NodeError;
use super::files::{LastRun, NodeFiles, NodeRecord, NodeStatus};

/// Prints the status.
///
/// # Errors
/// When the node's files cannot be read, or nothing can be written.
pub fn show(files: &NodeFiles, as_json: bool) -> Result<Exit, NodeError> {
    let (node, status) = (files.node()?, files.status()?.unwrap_or_default());
    let status = if files.is_locked() { status } else { stopped(status) };
    let text = match as_json {
        true => format!("{}\n", value(node.as_ref(), &status)),
        false => lines(node.as_ref(), &status),
    };
    io::stdout().lock().write_all(text.as_bytes()).map_err(NodeError::Output)?;
    Ok(if status.connected_since_ms.is_some() { Exit::Success } else { Exit::Wrong })
}

/// The part of the status that remains when the node has ended.
fn stopped(status: NodeStatus) -> NodeStatus {
    NodeStatus { pid: 0, connected_since_ms: None, problem: None, running: 0, ..status }
}

fn value(node: Option<&NodeRecord>, status: &NodeStatus) -> serde_json::Value {
    json!({
        "running": status.pid != 0,
        "pid": (status.pid != 0).then_some(status.pid),
        "node": node,
        "gateway": {
            "connected": status.connected_since_ms.is_some(),
            "sinceMs": status.connected_since_ms,
            "version": status.gateway_version,
            "problem": status.problem,
        },
        "surface": {"state": surface(status), "requestId": status.request_id, "commands": status.commands},
        "runs": status.running,
        "lastRun": status.last_run,
    })
}

fn surface(status: &NodeStatus) -> &str {
    if status.surface.is_empty() { "unknown" } else { &status.surface }
}

fn lines(node: Option<&NodeRecord>, status: &NodeStatus) -> String {
    let Some(NodeRecord { node_id, display_name, url, .. }) = node else {
        return "no node was started here: openclaw-guard node\n".to_owned();
    };
    let state = match (status.pid, status.connected_since_ms, &status.problem) {
        (0, ..) => "not running".to_owned(),
        (pid, Some(since), _) => {
            let version = status.gateway_version.as_deref().unwrap_or("?");
            format!("process {pid}, connected since {} to OpenClaw {version}", time(since))
        }
        (pid, None, Some(problem)) => format!("process {pid}, not connected: {problem}"),
        (pid, None, None) => format!("process {pid}, connecting"),
    };
    let request = status.request_id.as_ref().filter(|_| status.surface == "pending");
    let request = request.map_or_else(String::new, |id| format!("; approve it: openclaw nodes approve {id}"));
    let last = match &status.last_run {
        None => "none".to_owned(),
        Some(LastRun { run_id, agent, exit_code, ended_ms, .. }) => {
            let end =
                exit_code.map_or_else(|| "no exit status".to_owned(), |code| format!("exit status {code}"));
            format!("{run_id} of agent {agent}, {end}, {}", time(*ended_ms))
        }
    };
    let rows = [
        ("node", format!("{display_name} ({node_id})")),
        ("gateway", url.clone()),
        ("state", state),
        ("commands", format!("{} ({}){request}", status.commands.join(", "), surface(status))),
        ("runs", format!("{} now; the last: {last}", status.running)),
    ];
    rows.iter().map(|(name, text)| format!("{name:<9} {}\n", shown(text.as_bytes()))).collect()
}

fn time(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(String::new, |time| time.to_string())
}
