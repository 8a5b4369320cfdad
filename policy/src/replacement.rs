//! What a human is shown of a file that would replace another.

use sha2::{Digest, Sha256};

use crate::text::{hex, shown};

/// How many lines of each side are shown.
const MAX_LINES: usize = 16;
/// How many characters of a line are shown.
const MAX_WIDTH: usize = 200;

/// The content of a file, with the bits of its mode.
#[derive(Clone, Copy, Debug)]
pub struct FileContent<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// The permission bits.
    pub mode: u32,
}

/// Returns lines about what is there and what would be, without control characters: sizes, modes and digests, then the
/// first lines that differ. What is not shown is counted.
pub fn replacement_lines(old: Option<FileContent<'_>>, new: FileContent<'_>) -> Vec<String> {
    let summary = |content: FileContent<'_>| {
        let FileContent { bytes, mode } = content;
        let digest = hex(&Sha256::digest(bytes));
        format!("{} bytes, mode {mode:03o}, sha256 {digest}", bytes.len())
    };
    let mut text = vec![
        format!("now: {}", old.map_or_else(|| "nothing is there".to_owned(), summary)),
        format!("new: {}", summary(new)),
    ];
    let (was, is) = (lines(old.map_or(&[], |old| old.bytes)), lines(new.bytes));
    let same = was.iter().zip(&is).take_while(|(a, b)| a == b).count();
    let (was_rest, is_rest) = (&was[same..], &is[same..]);
    let same_end = was_rest.iter().rev().zip(is_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (was, is) = (&was_rest[..was_rest.len() - same_end], &is_rest[..is_rest.len() - same_end]);
    if was.is_empty() && is.is_empty() {
        text.push("the content stays as it is".to_owned());
        return text;
    }
    for (sign, side) in [('-', was), ('+', is)] {
        let numbered = side.iter().enumerate().take(MAX_LINES);
        text.extend(numbered.map(|(at, line)| format!("{sign}{}: {}", same + at + 1, cut(line))));
        if side.len() > MAX_LINES {
            text.push(format!("{sign} {} more lines, which are not shown", side.len() - MAX_LINES));
        }
    }
    text
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // After the last line break there is no line.
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

fn cut(line: &[u8]) -> String {
    let text = shown(line);
    match text.char_indices().nth(MAX_WIDTH) {
        Some((end, _)) => {
            format!("{}… ({} more characters)", &text[..end], text[end..].chars().count())
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: Option<&str>, new: &str) -> Vec<String> {
        let content = |text| FileContent { bytes: str::as_bytes(text), mode: 0o644 };
        let mut lines = replacement_lines(old.map(content), content(new));
        lines.drain(..2);
        lines
    }

    #[test]
    fn only_what_differs_is_shown_and_the_rest_is_counted() {
        assert_eq!(of(Some("a\nb\nc\n"), "a\nx\ny\nc\n"), ["-2: b", "+2: x", "+3: y"]);
        assert_eq!(of(None, "a\n\u{1b}[2J\n"), ["+1: a", "+2: \\u{1B}[2J"]);
        assert_eq!(of(Some("a\n"), "a\n"), ["the content stays as it is"]);
        // A line break at the end is a byte that the digest shows.
        assert_eq!(of(Some("a"), "a\n"), ["the content stays as it is"]);
        let many: String = (0..20).map(|n| format!("{n}\n")).collect();
        assert_eq!(of(None, &many).last().unwrap(), "+ 4 more lines, which are not shown");
        assert!(of(None, &"x".repeat(300))[0].ends_with("… (100 more characters)"));
    }

    #[test]
    fn sizes_modes_and_digests_come_first() {
        let new = FileContent { bytes: b"", mode: 0o755 };
        let lines = replacement_lines(None, new);
        assert_eq!(lines[0], "now: nothing is there");
        assert_eq!(
            lines[1],
            "new: 0 bytes, mode 755, sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
