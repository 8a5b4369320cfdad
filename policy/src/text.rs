//! Bytes from a guarded process on their way to a human: no control character reaches a terminal raw.
//!
//! Why: docs/decisions.md, "One function writes out what is not seen as itself"

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// The bytes as text that does not act on a terminal and hides nothing. These are escaped, as OpenClaw does it:
/// control, invisible and direction-changing characters, blanks other than the space, characters that a font need not
/// have, marks without a letter below them, and bytes that are not UTF-8. Text that was escaped once stays as it is.
pub fn shown(bytes: &[u8]) -> String {
    written_out(bytes, Backslash::Plain)
}

/// Like [`shown`], for what a human decides about: a backslash that would look like the start of an escape is doubled,
/// so that the text stands for these bytes and no others. Apply it once, to the bytes themselves.
pub fn shown_exactly(bytes: &[u8]) -> String {
    written_out(bytes, Backslash::Doubled)
}

fn written_out(bytes: &[u8], backslash: Backslash) -> String {
    let mut out = String::with_capacity(bytes.len());
    let signs = bytes.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().iter().map(|byte| Sign::Byte(*byte));
        chunk.valid().chars().map(Sign::Char).chain(invalid)
    });
    write_out(signs, backslash, &mut out);
    out
}

/// One unit of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Char(char),
    /// Half of a pair of UTF-16, alone.
    Surrogate(u32),
    /// A byte that is not valid UTF-8.
    Byte(u8),
}

/// How a backslash that looks like the start of an escape is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backslash {
    Plain,
    /// It is doubled, with all backslashes before it: an odd number of them starts an escape.
    Doubled,
}

/// Appends a text as it is shown: `\u{202E}` where nobody would see a character.
pub(crate) fn write_out(signs: impl IntoIterator<Item = Sign>, backslash: Backslash, out: &mut String) {
    let mut signs = signs.into_iter().peekable();
    let (mut has_base, mut backslashes) = (false, 0);
    while let Some(sign) = signs.next() {
        let is_written = match sign {
            Sign::Char(character) => is_unseen(character) || !has_base && is_mark(character),
            Sign::Surrogate(_) | Sign::Byte(_) => true,
        };
        let looks_written = match sign {
            Sign::Char('x') => true,
            Sign::Char('u') => signs.peek() == Some(&Sign::Char('{')),
            _ => false,
        };
        if backslash == Backslash::Doubled && (is_written || looks_written) {
            out.extend(std::iter::repeat_n('\\', backslashes));
        }
        backslashes = if sign == Sign::Char('\\') { backslashes + 1 } else { 0 };
        has_base = !is_written && sign != Sign::Char(' ');
        let _ = match sign {
            Sign::Char(character) if !is_written => {
                out.push(character);
                Ok(())
            }
            Sign::Char(character) => write!(out, "\\u{{{:X}}}", u32::from(character)),
            Sign::Surrogate(unit) => write!(out, "\\u{{{unit:X}}}"),
            Sign::Byte(byte) => write!(out, "\\x{byte:02X}"),
        };
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

/// A word quoted for a shell, as text that does not act on a terminal. If the word itself would act on one, the text
/// stands for another word.
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

/// JSON that says the same to a program, and in which nothing acts on a terminal, because humans look at it, too. JSON itself
/// escapes no more than the first 32 control characters.
pub fn shown_json(json: &str) -> Cow<'_, str> {
    // Line breaks stand between values; in a string there is none.
    let is_unseen = |character: char| character != '\n' && is_unseen(character);
    if !json.contains(|character| is_unseen(character) || is_mark(character)) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut has_base = false;
    for character in json.chars() {
        let is_written = is_unseen(character) || !has_base && is_mark(character);
        // A combining mark would go onto a space, a line break or a quotation mark.
        has_base = !is_written && !matches!(character, ' ' | '\n' | '"');
        if is_written {
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

/// Whether a character is a mark on the one before it.
pub(crate) fn is_mark(character: char) -> bool {
    !character.is_ascii() && is_in(&MARKS, character)
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

/// Symbols and letters that look like a blank: the braille pattern without dots, Egyptian blanks, a musical note without a
/// head, the filler of Khitan; and what stands for an object that is not there.
const BLANK: &str = r"\u{2800}\u{13441}\u{13442}\u{1D159}\u{16FE4}\u{FFFC}";

/// The general categories of controls, formats, separators and blanks, and of what has no meaning that all share: private
/// use and what is not assigned; what is ignored; and what looks like a blank.
static UNSEEN: LazyLock<Characters> = LazyLock::new(|| {
    characters(&format!(
        r"[[\p{{Cc}}\p{{Cf}}\p{{Co}}\p{{Cn}}\p{{Zl}}\p{{Zp}}\p{{Zs}}{BLANK}{IGNORABLE}]--\x20]"
    ))
});

static MARKS: LazyLock<Characters> = LazyLock::new(|| characters(r"\p{M}"));

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
    use super::{process_name, quoted, shown, shown_exactly, shown_json};
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
            0x1bca0, 0x1d173, 0xe0000, 0x301, 0x378, 0x20dd, 0xe000, 0xfdd0, 0xfffc, 0x13441, 0x16fe4,
            0x1d159, 0x1fffe, 0x2fa20, 0xf0000, 0x10ffff, 0xe0001, 0xe0020, 0xe007f, 0xe0080, 0xe0100,
            0xe01ef, 0xe0fff,
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
            "e\u{301}",
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
    fn a_mark_needs_a_letter_below_it() {
        for (text, expected) in [
            ("e\u{301}\u{302}", "e\u{301}\u{302}"),
            ("a \u{301}", r"a \u{301}"),
            ("\u{200b}\u{301}e", r"\u{200B}\u{301}e"),
            ("\u{17d2}\u{1780}", "\\u{17D2}\u{1780}"),
            ("\u{1780}\u{17d2}", "\u{1780}\u{17d2}"),
        ] {
            assert_eq!(
                (shown(text.as_bytes()), display_text(text.as_bytes())),
                (expected.into(), expected.into())
            );
        }
    }

    /// What is typed does not look like what is written out.
    #[test]
    fn the_text_stands_for_one_sequence_of_bytes() {
        for (text, expected) in [
            (&br"a\b\n c:\usr\"[..], r"a\b\n c:\usr\"),
            (br"\u{200B}", r"\\u{200B}"),
            (br"\\u{200B}", r"\\\\u{200B}"),
            (br"\xFF \x", r"\\xFF \\x"),
            (b"\xff", r"\xFF"),
            (b"\\\xff", r"\\\xFF"),
            ("\\\u{200b}".as_bytes(), r"\\\u{200B}"),
            (b"\\u", r"\u"),
        ] {
            assert_eq!(shown_exactly(text), expected);
            assert_eq!(display_text(text), expected);
        }
    }

    proptest::proptest! {
        /// Whatever is shown can be read back.
        #[test]
        fn no_two_texts_look_alike(
            one in "[\\\\xu{}0B \u{200b}\u{301}]{0,8}", other in "[\\\\xu{}0B \u{200b}\u{301}]{0,8}",
        ) {
            let shown = [&one, &other].map(|text| shown_exactly(text.as_bytes()));
            proptest::prop_assert_eq!(shown[0] == shown[1], one == other);
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
        let value = serde_json::json!({"a": "\u{301}x\u{202e}y\u{9b}\u{7f}\u{1b}\u{e0001}日本\n", "b": [1]});
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
