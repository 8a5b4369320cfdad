//! The text that describes one question.

use std::fmt::Display;
use std::time::Duration;

use guard_approvals::protocol::{Approval, Saved};
use guard_policy::text::{shown, shown_exactly};

/// Renders a question for a human, each argument on its own line. Terminal control sequences are escaped.
pub fn render(pid: u32, approval: &Approval, now_ms: u64) -> String {
    let left = Duration::from_millis(approval.expires_at_ms.saturating_sub(now_ms)).as_secs();
    let mut lines = vec![format!("{}  {}  ({left} s left)", show(&approval.id), subject(approval))];
    lines.extend(details(approval));
    let mut add = |name: &str, text: String| lines.push(line(name, &text));
    add("asked by", format!("{} (agent {}, guard {pid})", approval.askers(), show(&approval.agent_id)));
    add("because", format!("{} ({})", show(&approval.reason.text), show(&approval.reason.rule)));
    if let Some(directory) = &approval.directory {
        add("within", exact(directory));
    }
    if let Some(command) = approval.command_line() {
        add("command", command);
    }
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

/// Renders what was answered, in the same form: the program with its arguments or the file, and who asked.
pub fn answered(decision: &impl Display, approval: &Approval) -> String {
    let mut lines = vec![format!("{decision} {}  {}", show(&approval.id), subject(approval))];
    lines.extend(details(approval));
    lines.push(line("asked by", &format!("{} (agent {})", approval.askers(), show(&approval.agent_id))));
    lines.join("\n") + "\n"
}

fn subject(approval: &Approval) -> String {
    format!("{} {}", show(&approval.operation), exact(&approval.resolved_path))
}

/// What the call does in detail.
fn details(approval: &Approval) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |name: &str, text: String| lines.push(line(name, &text));
    if let Some(notice) = &approval.notice {
        add("beware", exact(notice));
    }
    for (i, argument) in approval.argv.iter().enumerate() {
        add(&format!("argv[{i}]"), exact(argument));
    }
    if !approval.is_text {
        add("note", "parts of it are not UTF-8: \u{fffd} stands for other bytes".to_owned());
    }
    if let Some(cwd) = &approval.cwd {
        add("in", exact(cwd));
    }
    if let Some(call) = &approval.call {
        add("call", show(call));
    }
    for change in &approval.change {
        add("change", show(change));
    }
    for variable in &approval.environment {
        add("with", exact(variable));
    }
    if let Some(sha256) = &approval.sha256 {
        add("sha256", show(sha256));
    }
    let through = approval.through.iter().map(|script| ("through", script));
    let files = approval.files.iter().map(|file| ("may run", file));
    for (name, script) in approval.script.iter().map(|script| ("script", script)).chain(through).chain(files)
    {
        add(name, format!("{} (sha256 {})", exact(&script.path), show(&script.sha256)));
    }
    for input in &approval.inputs {
        add("may run", exact(input));
    }
    lines
}

fn line(name: &str, text: &str) -> String {
    format!("  {name:<9} {text}")
}

fn show(text: &str) -> String {
    shown(text.as_bytes())
}

/// A text that the command chose. Escapes in it cannot be confused with what the command itself typed.
fn exact(text: &str) -> String {
    shown_exactly(text.as_bytes())
}
