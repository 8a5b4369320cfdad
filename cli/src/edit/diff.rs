//! The differences between two texts of a policy.

use guard_policy::text::shown;
use similar::{ChangeTag, TextDiff};

/// How added and removed lines are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// By the first character only.
    No,
    /// Also by colour.
    Yes,
}

/// A unified diff (`diff -u`) with terminal control sequences escaped; empty if the texts are equal.
pub fn unified(name: &str, old: &str, new: &str, colour: Colour) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut output = String::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        if output.is_empty() {
            let name = shown(name.as_bytes());
            output = format!("--- {name}\n+++ {name}\n");
        }
        output.push_str(&format!("{}\n", hunk.header().to_string().trim_end()));
        for change in hunk.iter_changes() {
            // Tabs stay: they are harmless indentation.
            let line = change.value().trim_end_matches(['\n', '\r']);
            let line = line.split('\t').map(|part| shown(part.as_bytes())).collect::<Vec<_>>().join("\t");
            let (sign, number) = match change.tag() {
                ChangeTag::Equal => (' ', None),
                ChangeTag::Delete => ('-', Some(31)),
                ChangeTag::Insert => ('+', Some(32)),
            };
            output.push_str(&match number.filter(|_| colour == Colour::Yes) {
                Some(number) => format!("\u{1b}[{number}m{sign}{line}\u{1b}[0m\n"),
                None => format!("{sign}{line}\n"),
            });
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::{Colour, unified};

    #[test]
    fn lines_are_told_apart() {
        let diff = unified("g", "a\nb\nc\n", "a\nx\u{1b}[31m\nc\n", Colour::No);
        assert_eq!(diff, "--- g\n+++ g\n@@ -1,3 +1,3 @@\n a\n-b\n+x\\u{1B}[31m\n c\n");
        assert!(unified("g", "a\n", "b\n", Colour::Yes).contains("\u{1b}[31m-a\u{1b}[0m\n"));
        assert_eq!(unified("g", "a\n", "a\n", Colour::No), "");
        assert_eq!(unified("g", "a\r\n", "a\r\n\tb\r\n", Colour::No).lines().last(), Some("+\tb"));
    }
}
