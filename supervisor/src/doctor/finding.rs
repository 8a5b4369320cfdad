//! What was found, for people and for programs.

use std::io::{self, Write};

use serde::Serialize;

use crate::text::{shown, shown_json};

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Problem,
}

/// One thing.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    state: State,
    name: &'static str,
    text: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

/// All of it, in order.
#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// It is as it should be.
    pub fn ok(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(State::Ok, name, text.into(), None);
    }

    /// It works, and may not be what is meant.
    pub fn warning(&mut self, name: &'static str, text: impl Into<String>, fix: &str) {
        self.add(State::Warning, name, text.into(), Some(fix.to_owned()));
    }

    /// It does not work.
    pub fn problem(&mut self, name: &'static str, text: impl Into<String>, fix: &str) {
        self.add(State::Problem, name, text.into(), Some(fix.to_owned()));
    }

    fn add(&mut self, state: State, name: &'static str, text: String, fix: Option<String>) {
        self.0.push(Finding { state, name, text, fix: fix.filter(|fix| !fix.is_empty()) });
    }

    /// Whether something does not work.
    pub fn has_problem(&self) -> bool {
        self.0.iter().any(|finding| finding.state == State::Problem)
    }

    /// Writes it to standard output.
    ///
    /// # Errors
    /// The kernel's.
    pub fn print(&self, json: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if json {
            // Strings and names: nothing that could fail.
            let json = serde_json::to_string_pretty(&self.0).unwrap_or_default();
            return writeln!(out, "{}", shown_json(&json));
        }
        let width = self.0.iter().map(|finding| finding.name.len()).max().unwrap_or_default();
        for Finding { state, name, text, fix } in &self.0 {
            let mark = match state {
                State::Ok => '✓',
                State::Warning => '⚠',
                State::Problem => '✗',
            };
            writeln!(out, "{mark} {name:width$}  {}", shown(text.as_bytes()))?;
            if let Some(fix) = fix {
                writeln!(out, "  {:width$}  → {}", "", shown(fix.as_bytes()))?;
            }
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::Findings;

    #[test]
    fn only_what_does_not_work_is_a_problem() {
        let mut findings = Findings::default();
        findings.ok("a", "b");
        findings.warning("c", "d", "e");
        assert!(!findings.has_problem());
        findings.problem("f", "g", "");
        assert!(findings.has_problem());
        let json = serde_json::to_value(&findings.0).unwrap();
        assert_eq!(json[1], serde_json::json!({"state": "warning", "name": "c", "text": "d", "fix": "e"}));
        assert_eq!(json[2]["fix"], serde_json::Value::Null);
    }
}
