//! The text that describes one question.

use std::fmt::Display;
use std::time::Duration;

use guard_approvals::facts::{Fact, FactRank, facts, sentence};
use guard_approvals::protocol::Approval;
use guard_policy::text::shown;

/// Renders a question for a human, each argument on its own line. Terminal control sequences are escaped.
pub fn render(pid: u32, approval: &Approval, now_ms: u64) -> String {
    let left = Duration::from_millis(approval.expires_at_ms.saturating_sub(now_ms)).as_secs();
    let first = format!("{}  {}  ({left} s left)", shown(approval.id.as_bytes()), sentence(approval));
    let id = |fact: &Fact| fact.name == "id";
    let facts = facts(approval);
    let lines = facts.iter().filter(|fact| !id(fact)).map(line);
    let guard = format!("  {:<9} {pid}", "guard");
    [first].into_iter().chain(lines).chain([guard]).collect::<Vec<_>>().join("\n") + "\n"
}

/// Renders an answer and its question in the same form, without the facts that matter only while the question
/// is pending.
pub fn answered(decision: &impl Display, approval: &Approval) -> String {
    let first = format!("{decision} {}  {}", shown(approval.id.as_bytes()), sentence(approval));
    let is_shown = |fact: &&Fact| fact.rank != FactRank::Context || fact.name == "asked by";
    let facts = facts(approval);
    let lines = facts.iter().filter(is_shown).map(line);
    [first].into_iter().chain(lines).collect::<Vec<_>>().join("\n") + "\n"
}

/// A fact on a line of its own.
pub fn line(fact: &Fact) -> String {
    format!("  {:<9} {}", fact.name, fact.text)
}
