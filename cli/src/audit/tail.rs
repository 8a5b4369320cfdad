//! Prints the last lines of a log, as text or as JSON.

use std::io::{self, Write};
use std::path::Path;

use guard_policy::text::shown_json;
use guard_supervisor::audit::reader::{AuditEntry, Log, summary};

use super::AuditError;
use super::follow::Follow;

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// One line of text for people.
    Text,
    /// The line of the log with its id added.
    Json,
}

/// Which lines to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFilter {
    /// All lines.
    All,
    /// Denials only.
    Denied,
}

impl LineFilter {
    fn has(self, entry: &AuditEntry) -> bool {
        self == LineFilter::All || entry.is_of_denials()
    }
}

/// Writes the last lines of the log to standard output.
///
/// # Errors
/// When the log cannot be read or the output cannot be written.
pub fn last(path: &Path, number: usize, lines: LineFilter, form: Shown) -> Result<(), AuditError> {
    let log = Log::open(path)?;
    print(&latest(&log, number, lines)?, form)
}

/// Like [`last`], and then new lines as they come. Returns when the output is closed.
///
/// # Errors
/// When the log cannot be read or the output cannot be written.
pub fn follow(path: &Path, number: usize, lines: LineFilter, form: Shown) -> Result<(), AuditError> {
    let log = Log::open(path)?;
    let mut follow = Follow::after(path, log.ends()?)?;
    print(&latest(&log, number, lines)?, form)?;
    drop(log);
    loop {
        let more = follow.wait()?.into_iter().map(|(_, entry)| entry);
        let more: Vec<_> = more.filter(|entry| lines.has(entry)).collect();
        print(&more, form)?;
    }
}

fn latest(log: &Log, number: usize, lines: LineFilter) -> Result<Vec<AuditEntry>, AuditError> {
    let selected = log.latest().filter(|entry| entry.as_ref().map_or(true, |entry| lines.has(entry)));
    let mut entries = selected.take(number).collect::<Result<Vec<_>, _>>()?;
    entries.reverse();
    Ok(entries)
}

fn print(entries: &[AuditEntry], form: Shown) -> Result<(), AuditError> {
    let mut out = io::stdout().lock();
    for entry in entries {
        write(&mut out, entry, form).map_err(AuditError::Output)?;
    }
    out.flush().map_err(AuditError::Output)
}

fn write(out: &mut impl Write, entry: &AuditEntry, form: Shown) -> io::Result<()> {
    match form {
        Shown::Json => {
            let rest = entry.text.strip_prefix('{').unwrap_or_default();
            writeln!(out, "{{\"id\":\"{}\",{}", entry.id, shown_json(rest))
        }
        Shown::Text => writeln!(out, "{}", text(entry)),
    }
}

/// `3f9a2c01 2026-11-22 02:48:11Z  …`
fn text(entry: &AuditEntry) -> String {
    let time = entry.time.map_or_else(|| "?".to_owned(), |time| time.strftime("%F %TZ").to_string());
    format!("{} {time}  {}", entry.id.short(), summary(entry))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Holds for any kind of line with any content.
        #[test]
        fn nothing_of_a_line_acts_on_a_terminal(operation in ".*", path in ".*", argument in ".*", deep in any::<bool>()) {
            let line = if deep {
                serde_json::json!({"operation": operation, "n": 1, "x": {&*path: [&*argument]}})
            } else {
                serde_json::json!({"operation": "read", "pid": 1, "path": path, "argv": [argument], "verdict": "deny",
                    "session": operation, "because": {"source": "global", "path": operation, "text": ""}})
            };
            let entry = AuditEntry::parse(line.to_string().as_bytes()).unwrap();
            prop_assert_eq!(entry.denial().is_some(), !deep);
            prop_assert!(!text(&entry).contains(char::is_control));
        }
    }
}
