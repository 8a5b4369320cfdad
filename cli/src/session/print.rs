//! Sessions as text and as JSON.

use std::time::Duration;

use guard_policy::ElevatedLevel;
use guard_policy::text::{quoted, shown, shown_json};
use guard_supervisor::session::protocol::{SessionInfo, SessionMode, SessionSecurity};
use serde::Serialize;

/// The digits of an id in a table.
const SHORT_ID: usize = 8;
/// The number of columns, without the command.
const COLUMNS: usize = 7;

pub fn json(value: &(impl Serialize + ?Sized)) -> String {
    // Serializing strings, numbers and structures of them cannot fail.
    let json = serde_json::to_string_pretty(value).unwrap_or_default();
    shown_json(&json).into_owned() + "\n"
}

/// One line for each session.
pub fn table(sessions: &[SessionInfo], now_ms: u64) -> String {
    if sessions.is_empty() {
        return "no guard is running\n".to_owned();
    }
    let head = ["ID", "PID", "AGENT", "LEVEL", "AGE", "ASKS", "DENIED"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once((head, "COMMAND".to_owned()))
        .chain(sessions.iter().map(|info| (row(info, now_ms), command(info))))
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().filter_map(|(cells, _)| cells.get(column).map(|cell| cell.chars().count()));
        widths.max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..COLUMNS).map(width).collect();
    let line = |(cells, command): &([String; COLUMNS], String)| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}  "));
        cells.collect::<String>() + command + "\n"
    };
    rows.iter().map(line).collect()
}

fn row(info: &SessionInfo, now_ms: u64) -> [String; COLUMNS] {
    let id: String = info.id.chars().take(SHORT_ID).collect();
    [
        shown(id.as_bytes()),
        info.pid.to_string(),
        shown(info.agent.as_bytes()),
        level(info),
        age(info, now_ms),
        info.pending.to_string(),
        info.denials.to_string(),
    ]
}

/// How strict a session is: what was set, or the policy's security.
fn level(info: &SessionInfo) -> String {
    let level = match (info.is_ending, info.mode, info.set) {
        (true, ..) => "ending",
        (false, SessionMode::Observe, _) => "observe",
        (false, _, SessionSecurity::Deny) => "deny (set)",
        (false, SessionMode::Learn, _) => "learn",
        (false, SessionMode::Enforce, SessionSecurity::Policy) => &info.security,
    };
    shown(level.as_bytes())
}

/// Everything about one session.
pub fn details(info: &SessionInfo, now_ms: u64) -> String {
    let mut lines = vec![format!("session {}", shown(info.id.as_bytes()))];
    let mut add = |name: &str, text: &str| lines.push(format!("  {name:<11} {}", shown(text.as_bytes())));
    add("guard", &format!("process {}", info.pid));
    add("agent", &info.agent);
    if let Some(key) = &info.session_key {
        add("session key", key);
    }
    add("command", &command(info));
    add("directory", &info.directory);
    add("policy", &info.policy);
    if !info.limits.is_empty() {
        add("limits", &info.limits);
    }
    add("age", &age(info, now_ms));
    add("level", &level(info));
    if info.elevated != ElevatedLevel::Off {
        add("elevated", info.elevated.as_str());
    }
    add("asks", &info.pending.to_string());
    add("denied", &info.denials.to_string());
    lines.join("\n") + "\n"
}

fn command(info: &SessionInfo) -> String {
    info.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn age(info: &SessionInfo, now_ms: u64) -> String {
    let seconds = Duration::from_millis(now_ms.saturating_sub(info.started_at_ms)).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
