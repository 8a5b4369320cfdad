//! Formats a command for the person who approves it: no hidden characters, no terminal control, no secrets.

use std::ops::Range;

use super::secrets;
use crate::text::{Backslash, Sign, is_mark, is_unseen, is_widthless, write_out};

/// A longer text is not shown at all. In UTF-16 units, as OpenClaw counts.
const MAX_INPUT: usize = 262_144;

/// A longer text is truncated to this length. In UTF-16 units.
const MAX_OUTPUT: usize = 16_384;

/// Marks the end of a truncated text.
pub const TRUNCATED: &str = "…[truncated]";
/// Replaces a text that is too long to show.
pub const OVERSIZED: &str = "[exec approval command exceeds display size limit; full text suppressed]";

/// A secret shorter than this is masked completely. A longer one shows its first 6 and last 4 characters.
const MIN_SHOWN_SECRET: usize = 18;

/// Formats a text for display: at most 16,384 UTF-16 units, and a mark if it was truncated.
///
/// The text is UTF-8. Lone surrogates, which JSON and JavaScript allow and Rust's strings do not, are recognised in the
/// form that UTF-8 would give them (WTF-8), and are shown as `\u{D800}`. Other bytes, which OpenClaw cannot receive, are
/// shown as `\xFF`.
pub fn display_text(text: &[u8]) -> String {
    let signs = signs(text);
    if signs.iter().map(|sign| sign.units()).sum::<usize>() > MAX_INPUT {
        return OVERSIZED.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut shown = 0;
    for secret in hidden(&signs) {
        write_out(signs[shown..secret.start].iter().copied(), Backslash::Doubled, &mut out);
        out.push_str(&masked(&signs[secret.clone()]));
        shown = secret.end;
    }
    write_out(signs[shown..].iter().copied(), Backslash::Doubled, &mut out);
    truncated(out)
}

impl Sign {
    fn units(self) -> usize {
        match self {
            Sign::Char(character) => character.len_utf16(),
            _ => 1,
        }
    }

    /// The character that stands for this sign in the search. A surrogate or a byte becomes a character that is not
    /// part of a word.
    fn searched(self) -> char {
        match self {
            Sign::Char(character) => character,
            _ => char::REPLACEMENT_CHARACTER,
        }
    }

    fn is(self, kind: impl FnOnce(char) -> bool) -> bool {
        matches!(self, Sign::Char(character) if kind(character))
    }
}

fn signs(text: &[u8]) -> Vec<Sign> {
    let mut signs = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(chunk) = rest.utf8_chunks().next() {
        signs.extend(chunk.valid().chars().map(Sign::Char));
        rest = &rest[chunk.valid().len()..];
        match *rest {
            [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ref after @ ..] => {
                signs.push(Sign::Surrogate(0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f)));
                rest = after;
            }
            [byte, ref after @ ..] => {
                signs.push(Sign::Byte(byte));
                rest = after;
            }
            [] => {}
        }
    }
    signs
}

/// Finds the secrets. Searches the text as written and again without zero-width characters, which could otherwise hide
/// a secret from the search.
fn hidden(signs: &[Sign]) -> Vec<Range<usize>> {
    let mut hidden = hidden_among(signs, (0..signs.len()).collect());
    let visible: Vec<usize> = (0..signs.len()).filter(|at| !signs[*at].is(is_widthless)).collect();
    if visible.len() < signs.len() {
        hidden.extend(hidden_among(signs, visible));
    }
    secrets::apart(hidden)
}

/// Finds the secrets in the text formed by the signs at `indices`.
fn hidden_among(signs: &[Sign], indices: Vec<usize>) -> Vec<Range<usize>> {
    let mut text = String::with_capacity(indices.len());
    // For each byte of the text, the index of its sign.
    let mut index_of = Vec::with_capacity(indices.len());
    for index in indices {
        text.push(signs[index].searched());
        index_of.resize(text.len(), index);
    }
    let found = secrets::find(&text).into_iter();
    found.map(|secret| index_of[secret.start]..index_of[secret.end - 1] + 1).collect()
}

fn masked(secret: &[Sign]) -> String {
    let is_plain = secret
        .iter()
        .all(|sign| matches!(sign, Sign::Char(_)) && !sign.is(|c| is_unseen(c) || is_mark(c) || c == '\\'));
    if !is_plain || secret.len() < MIN_SHOWN_SECRET {
        return "***".to_owned();
    }
    let text = |signs: &[Sign]| signs.iter().map(|sign| sign.searched()).collect::<String>();
    format!("{}…{}", text(&secret[..6]), text(&secret[secret.len() - 4..]))
}

fn truncated(mut text: String) -> String {
    let mut units = 0;
    let end = text.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > MAX_OUTPUT
    });
    if let Some((end, _)) = end {
        text.truncate(end);
        text.push_str(TRUNCATED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_shown() {
        let cases: [(&[u8], &str); 6] = [
            ("date\u{3164}\u{ffa0}\u{115f}가".as_bytes(), r"date\u{3164}\u{FFA0}\u{115F}가"),
            (b"\xed\xa0\xbd", r"\u{D83D}"),
            (b"\xed\xbf\xbf\xed\xa0", r"\u{DFFF}\xED\xA0"),
            (b"a\xffb\xc3", r"a\xFFb\xC3"),
            (b"\0\x7f\xc2\x85", r"\u{0}\u{7F}\u{85}"),
            (b"", ""),
        ];
        for (text, shown) in cases {
            assert_eq!(display_text(text), shown);
        }
    }

    #[test]
    fn invisible_characters_do_not_hide_a_secret() {
        assert_eq!(display_text("echo sk-abc\u{200b}defghijkl".as_bytes()), "echo ***");
        assert_eq!(display_text("x\u{200b}sk-abcdefghijklm".as_bytes()), r"x\u{200B}***");
        // A line break also ends a word for the shell: the rest is the next command.
        assert_eq!(display_text(b"TOKEN=abc\nrm -rf /"), r"TOKEN=***\u{A}rm -rf /");
    }

    #[test]
    fn long_secrets_show_their_ends() {
        assert_eq!(display_text(b"TOKEN=12345678901234567"), "TOKEN=***");
        assert_eq!(display_text(b"TOKEN=123456789012345678"), "TOKEN=123456…5678");
        assert_eq!(
            display_text("Bearer aaaaaa\u{212a}\u{212a}\u{212a}aaaaaaaaaaaaaaaa".as_bytes()).chars().count(),
            18
        );
    }

    #[test]
    fn long_texts_are_cut_and_longer_ones_withheld() {
        let of = |count: usize| display_text(&vec![b'x'; count]);
        assert_eq!(of(MAX_OUTPUT).len(), MAX_OUTPUT);
        assert_eq!(of(MAX_OUTPUT + 1), "x".repeat(MAX_OUTPUT) + TRUNCATED);
        assert_eq!(of(MAX_INPUT), "x".repeat(MAX_OUTPUT) + TRUNCATED);
        assert_eq!(of(MAX_INPUT + 1), OVERSIZED);
        let pair = "a".repeat(MAX_OUTPUT - 1) + "😀tail";
        assert_eq!(display_text(pair.as_bytes()), "a".repeat(MAX_OUTPUT - 1) + TRUNCATED);
        assert_eq!(display_text("😀".repeat(MAX_INPUT / 2 + 1).as_bytes()), OVERSIZED);
    }
}
