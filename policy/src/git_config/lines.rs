//! Lines as git itself writes them.
//!
//! Other programs read the same file with parsers of their own, some line by line. A line that git would not write could
//! mean something else to them than to git.

use std::collections::HashSet;

/// Returns the number of the first line, from 1, that git does not write like this and that the old text does not have.
pub(super) fn first_odd(old: &[u8], new: &[u8]) -> Option<usize> {
    let known: HashSet<&[u8]> = lines(old).collect();
    lines(new).position(|line| !is_plain(line) && !known.contains(line)).map(|at| at + 1)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Whether a line is blank, a comment, one header, or one key whose value ends in it.
fn is_plain(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if line.ends_with(b"\\") && !line.ends_with(b"\\\\") {
        return false;
    }
    match line.first() {
        None => true,
        Some(b'#' | b';') => !line.ends_with(b"\\"),
        Some(b'[') => is_header(line),
        Some(_) => is_setting(line),
    }
}

fn is_header(line: &[u8]) -> bool {
    let Some(inside) = line.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")) else { return false };
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let end = inside.iter().position(|byte| !is_name(byte)).unwrap_or(inside.len());
    let (name, rest) = inside.split_at(end);
    let quoted = rest.strip_prefix(b" \"").and_then(|rest| rest.strip_suffix(b"\""));
    let is_odd = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'[' | b']' | b'"' | b'\\');
    !name.is_empty() && (rest.is_empty() || quoted.is_some_and(|name| !name.iter().any(is_odd)))
}

/// Whether a value has neither a comment after it nor a quote that stays open.
fn is_setting(line: &[u8]) -> bool {
    let mut is_quoted = false;
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => is_quoted = !is_quoted,
            b'#' | b';' if !is_quoted => return false,
            _ => {}
        }
    }
    !is_quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_is_plain() {
        for line in [
            "",
            "[core]",
            "[remote \"origin\"]",
            "[branch \"fix#1/a\"]\r",
            "\tbare = false",
            "\tname = \"a # b\"",
            "\tdescription = a\\nb\\\\",
            "# a comment",
            "\tautocrlf",
        ] {
            assert_eq!(first_odd(b"", line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn what_others_could_read_differently_is_not() {
        for line in [
            "[core] bare = false",
            "[branch \"a]\"] [core]",
            "[core][x]",
            "[Core.sub]",
            "[branch \"a\\\"\"]",
            "\tname = a \\",
            "\tname = a # b",
            "\tname = \"a",
            "# a comment \\",
            "[ core]",
        ] {
            assert_eq!(first_odd(b"", format!("[core]\n{line}").as_bytes()), Some(2), "{line}");
            assert_eq!(first_odd(line.as_bytes(), line.as_bytes()), None, "{line}");
        }
    }
}
