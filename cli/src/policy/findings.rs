//! Findings about a policy, for people and for programs.

use std::io::Write;

use guard_policy::text::{shown, shown_json};
use guard_policy::{Problem, locate};
use serde::Serialize;

/// A finding, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The key's path from the top; empty for the whole document.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    pub message: String,
    /// The valid key or word that is most similar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl Finding {
    /// Makes a finding of a sentence that begins with a key of the text.
    pub fn new(text: &str, sentence: &str) -> Finding {
        let (mut finding, sentence) = match locate(text, sentence) {
            Some(key) => {
                let rest = sentence.get(key.key.len()..).unwrap_or_default();
                let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start().to_owned();
                (Finding::at(key.line, key.column, key.key), rest)
            }
            None => (Finding::nowhere(), sentence.to_owned()),
        };
        finding.message = sentence;
        finding
    }

    fn at(line: usize, column: usize, key: String) -> Finding {
        Finding { line: Some(line), column: Some(column), key, ..Finding::nowhere() }
    }

    fn nowhere() -> Finding {
        Finding { line: None, column: None, key: String::new(), message: String::new(), nearest: None }
    }

    /// `FILE:3:5: kind: key: message; did you mean "x"?`
    pub fn line(&self, file: &str, kind: &str) -> String {
        let mut line = file.to_owned();
        if let (Some(row), Some(column)) = (self.line, self.column) {
            line.push_str(&format!(":{row}:{column}"));
        }
        for part in [kind, &self.key, &self.message].into_iter().filter(|part| !part.is_empty()) {
            line.push_str(": ");
            line.push_str(part);
        }
        if let Some(nearest) = &self.nearest {
            line.push_str(&format!("; did you mean \"{nearest}\"?"));
        }
        shown(line.as_bytes())
    }
}

impl From<&Problem> for Finding {
    fn from(problem: &Problem) -> Finding {
        Finding {
            message: problem.message.clone(),
            nearest: problem.nearest.clone(),
            ..Finding::at(problem.line, problem.column, problem.key.clone())
        }
    }
}

/// Prints one JSON value on stdout.
pub fn print_json(value: &impl Serialize) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let json = serde_json::to_string_pretty(value)?;
    out.write_all(shown_json(&json).as_bytes())?;
    out.write_all(b"\n")
}

/// `1 error`, `2 errors`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_taken_apart_where_its_key_is() {
        let text = "{\n \"exec\": { \"roots\": [] } }";
        let finding = Finding::new(text, "exec.roots: is empty");
        assert_eq!(finding.line("f", "warning"), "f:2:12: warning: exec.roots: is empty");
        let finding = Finding::new(text, "exec.roots is read");
        assert_eq!(finding.line("f", ""), "f:2:12: exec.roots: is read");
        assert_eq!(
            Finding::new(text, "some\x1b thing").line("f", "warning"),
            "f: warning: some\\u{1B} thing"
        );
    }
}
