//! docs/troubleshooting.md has an entry for each message of the guard.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use guard_tests::sources;
use regex::{Captures, Regex};

use crate::documents::document;

/// The placeholder for any text.
const ANY: char = '…';
/// The fewest letters of a message; a shorter text is a part of another.
const LETTERS: usize = 8;

/// Matches an error's text, a line with the guard's prefix, and the argument of a function that prints lines.
static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    let literal = r#""((?:[^"\\]|\\.)*)""#;
    let tellers = r"\b(?:(?:warn|warn_once|remark|news)\(\s*&?(?:format!\(\s*)?|print\(format!\()";
    Regex::new(&format!(
        r#"(?s)#\[error\(\s*{literal}|"openclaw-guard: ((?:[^"\\]|\\.)*)"|{tellers}{literal}"#
    ))
    .expect("an expression")
});
/// The directories of the program's code.
const PARTS: [&str; 5] = ["approvals/src", "cli/src", "openclaw/src", "shim/src", "supervisor/src"];
/// A file of the policy's that has sentences of its own.
const OF_POLICY: &str = "policy/src/paths/link_targets.rs";
/// The code of denial reasons and of `learn`'s output: each sentence there is a message.
const REASONS: [&str; 10] = [
    OF_POLICY,
    "supervisor/src/syscall",
    "supervisor/src/exec",
    "supervisor/src/judge/consent",
    "supervisor/src/judge/guard.rs",
    "supervisor/src/judge/moved_grants.rs",
    "supervisor/src/judge/paths.rs",
    "supervisor/src/resolve/special_files.rs",
    "supervisor/src/panics.rs",
    "cli/src/learn/print.rs",
];
static SENTENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?s)"((?:[^"\\\n]|\\.)*)""#).expect("an expression"));
/// Matches text that users do not see: comments, and the text of developers' logs and panics.
static UNTOLD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)//.*$|(?:expect|panic!|unreachable!|debug!|warn!)\((?:[^"\n]*)"(?:[^"\\]|\\.)*""#)
        .expect("an expression")
});
/// Matches text between single or double backticks.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new("``(.+?)``|`([^`]+)`").expect("an expression"));
static CONTINUED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\\\n\s*").expect("an expression"));
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{[^{}]*\}").expect("an expression"));

fn letters(text: &str) -> usize {
    text.chars().filter(|one| one.is_alphabetic()).count()
}

/// Collects the program's files, without tests and without the code that has OpenClaw's messages (`oracle`).
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().and_then(|name| name.to_str()).expect("a name");
        if entry.is_dir() && name != "tests" && name != "oracle" {
            files(&entry, found);
        } else if name.ends_with(".rs") && !["tests.rs", "testing.rs"].contains(&name) {
            found.push(entry);
        }
    }
}

/// Returns a literal as the guard prints it, with `…` for what differs.
fn as_printed(literal: &str) -> String {
    let text = CONTINUED.replace_all(literal, "").replace("\\\"", "\"");
    let text = PLACEHOLDER.replace_all(&text, "…");
    text.strip_prefix("openclaw-guard: ").unwrap_or(&text).trim().to_owned()
}

/// Returns the guard's messages, with `…` for what differs, and the file of each.
fn messages() -> BTreeMap<String, PathBuf> {
    let mut found = Vec::new();
    let root = sources().join("..");
    PARTS.iter().for_each(|part| files(&root.join(part), &mut found));
    found.push(root.join(OF_POLICY));
    let mut messages = BTreeMap::new();
    for file in found {
        let text = fs::read_to_string(&file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for message in MESSAGE
            .captures_iter(code)
            .filter_map(|found: Captures<'_>| found.iter().skip(1).flatten().next())
        {
            let text = as_printed(message.as_str());
            if letters(&text) >= LETTERS {
                messages.insert(text, file.clone());
            }
        }
        if REASONS.iter().any(|part| file.starts_with(root.join(part))) {
            let code = UNTOLD.replace_all(code, "");
            let sentences = SENTENCE.captures_iter(&code).map(|found| as_printed(&found[1]));
            let sentences =
                sentences.filter(|text| text.matches(' ').count() > 2 && letters(text) > 2 * LETTERS);
            messages.extend(sentences.map(|text| (text, file.clone())));
        }
    }
    messages
}

/// Returns the messages that the document explains: the first cells of its tables, between backticks.
fn patterns() -> Vec<String> {
    let text = document("docs/troubleshooting.md").text;
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.trim_start_matches("| ").split(" | ").next());
    let quoted = cells.flat_map(|cell| QUOTED.captures_iter(cell));
    let text = |found: Captures<'_>| {
        found.iter().skip(1).flatten().next().map(|text| text.as_str().trim().to_owned())
    };
    quoted.filter_map(text).map(|pattern| pattern.replace("\\|", "|")).collect()
}

/// Returns whether a message consists of a pattern's parts, in order, with any text between them.
fn fits(pattern: &str, message: &str) -> bool {
    let parts: Vec<&str> = pattern.split(ANY).collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    if parts.len() == 1 {
        return pattern == message;
    }
    let Some(mut rest) = message.strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn every_message_has_an_entry() {
    let (messages, patterns) = (messages(), patterns());
    assert!(messages.len() > 150, "{}", messages.len());
    let without =
        messages.iter().filter(|(message, _)| !patterns.iter().any(|pattern| fits(pattern, message)));
    let without: Vec<String> =
        without.map(|(message, file)| format!("{}: {message}", file.display())).collect();
    assert!(without.is_empty(), "docs/troubleshooting.md has nothing of\n{}", without.join("\n"));
}

#[test]
fn every_entry_belongs_to_a_message() {
    let (messages, patterns) = (messages(), patterns());
    let is_known = |pattern: &&String| messages.keys().any(|message| fits(pattern, message));
    let unknown: Vec<&String> = patterns.iter().filter(|pattern| !is_known(pattern)).collect();
    assert!(unknown.is_empty(), "the guard does not say {unknown:#?}");
    let vague: Vec<&String> = patterns.iter().filter(|pattern| letters(pattern) < LETTERS).collect();
    assert!(vague.is_empty(), "anything could be {vague:?}");
}

#[test]
fn a_pattern_is_of_the_whole_message() {
    assert!(fits("cannot write …", "cannot write …: …"));
    assert!(fits("… is not a socket, …", "… is not a socket, so it is not replaced"));
    assert!(!fits("cannot write", "cannot write …"));
    assert!(!fits("… cannot … write", "cannot write"));
    assert!(!fits("no … at all", "none at all"));
}
