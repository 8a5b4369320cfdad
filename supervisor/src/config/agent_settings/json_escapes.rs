//! Escapes in the strings of JSON.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

/// Returns where escapes of four digits begin in a text of JSON, each with its number. JSON has backslashes only in
/// strings.
fn escapes(text: &str) -> impl Iterator<Item = (usize, u16)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        loop {
            let at = next + memchr(b'\\', text.as_bytes().get(next..)?)?;
            next = at + 2;
            let digits = text.get(next..next + 4).filter(|_| text.as_bytes()[at + 1] == b'u');
            if let Some(number) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
                next += 4;
                return Some((at, number));
            }
        }
    })
}

/// Returns where escaped surrogates are: each pair with its character, and each half without the other half.
pub fn surrogates(text: &str) -> impl Iterator<Item = (Range<usize>, Option<char>)> {
    let mut escapes = escapes(text).peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, number) = escapes.next()?;
            let is_second = |(next, _): &(usize, u16)| *next == at + 6;
            let both = escapes.peek().filter(|second| is_second(second)).map(|(_, second)| [number, *second]);
            let pair = both.filter(|_| (0xd800..0xdc00).contains(&number));
            match pair.and_then(|both| char::decode_utf16(both).next()?.ok()) {
                Some(letter) => {
                    escapes.next();
                    return Some((at..at + 12, Some(letter)));
                }
                None if (0xd800..0xe000).contains(&number) => return Some((at..at + 6, None)),
                None => {}
            }
        }
    })
}

/// Returns the text with U+FFFD for each half of a surrogate pair without the other half.
pub fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut changed = Cow::Borrowed(text);
    for (half, _) in surrogates(text).filter(|(_, letter)| letter.is_none()) {
        changed.to_mut().replace_range(half, "\\ufffd");
    }
    changed
}

/// Returns a text that may be JSON, with each escape replaced by the character that it stands for.
pub fn decoded(text: &str) -> String {
    let (mut result, mut rest) = (String::with_capacity(text.len()), 0);
    for (at, number) in escapes(text) {
        if let Some(letter) = char::from_u32(number.into()) {
            result += &text[rest..at];
            result.push(letter);
            rest = at + 6;
        }
    }
    result += &text[rest..];
    result.replace("\\/", "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced() {
        for (text, expected) in [
            (r"\ud800", r"\ufffd"),
            (r"\udc00\ud800", r"\ufffd\ufffd"),
            (r"\ud83d\ude00", r"\ud83d\ude00"),
            (r"\ud83d \ude00", r"\ufffd \ufffd"),
            (r"\ud800\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\\ud800", r"\\ud800"),
            (r"\\\ud800", r"\\\ufffd"),
            (r"\u002e\", r"\u002e\"),
            (r"\u12", r"\u12"),
            (r"\é\ud800", r"\é\ufffd"),
            ("\\é", "\\é"),
        ] {
            assert_eq!(without_lone_surrogates(text), expected, "{text}");
        }
    }

    #[test]
    fn escapes_are_decoded() {
        for (text, expected) in [
            (r"\u002e\/a\u002F", "./a/"),
            (r"\\u002e", r"\\u002e"),
            (r"\ud800.", r"\ud800."),
            ("\\", "\\"),
            ("é", "é"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }
}
