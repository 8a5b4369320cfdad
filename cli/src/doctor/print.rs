//! Prints findings for people and for programs.

use std::env;
use std::io::{self, IsTerminal, Write};

use guard_policy::text::{shown, shown_json};

use crate::charset::fitted;

use super::finding::{Finding, Findings, State};

/// Whether colours are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    Shown,
    LeftOut,
}

impl Colours {
    /// Used on a terminal, unless its owner has disabled colours (no-color.org).
    pub fn of_stdout() -> Colours {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        let is_shown = io::stdout().is_terminal() && !unwanted && !is_dumb;
        if is_shown { Colours::Shown } else { Colours::LeftOut }
    }

    /// The text in a colour (ECMA-48, SGR).
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Colours::Shown => format!("\x1b[{code}m{text}\x1b[0m"),
            Colours::LeftOut => text.to_owned(),
        }
    }
}

/// The mark before a finding, and its colour.
fn mark(state: State) -> (&'static str, &'static str) {
    match state {
        State::Ok => ("32", "✓"),
        State::Note => ("2", "·"),
        State::Warning => ("33", "⚠"),
        State::Problem => ("31", "✗"),
    }
}

/// Writes the findings as a JSON array to standard output.
///
/// # Errors
/// Returns an I/O error when the output cannot be written.
pub fn json(findings: &Findings) -> io::Result<()> {
    // Serializing strings and enum names cannot fail.
    let json = serde_json::to_string_pretty(findings.all()).unwrap_or_default();
    writeln!(io::stdout().lock(), "{}", shown_json(&json))
}

/// Writes the findings as text to standard output.
///
/// # Errors
/// Returns an I/O error when the output cannot be written.
pub fn text(findings: &Findings, colours: Colours) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(fitted(&written(findings, colours)).as_bytes())?;
    out.flush()
}

fn written(findings: &Findings, colours: Colours) -> String {
    let all = findings.all();
    let width = all.iter().map(|finding| finding.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut section = None;
    for Finding { section: about, state, name, text: message, fix } in all {
        if section.replace(*about) != Some(*about) {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{}\n", colours.paint("1", about.title())));
        }
        let (colour, mark) = mark(*state);
        let mark = colours.paint(colour, mark);
        text.push_str(&format!("  {mark} {name:width$}  {}\n", shown(message.as_bytes())));
        if let Some(fix) = fix {
            text.push_str(&format!("    {:width$}  → {}\n", "", shown(fix.as_bytes())));
        }
    }
    text.push('\n');
    text.push_str(&counted(findings, colours));
    text
}

/// `12 ok · 1 warning · 0 problems`
fn counted(findings: &Findings, colours: Colours) -> String {
    let count = |state, what: &str, many: &str| {
        let count = findings.count(state);
        let text = format!("{count} {}", if count == 1 { what } else { many });
        if count == 0 { text } else { colours.paint(mark(state).0, &text) }
    };
    let parts = [
        count(State::Ok, "ok", "ok"),
        count(State::Warning, "warning", "warnings"),
        count(State::Problem, "problem", "problems"),
    ];
    parts.join(" · ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::finding::Section;
    use super::*;

    fn some() -> Findings {
        let mut findings = Findings::about(Section::Kernel);
        findings.ok("release", "Linux \x1b[31m");
        findings.turn_to(Section::Policy);
        findings.note("rules", "seven");
        findings.problem("mode", "others may write it", "chmod go-w '/x\u{202e}'");
        findings
    }

    #[test]
    fn sections_marks_and_fixes_are_written() {
        let expected = "Kernel\n  ✓ release  Linux \\u{1B}[31m\n\nPolicy\n  · rules    seven\n  \
            ✗ mode     others may write it\n             → chmod go-w '/x\\u{202E}'\n\n\
            1 ok · 0 warnings · 1 problem\n";
        assert_eq!(written(&some(), Colours::LeftOut), expected);
    }

    #[test]
    fn colours_add_nothing_else() {
        let coloured = written(&some(), Colours::Shown);
        let codes = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];
        let plain = codes.iter().fold(coloured.clone(), |text, code| text.replace(code, ""));
        assert_eq!(plain, written(&some(), Colours::LeftOut));
        assert!(coloured.contains("\x1b[31m✗\x1b[0m") && coloured.contains("\x1b[31m1 problem\x1b[0m"));
    }
}
