//! Bytes from a guarded process on their way to a human: no control character reaches a terminal raw.
//!
//! Why: docs/decisions.md, "One function writes out what is not seen as itself"

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// The bytes as text that does not act on a terminal and hides nothing: control, invisible and direction-changing
/// characters, blanks other than the space, and bytes that are no UTF-8 are written out, as OpenClaw writes them.
pub fn shown(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            write_shown(character, &mut out);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    out
}

/// Appends a character as it is shown: `\u{202E}` where nobody would see it.
pub(crate) fn write_shown(character: char, out: &mut String) {
    if is_unseen(character) {
        let _ = write!(out, "\\u{{{:X}}}", u32::from(character));
    } else {
        out.push(character);
    }
}

/// The name of a process in a list of processes, `vim 4242 < bash 4100`. A process chooses its own name (prctl(2),
/// PR_SET_NAME): a name that could pass for more than one word is in quotes, and has no quote inside.
pub fn process_name(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.+:@/".contains(character);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", shown(name.as_bytes()).replace('\'', "\\u{27}"))
}

/// The bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A word quoted for a shell, which does not act on a terminal either. If the word would, the text stands for another
/// word.
pub fn quoted(word: &str) -> String {
    // No shell takes a NUL.
    let word = word.replace('\0', "\u{fffd}");
    shlex::try_quote(&word).map_or_else(|_| String::new(), |quoted| shown(quoted.as_bytes()))
}

/// Words quoted for a shell. A word that cannot be quoted is only shown, and must not be used.
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
    let is_unseen = |character: char| character != '\n' && is_unseen(character);
    if !json.contains(is_unseen) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if is_unseen(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Whether a character is not seen as itself: controls, blanks other than the space, and what has no shape.
pub(crate) fn is_unseen(character: char) -> bool {
    match character {
        ' '..='~' => false,
        _ => is_in(&UNSEEN, character),
    }
}

/// Whether a character has no width, so that it can hide inside a word.
pub(crate) fn is_widthless(character: char) -> bool {
    !character.is_ascii() && is_in(&WIDTHLESS, character)
}

/// Ranges of characters, in order.
type Characters = Box<[RangeInclusive<char>]>;

fn is_in(all: &Characters, character: char) -> bool {
    let at = all.partition_point(|range| *range.end() < character);
    all.get(at).is_some_and(|range| range.contains(&character))
}

/// Default_Ignorable_Code_Point of Unicode 14.0 (DerivedCoreProperties.txt), with ranges that are reserved for more: soft
/// hyphen, joiners, fillers of Hangul, vowels of Khmer without a shape, variation selectors, marks of direction, tags.
const IGNORABLE: &str = r"\u{AD}\u{34F}\u{61C}\u{115F}-\u{1160}\u{17B4}-\u{17B5}\u{180B}-\u{180F}\u{200B}-\u{200F}\u{202A}-\u{202E}\u{2060}-\u{206F}\u{3164}\u{FE00}-\u{FE0F}\u{FEFF}\u{FFA0}\u{FFF0}-\u{FFF8}\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}";

/// The general categories of controls, formats, separators and blanks; what is ignored; and the braille pattern without dots,
/// which is a symbol and looks like a blank.
static UNSEEN: LazyLock<Characters> = LazyLock::new(|| {
    characters(&format!(r"[[\p{{Cc}}\p{{Cf}}\p{{Zl}}\p{{Zp}}\p{{Zs}}\u{{2800}}{IGNORABLE}]--\x20]"))
});

static WIDTHLESS: LazyLock<Characters> = LazyLock::new(|| characters(&format!(r"[\p{{Cf}}{IGNORABLE}]")));

fn characters(class: &str) -> Characters {
    let syntax = regex_syntax::parse(class).expect("the class is tested");
    let HirKind::Class(Class::Unicode(class)) = syntax.into_kind() else {
        unreachable!("the class is tested");
    };
    class.iter().map(|range| range.start()..=range.end()).collect()
}

#[cfg(test)]
mod tests {
    use super::{process_name, quoted, shown, shown_json};
    use crate::redact::display::display_text;

    #[test]
    fn a_word_is_one_word_of_a_shell() {
        assert_eq!(quoted("/a/b.json"), "/a/b.json");
        assert_eq!(quoted("a $(b)"), "'a $(b)'");
        assert_eq!(quoted("$(a)\0"), "'$(a)\u{fffd}'");
        for word in ["$(x)\u{1b}'`y`", "\u{202e}a;b", "a\nb", "!\"$x\u{9b}'", ""] {
            let quoted = quoted(word);
            assert!(!quoted.contains(super::is_unseen), "{quoted}");
            assert_eq!(shlex::split(&quoted).map(|words| words.len()), Some(1), "{quoted}");
        }
    }

    #[test]
    fn control_characters_are_escaped_and_text_is_kept() {
        assert_eq!(shown("häuser/日本.txt".as_bytes()), "häuser/日本.txt");
        assert_eq!(shown(b"a\x1b[31m\nb\tc\x07"), "a\\u{1B}[31m\\u{A}b\\u{9}c\\u{7}");
        assert_eq!(shown("x\u{202e}y\u{200b}\u{9b}".as_bytes()), "x\\u{202E}y\\u{200B}\\u{9B}");
        assert_eq!(shown(b"\xff\xfe."), "\\xFF\\xFE.");
    }

    /// One of each kind, and the ends of the ranges. What is sent to OpenClaw's gateway is written alike.
    #[test]
    fn invisible_characters_are_escaped_the_same_everywhere() {
        let unseen = [
            0x0, 0x9, 0xa, 0x1b, 0x7f, 0x80, 0x85, 0x9b, 0xa0, 0xad, 0x34f, 0x600, 0x61c, 0x115f, 0x1160,
            0x1680, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180e, 0x180f, 0x2000, 0x2007, 0x200a, 0x200b,
            0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x202f, 0x205f, 0x2060, 0x2065, 0x206f, 0x2800, 0x3000,
            0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0xfff8, 0xfff9, 0xfffb, 0x110bd, 0x13430,
            0x1bca0, 0x1d173, 0xe0000, 0xe0001, 0xe0020, 0xe007f, 0xe0080, 0xe0100, 0xe01ef, 0xe0fff,
        ];
        for number in unseen {
            let text = char::from_u32(number).unwrap().to_string();
            let expected = format!("\\u{{{number:X}}}");
            assert_eq!(shown(text.as_bytes()), expected);
            assert_eq!(display_text(text.as_bytes()), expected);
        }
        for seen in [
            " ",
            "~",
            "\u{a1}",
            "\u{e9}",
            "\u{301}",
            "\u{1100}",
            "\u{2801}",
            "\u{3001}",
            "\u{ac00}",
            "\u{fffd}",
            "\u{1f600}",
        ] {
            assert_eq!((shown(seen.as_bytes()), display_text(seen.as_bytes())), (seen.into(), seen.into()));
        }
    }

    #[test]
    fn a_process_name_cannot_look_like_two() {
        assert_eq!(process_name("kworker/0:1"), "kworker/0:1");
        assert_eq!(process_name(""), "''");
        assert_eq!(process_name("vim 7 < bash 41"), "'vim 7 < bash 41'");
        assert_eq!(process_name("vim\u{a0}7"), "'vim\\u{A0}7'");
        // Of two names, neither opens a quote that the other closes.
        for name in ["'a", "a'", "\"a", "a\"", "a\\", "a' 7 < 'b", "日本"] {
            let name = process_name(name);
            let inner = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap();
            assert!(!inner.contains('\''), "{name}");
        }
    }

    #[test]
    fn json_escapes_the_same_characters() {
        let value = serde_json::json!({"a": "x\u{202e}y\u{9b}\u{7f}\u{1b}\u{e0001}日本\n", "b": [1]});
        for json in [value.to_string(), format!("{value:#}")] {
            let shown = shown_json(&json);
            assert!(!shown.contains(|character| character != '\n' && super::is_unseen(character)), "{shown}");
            assert!(
                shown.contains("\\u202e") && shown.contains("\\udb40\\udc01") && shown.contains("日本"),
                "{shown}"
            );
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
