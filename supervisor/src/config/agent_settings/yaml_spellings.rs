//! YAML that its readers accept and the parser does not, or that they read in another way than the parser.

use super::json_escapes::surrogates;
use super::settings_words::words_of;

/// The characters that end a line in YAML 1.1, which PyYAML reads, but not in YAML 1.2.
pub const OLDER_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Returns the texts that other readers may take a text for. A line may end as in YAML 1.1. Blanks may replace the tabs
/// before a line: Claude Code does that with a text that does not parse. Escaped halves of characters of UTF-16 may be
/// replaced. The first of the texts is the text itself.
pub fn spellings(text: &str) -> Vec<String> {
    let mut found = vec![text.to_owned()];
    let mut add = |read: &dyn Fn(&str) -> String| {
        for at in 0..found.len() {
            let changed = read(&found[at]);
            if !found.contains(&changed) {
                found.push(changed);
            }
        }
    };
    add(&|text| text.replace(OLDER_BREAKS, "\n"));
    add(&|text| text.split_inclusive('\n').map(without_tabs).collect());
    add(&without_surrogates);
    found
}

/// A line with two blanks for each tab at its beginning.
fn without_tabs(line: &str) -> String {
    let rest = line.trim_start_matches([' ', '\t']);
    line[..line.len() - rest.len()].replace('\t', "  ") + rest
}

/// Replaces escaped surrogates, because the parser knows no pairs: each pair becomes its character, and each half
/// without the other becomes U+FFFD.
fn without_surrogates(text: &str) -> String {
    let (mut result, mut rest) = (String::with_capacity(text.len()), 0);
    for (place, letter) in surrogates(text) {
        result += &text[rest..place.start];
        result.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = place.end;
    }
    result + &text[rest..]
}

/// Returns the words that may be paths of a text that the parser does not read to its end.
pub fn all_words(text: &str) -> Vec<String> {
    words_of(&decoded(text))
}

/// The keys below which the front matter of Markdown starts programs.
const STARTING_KEYS: [&str; 3] = ["hooks", "mcpServers", "command"];

/// As [`all_words`], for the front matter of Markdown, which people often write as no YAML. There are words only if the text
/// has a key that starts a program, and signs by which a reader may take another value than its lines show.
pub fn hidden_words(front: &str) -> Vec<String> {
    let decoded = decoded(front);
    let is_complex = has_complex_key(&decoded);
    let is_key = |before: &str, after: &str| {
        let word_before = before.trim_end_matches(['"', '\'']);
        let is_anchored = word_before.ends_with(char::is_whitespace)
            && word_before.split_whitespace().next_back().is_some_and(|word| word.starts_with('&'));
        let after = after.trim_start_matches(['"', '\'', ' ', '\t', '\r', '\n']);
        is_complex || is_anchored || after.starts_with(':')
    };
    let starts = STARTING_KEYS.iter().any(|key| {
        decoded.match_indices(key).any(|(at, key)| is_key(&decoded[..at], &decoded[at + key.len()..]))
    });
    if starts && hides(front) { words_of(&decoded) } else { Vec::new() }
}

/// Whether a line, a list or a table begins with the sign of a complex key. Between such a key and its colon, there may be
/// comments.
fn has_complex_key(text: &str) -> bool {
    text.match_indices('?').any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\t']);
        let begins = before.is_empty() || before.ends_with(['\n', '\r', '[', '{', ',', '-']);
        begins && text[at + 1..].chars().next().is_none_or(char::is_whitespace)
    })
}

/// Whether there is an alias, an anchor, a tag, a complex key, a list or a table in brackets, or an escape.
fn hides(text: &str) -> bool {
    let mut before = '\n';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins = before.is_whitespace() || "[{,:-(".contains(before);
        let next = letters.peek();
        let hides = match letter {
            '*' | '&' | '!' => begins && next.is_some_and(|next| !next.is_whitespace()),
            '?' | '[' | '{' => begins,
            '\\' => true,
            letter => OLDER_BREAKS.contains(&letter),
        };
        if hides {
            return true;
        }
        before = letter;
    }
    false
}

/// The text with a character for each escape that stands for one, and without escaped ends of lines.
fn decoded(text: &str) -> String {
    let text = without_surrogates(text);
    let (mut result, mut rest) = (String::with_capacity(text.len()), &*text);
    while let Some(at) = rest.find('\\') {
        result += &rest[..at];
        let after = &rest[at + 1..];
        let digits = match after.as_bytes().first() {
            Some(b'x') => 2,
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => 0,
        };
        let letter = after
            .get(1..=digits)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32);
        rest = match (
            letter,
            after.strip_prefix('/'),
            after.strip_prefix(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']),
        ) {
            (Some(letter), ..) => {
                result.push(letter);
                &after[digits + 1..]
            }
            (_, Some(rest), _) => {
                result.push('/');
                rest
            }
            (.., Some(rest)) => rest.trim_start(),
            // Any other escape stands between words.
            _ => {
                result.push(' ');
                after.chars().next().map_or(after, |letter| &after[letter.len_utf8()..])
            }
        };
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_spelled_as_its_readers_do() {
        assert_eq!(spellings("a: b"), ["a: b"]);
        assert_eq!(spellings("a\u{85}b"), ["a\u{85}b", "a\nb"]);
        assert_eq!(spellings("a:\n\t- \tb"), ["a:\n\t- \tb", "a:\n  - \tb"]);
        let pairs = [
            (r"\ud83d\ude00", "\u{1f600}"),
            (r"\ud83d", "\u{fffd}"),
            (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
            (r"\u00e9\u12", r"\u00e9\u12"),
            (r"\ud83d\u0041", r"�\u0041"),
        ];
        for (text, expected) in pairs {
            assert_eq!(without_surrogates(text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_taken_where_lines_hide_them() {
        for text in [
            "c: *x\nx: &x ./a.sh",
            "x: \".\\x2fa.sh\"",
            "x: \"./\\\n  a.sh\"",
            "x: \"./\\\ra.sh\"",
            "x: \".\\/a.sh\\u0020\"",
            "x: \"bash\\t./a.sh\"",
            "x: [{a: ./a.sh}]",
            "? x\n: ./a.sh",
            "!!str x: ./a.sh",
            "x: [\n./a.sh]",
            "x: &-c ./a.sh",
        ] {
            assert!(all_words(text).contains(&"./a.sh".to_owned()), "{text}: {:?}", all_words(text));
            let front = format!("\"hook\\x73\": a\n{text}");
            assert!(
                hidden_words(&front).contains(&"./a.sh".to_owned()),
                "{front}: {:?}",
                hidden_words(&front)
            );
            assert_eq!(hidden_words(text), Vec::<String>::new(), "{text}");
        }
        for text in [
            "description: Use it: ./a.sh, for \"x\"!",
            "description: [React hooks](./a.sh)\nb: c: d",
            "hooks: ./a.sh b: c",
        ] {
            assert_eq!(hidden_words(text), Vec::<String>::new(), "{text}");
        }
    }

    /// Each write below a project waits for this.
    #[test]
    fn a_comment_or_an_anchor_does_not_hide_a_key() {
        for text in [
            "? hooks # c\n:\n  - \"\\x2e/a.sh\"",
            "? # c\n  hooks # c\n:\n  - ./a.sh",
            "x: {? hooks # c\n : [./a.sh]}",
            "x: &k hooks\n*k : [./a.sh]",
            "x: &k \"hooks\"\n*k : [./a.sh]",
        ] {
            assert!(hidden_words(text).contains(&"./a.sh".to_owned()), "{text}: {:?}", hidden_words(text));
        }
        for text in ["Why? hooks [./a.sh]", "Which one?\n- the hooks [./a.sh]"] {
            assert_eq!(hidden_words(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn long_texts_are_read_once() {
        for part in ["? ", "hooks", "&hooks ", "?a", "- ", "[ ", "{a", "\t?", "\\x", "hooks\"", "hooks "] {
            let text = part.repeat((1 << 20) / part.len());
            assert!(hidden_words(&text).is_empty() && all_words(&text).is_empty(), "{part}");
        }
    }
}
