//! The text that describes a row of the queue.

use guard_approvals::routes::openclaw_socket::ApprovalRequest;
use guard_policy::text::shown;

use super::queue::{Key, QueueRow};
use crate::approvals::card::render;

/// Renders a row for a human: the question first, then one line for each detail. Terminal control sequences are
/// escaped.
pub fn text(key: &Key, row: &QueueRow, now_ms: u64) -> String {
    match (&row.approval, &row.asked) {
        (Some(approval), _) => render(key.pid, approval, now_ms),
        (None, Some(asked)) => socket_text(key, asked),
        (None, None) => String::new(),
    }
}

fn socket_text(key: &Key, asked: &ApprovalRequest) -> String {
    let show = |text: &str| shown(text.as_bytes());
    let mut lines = vec![format!("{}  {}", show(&key.id), show(&asked.command))];
    for (name, value) in [
        ("program", &asked.resolved_path),
        ("in", &asked.cwd),
        ("host", &asked.host),
        ("agent", &asked.agent_id),
        ("session", &asked.session_key),
        ("security", &asked.security),
        ("ask", &asked.ask),
    ] {
        if let Some(value) = value {
            lines.push(format!("  {name:<9} {}", show(value)));
        }
    }
    lines.push(format!("  {:<9} process {} on the approvals socket", "asked by", key.pid));
    lines.push(format!("  {:<9} the asker decides what it saves", "always"));
    lines.join("\n") + "\n"
}
