//! Converts a word as written to the argument that the shell would pass.

use tree_sitter::Node;

/// How certain the text of a word is before the shell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// The shell passes it as written, without the quotes.
    Literal,
    /// It has a wildcard or a brace: the shell may replace it by files.
    Glob,
    /// It has a variable, a substitution or arithmetic.
    Expanded,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) certainty: Certainty,
}

/// Returns the word of a node. Text that the shell would replace stays as written.
pub(super) fn word(node: Node<'_>, source: &str) -> Word {
    let raw = &source[node.byte_range()];
    let text = match node.kind() {
        "raw_string" => unwrapped(raw, "'", "'").to_owned(),
        "string" => double_quoted(unwrapped(raw, "\"", "\"")),
        "ansi_c_string" => ansi_c(unwrapped(raw, "$'", "'")),
        "command_name" | "concatenation" if !has_expansion(node) && node.named_child_count() > 0 => {
            let mut cursor = node.walk();
            node.named_children(&mut cursor).map(|part| word(part, source).text).collect()
        }
        kind if is_expansion(kind) => raw.to_owned(),
        _ => unquoted(raw),
    };
    Word { text, certainty: certainty(node, raw) }
}

fn certainty(node: Node<'_>, raw: &str) -> Certainty {
    let is_quoted = matches!(node.kind(), "raw_string" | "string" | "ansi_c_string");
    if has_expansion(node) {
        Certainty::Expanded
    } else if !is_quoted && has_wildcard(raw) && !only_quoted(node) {
        // OpenClaw examines only the text here, so an escaped dollar next to a wildcard counts as an expansion.
        if looks_expanded(raw) { Certainty::Expanded } else { Certainty::Glob }
    } else {
        Certainty::Literal
    }
}

/// Returns whether a node is a command's name that is quoted as a whole: `"ls"`.
fn only_quoted(node: Node<'_>) -> bool {
    node.kind() == "command_name"
        && node
            .named_child(0)
            .is_some_and(|part| matches!(part.kind(), "raw_string" | "string" | "ansi_c_string"))
}

fn is_expansion(kind: &str) -> bool {
    matches!(
        kind,
        "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
    )
}

/// Returns whether a node is an expansion or contains one.
fn has_expansion(node: Node<'_>) -> bool {
    let mut left = vec![node];
    while let Some(node) = left.pop() {
        if is_expansion(node.kind()) {
            return true;
        }
        let mut cursor = node.walk();
        left.extend(node.named_children(&mut cursor));
    }
    false
}

/// Returns whether a text has a wildcard or a brace that is not escaped.
fn has_wildcard(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    let last = |close: u8| bytes.iter().rposition(|&byte| byte == close).unwrap_or(0);
    let (bracket, brace) = (last(b']'), last(b'}'));
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'*' | b'?' => return true,
            b'[' if bracket > at + 1 => return true,
            b'{' if brace > at + 1 => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

fn looks_expanded(raw: &str) -> bool {
    raw.contains('`')
        || raw.as_bytes().windows(2).any(|pair| match pair {
            [b'$', next] => next.is_ascii_alphanumeric() || b"_@*?#$!-{(".contains(next),
            [b'<' | b'>', b'('] => true,
            _ => false,
        })
}

fn unwrapped<'a>(raw: &'a str, open: &str, close: &str) -> &'a str {
    raw.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).unwrap_or(raw)
}

/// Removes backslashes; each makes the next character literal.
fn unquoted(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => text.extend(rest.next().or(Some('\\'))),
            character => text.push(character),
        }
    }
    text
}

/// Removes the backslashes that act between double quotes: those before `\`, `"`, `$` and a backtick.
fn double_quoted(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars().peekable();
    while let Some(character) = rest.next() {
        let plain = rest.next_if(|next| character == '\\' && matches!(next, '\\' | '"' | '$' | '`'));
        text.push(plain.unwrap_or(character));
    }
    text
}

/// Decodes the content of `$'…'`, with the escapes of C.
fn ansi_c(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character != '\\' {
            text.push(character);
            continue;
        }
        let Some(escape) = rest.chars().next() else {
            text.push('\\');
            break;
        };
        let after = &rest[escape.len_utf8()..];
        let (value, left) = match escape {
            'a' => ('\u{7}', after),
            'b' => ('\u{8}', after),
            'e' | 'E' => ('\u{1b}', after),
            'f' => ('\u{c}', after),
            'n' => ('\n', after),
            'r' => ('\r', after),
            't' => ('\t', after),
            'v' => ('\u{b}', after),
            'x' => number(after, 16, 2).unwrap_or((escape, after)),
            'u' => number(after, 16, 4).unwrap_or((escape, after)),
            'U' => number(after, 16, 8).unwrap_or((escape, after)),
            '0'..='7' => number(rest, 8, 3).unwrap_or((escape, after)),
            escape => (escape, after),
        };
        text.push(value);
        rest = left;
    }
    text
}

/// Reads a number of at most `digits` digits. Returns the character with that code point, and the text after
/// the digits.
fn number(text: &str, radix: u32, digits: usize) -> Option<(char, &str)> {
    let length = text.chars().take(digits).take_while(|digit| digit.is_digit(radix)).count();
    let value = u32::from_str_radix(text.get(..length)?, radix).ok()?;
    Some((char::from_u32(value)?, &text[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_bash_does() {
        assert_eq!(unquoted(r"a\ b\\c\"), r"a b\c\");
        assert_eq!(double_quoted(r#"a\"b\$c\n\\"#), r#"a"b$c\n\"#);
        assert_eq!(ansi_c(r"a\tb\x41\101\u00e9\'\q\"), "a\tbAA\u{e9}'q\\");
        assert_eq!(ansi_c(r"\xzz\U110000"), "xzzU110000");
    }

    #[test]
    fn wildcards_are_seen_where_they_act() {
        for text in ["*", "a?", "[ab]", "a{b,c}", r"\\*"] {
            assert!(has_wildcard(text), "{text}");
        }
        for text in ["", "a", r"\*", "[", "[]", "{}", r"\[a]", "a]b["] {
            assert!(!has_wildcard(text), "{text}");
        }
    }
}
