//! Escapes in the strings of JSON.

/// Where in a text of JSON escapes of four digits begin, each with its number. In JSON there is no backslash out of strings.
fn escapes(text: &str) -> impl Iterator<Item = (usize, u16)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        loop {
            let at = next + text.get(next..)?.find('\\')?;
            next = at + 2;
            let digits = text.get(next..next + 4).filter(|_| text.as_bytes()[at + 1] == b'u');
            if let Some(number) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
                next += 4;
                return Some((at, number));
            }
        }
    })
}

/// Returns the text with U+FFFD for each half of a surrogate pair without the other half; none if there is no such half.
pub fn without_lone_surrogates(text: &str) -> Option<String> {
    let all: Vec<_> = escapes(text).collect();
    let is_follower = |at: usize, number: u16| {
        matches!(all.get(at), Some((_, 0xdc00..=0xdfff))) && (0xd800..0xdc00).contains(&number)
    };
    let (mut changed, mut at) = (text.to_owned(), 0);
    while let Some(&(place, number)) = all.get(at) {
        let is_next = all.get(at + 1).is_some_and(|(next, _)| *next == place + 6);
        if is_next && is_follower(at + 1, number) {
            at += 2;
            continue;
        }
        if (0xd800..0xe000).contains(&number) {
            changed.replace_range(place..place + 6, "\\ufffd");
        }
        at += 1;
    }
    (changed != text).then_some(changed)
}

/// Returns a text that may be JSON with the characters that its escapes stand for.
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
            (r"\ud800", Some(r"\ufffd")),
            (r"\udc00\ud800", Some(r"\ufffd\ufffd")),
            (r"\ud83d\ude00", None),
            (r"\ud83d \ude00", Some(r"\ufffd \ufffd")),
            (r"\ud800\ud83d\ude00", Some(r"\ufffd\ud83d\ude00")),
            (r"\\ud800", None),
            (r"\\\ud800", Some(r"\\\ufffd")),
            (r"\u002e\", None),
            (r"\u12", None),
            ("\\é", None),
        ] {
            assert_eq!(without_lone_surrogates(text).as_deref(), expected, "{text}");
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
