//! Bytes from a guarded process on their way to a human: no control character reaches a terminal raw.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The bytes as text in which nothing acts on a terminal: control, invisible and direction-changing characters
/// and bytes that are no UTF-8 are escaped.
pub fn shown(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if acts(character) {
                let _ = write!(out, "{}", character.escape_default());
            } else {
                out.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A word as a shell takes it, in which nothing acts on a terminal either: one that would do so stands for no word.
pub fn quoted(word: &str) -> String {
    // No shell takes a NUL.
    let word = word.replace('\0', "\u{fffd}");
    shlex::try_quote(&word).map_or_else(|_| String::new(), |quoted| shown(quoted.as_bytes()))
}

/// Words as a shell takes them. A word that no shell could be given has acted on a terminal: it is shown, and not to be used.
pub fn command_line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| match shlex::try_quote(word) {
        Ok(quoted) => shown(quoted.as_bytes()),
        Err(_) => shown(word.as_bytes()),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// `1 line`, `2 lines`.
pub fn counted(number: usize, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}

/// JSON that says the same to a program, and in which nothing acts on a terminal: it is looked at, too. JSON itself escapes
/// no more than the first 32 control characters.
pub fn shown_json(json: &str) -> Cow<'_, str> {
    // Line breaks stand between values; in a string there is none.
    let acts = |character: char| character != '\n' && acts(character);
    if !json.contains(acts) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if acts(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Whether a character does something other than fill its cell.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{quoted, shown, shown_json};

    #[test]
    fn a_word_is_one_word_of_a_shell() {
        assert_eq!(quoted("/a/b.json"), "/a/b.json");
        assert_eq!(quoted("a $(b)"), "'a $(b)'");
        assert_eq!(quoted("$(a)\0"), "'$(a)\u{fffd}'");
        for word in ["$(x)\u{1b}'`y`", "\u{202e}a;b", "a\nb", "!\"$x\u{9b}'", ""] {
            let quoted = quoted(word);
            assert!(!quoted.contains(super::acts), "{quoted}");
            assert_eq!(shlex::split(&quoted).map(|words| words.len()), Some(1), "{quoted}");
        }
    }

    #[test]
    fn escapes_what_acts_and_keeps_what_is_text() {
        assert_eq!(shown("häuser/日本.txt".as_bytes()), "häuser/日本.txt");
        assert_eq!(shown(b"a\x1b[31m\nb\tc\x07"), "a\\u{1b}[31m\\nb\\tc\\u{7}");
        assert_eq!(shown("x\u{202e}y\u{200b}\u{9b}".as_bytes()), "x\\u{202e}y\\u{200b}\\u{9b}");
        assert_eq!(shown(b"\xff\xfe."), "\\xff\\xfe.");
    }

    #[test]
    fn json_says_the_same() {
        let value = serde_json::json!({"a": "x\u{202e}y\u{9b}\u{7f}\u{1b}\u{e0001}日本\n", "b": [1]});
        for json in [value.to_string(), format!("{value:#}")] {
            let shown = shown_json(&json);
            assert!(!shown.contains(|character| character != '\n' && super::acts(character)), "{shown}");
            assert!(
                shown.contains("\\u202e") && shown.contains("\\udb40\\udc01") && shown.contains("日本"),
                "{shown}"
            );
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
