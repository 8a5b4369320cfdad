//! The text that describes one question.

use std::time::Duration;

use guard_approvals::protocol::{Approval, Saved};
use guard_policy::text::shown;

/// Renders a question for a human, each argument on its own line. Terminal control sequences are escaped.
pub fn render(pid: u32, approval: &Approval, now_ms: u64) -> String {
    let show = |text: &str| shown(text.as_bytes());
    let left = Duration::from_millis(approval.expires_at_ms.saturating_sub(now_ms)).as_secs();
    let mut lines = vec![format!(
        "{}  {} {}  ({left} s left)",
        show(&approval.id),
        show(&approval.operation),
        show(&approval.resolved_path)
    )];
    let mut add = |name: &str, text: String| lines.push(format!("  {name:<9} {text}"));
    for (i, argument) in approval.argv.iter().enumerate() {
        add(&format!("argv[{i}]"), show(argument));
    }
    if !approval.is_text {
        add("note", "not all of it is UTF-8: \u{fffd} stands for other bytes".to_owned());
    }
    if let Some(cwd) = &approval.cwd {
        add("in", show(cwd));
    }
    if let Some(call) = &approval.call {
        add("call", show(call));
    }
    for variable in &approval.environment {
        add("with", show(variable));
    }
    if let Some(sha256) = &approval.sha256 {
        add("sha256", show(sha256));
    }
    let through = approval.through.iter().map(|script| ("through", script));
    let files = approval.files.iter().map(|file| ("may run", file));
    for (name, script) in approval.script.iter().map(|script| ("script", script)).chain(through).chain(files)
    {
        add(name, format!("{} (sha256 {})", show(&script.path), show(&script.sha256)));
    }
    let line: Vec<_> = approval.asked_by.iter().map(|by| format!("{} {}", show(&by.name), by.pid)).collect();
    add("asked by", format!("{} (agent {}, guard {pid})", line.join(" < "), show(&approval.agent_id)));
    add("because", format!("{} ({})", show(&approval.because.text), show(&approval.because.rule)));
    match &approval.always {
        Saved::Saves { saves, directory } => {
            for (name, all) in [("always", saves), ("directory", directory)] {
                for one in all {
                    add(name, format!("would save {}", show(&one.text)));
                }
            }
        }
        Saved::Never { never } => add("always", format!("would save nothing: {}", show(never))),
    }
    let calls = if approval.calls == 1 { String::new() } else { format!(", {} calls wait", approval.calls) };
    add("card", format!("{}, revision {}{calls}", approval.card, approval.revision));
    lines.join("\n") + "\n"
}
