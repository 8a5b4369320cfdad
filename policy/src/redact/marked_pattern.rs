//! Patterns that are compiled only when a text could match them. Most commands contain no secret, and compiling all
//! patterns would take longer than a short program runs.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

/// A pattern, and what each of its matches contains.
#[derive(Debug)]
pub(super) struct MarkedPattern {
    /// Every match contains one of these marks, in whichever case. The marks are in lower case and ASCII.
    marks: &'static [&'static str],
    /// The group `s` is the secret. `VALUE` stands for [`VALUE`].
    pattern: &'static str,
    compiled: OnceLock<Regex>,
}

/// Characters of a token, key or password that is recognised by its name or position.
const VALUE: &str = "[A-Za-z0-9_.+/=~@%:,-]+";

impl MarkedPattern {
    pub(super) const fn new(marks: &'static [&'static str], pattern: &'static str) -> MarkedPattern {
        MarkedPattern { marks, pattern, compiled: OnceLock::new() }
    }

    fn regex(&self) -> &Regex {
        let compile = || Regex::new(&self.pattern.replace("VALUE", VALUE)).expect("the patterns are tested");
        self.compiled.get_or_init(compile)
    }

    fn secrets<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let captures = self.regex().captures_iter(text);
        captures.filter_map(|captures| captures.name("s").map(|secret| secret.range()))
    }
}

/// Finds all secrets of these patterns, in no order.
pub(super) fn find_all(patterns: &'static [MarkedPattern], text: &str) -> Vec<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    // Some letters outside of ASCII are another case of an ASCII letter (U+212A of k), and patterns match them.
    let is_possible =
        |pattern: &&MarkedPattern| !text.is_ascii() || pattern.marks.iter().any(|mark| lower.contains(mark));
    patterns.iter().filter(is_possible).flat_map(|pattern| pattern.secrets(text)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::redact::{PATTERNS, secrets};

    /// Pieces of which texts that match are made.
    const PIECES: [&str; 40] = [
        "KEY",
        "API_KEY",
        "apiKey",
        "api-key",
        "TOKEN",
        "Token",
        "SECRET",
        "sEcret",
        "PASSWORD",
        "passwd",
        "=",
        ":",
        "--",
        "\"",
        "'",
        " ",
        "&",
        "?",
        "X-",
        "Authorization",
        "Bearer ",
        "bearer",
        "Basic",
        "cookie",
        "://",
        "@",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "sk-",
        "pplx_",
        "gsk-",
        "xapp-",
        "ghp_",
        "github_pat_",
        "npm_",
        "hf_",
        "xoxb-",
        "AIza",
        "glpat-",
        "eyJ",
    ];

    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
            1 => "[a-zA-Z0-9._-]{1,24}",
            1 => Just("123456".to_owned()),
            1 => Just("abcdefgh.abcdefgh.abcdefgh".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn every_match_contains_a_mark(pieces in prop::collection::vec(piece(), 1..8)) {
            let text = pieces.concat();
            for patterns in [&secrets::PATTERNS[..], &PATTERNS] {
                let all: Vec<_> = patterns.iter().flat_map(|pattern| pattern.secrets(&text)).collect();
                prop_assert_eq!(find_all(patterns, &text), all);
            }
        }
    }

    #[test]
    fn a_letter_of_another_script_hides_no_secret() {
        // U+212A is the upper case of k, U+017F a lower case of S.
        for text in ["to\u{212a}en: abcdef", "\u{17f}ecret=abcdef"] {
            assert_eq!(find_all(&PATTERNS, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_pattern_is_compiled_when_it_is_needed() {
        static ALONE: [MarkedPattern; 1] = [MarkedPattern::new(&["key"], "KEY=(?<s>VALUE)")];
        assert!(find_all(&ALONE, "true").is_empty() && ALONE[0].compiled.get().is_none());
        assert_eq!(find_all(&ALONE, "KEY=abc").first(), Some(&(4..7)));
    }
}
