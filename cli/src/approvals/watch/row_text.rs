//! The text that describes a row of the queue.

use guard_approvals::facts::{Fact, FactRank};
use guard_approvals::routes::openclaw_socket::ApprovalRequest;
use guard_policy::text::shown;

use super::queue::{Key, QueueRow};
use crate::approvals::card::{line, render};

/// What an "always" saves of a call that another program asks about.
pub const ELSEWHERE: &str = "the asker decides what it saves";

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
    let first = format!("{}  {}", shown(key.id.as_bytes()), socket_sentence(asked));
    let lines = socket_facts(key, asked).into_iter().map(|fact| line(&fact));
    [first].into_iter().chain(lines).collect::<Vec<_>>().join("\n") + "\n"
}

/// What a peer on OpenClaw's approvals socket asks.
pub fn socket_sentence(asked: &ApprovalRequest) -> String {
    format!("a process on the approvals socket wants to run: {}", shown(asked.command.as_bytes()))
}

/// Returns what else the peer says about its question.
pub fn socket_facts(key: &Key, asked: &ApprovalRequest) -> Vec<Fact> {
    let said = [
        (FactRank::Subject, "program", &asked.resolved_path),
        (FactRank::Subject, "in", &asked.cwd),
        (FactRank::Context, "host", &asked.host),
        (FactRank::Context, "agent", &asked.agent_id),
        (FactRank::Context, "session", &asked.session_key),
        (FactRank::Context, "security", &asked.security),
        (FactRank::Context, "ask", &asked.ask),
    ];
    let said = said
        .into_iter()
        .filter_map(|(rank, name, value)| Some(Fact::new(rank, name, shown(value.as_deref()?.as_bytes()))));
    let asked_by = format!("process {} on the approvals socket", key.pid);
    let ends = [("asked by", asked_by), ("always", ELSEWHERE.to_owned())];
    said.chain(ends.map(|(name, text)| Fact::new(FactRank::Context, name, text))).collect()
}
