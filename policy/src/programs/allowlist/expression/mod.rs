//! ECMAScript regular expressions without flags, limited to the part that needs no backtracking: look-around
//! and back-references are refused.
//!
//! ECMAScript sees UTF-16 code units, so patterns and subjects are converted: each unit becomes one
//! character, a surrogate becomes one of plane 16. The regex crate then matches them in linear time.

mod translate;
mod units;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, Look};

use super::backtracking;
use translate::Translator;

/// The maximum size of a compiled expression, in bytes. What operators write needs a few kilobytes.
const SIZE_LIMIT: usize = 1 << 20;

/// Compiles a pattern. Returns `None` for an invalid expression, for one that needs backtracking, and for one
/// on which a backtracking engine could take forever: OpenClaw refuses those too (commit 3f68dc64).
pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    let units: Vec<u16> = pattern.encode_utf16().collect();
    let translated = Translator::new(&units).translate()?;
    let syntax = regex_syntax::ParserBuilder::new().utf8(false).build().parse(&translated).ok()?;
    if backtracking::is_prone(&syntax) || may_match_inside_characters(&syntax) {
        return None;
    }
    RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT).build().ok()
}

/// Returns true if an expression contains `\B` and can match the empty text. The position between two bytes of one
/// character is no word boundary either, so an empty match may be there.
fn may_match_inside_characters(syntax: &Hir) -> bool {
    let properties = syntax.properties();
    properties.minimum_len() == Some(0) && properties.look_set().contains(Look::WordAsciiNegate)
}

/// Converts a subject to the characters that expressions match.
pub(crate) fn subject(text: &str) -> String {
    text.encode_utf16().map(character).collect()
}

/// The first of the characters of plane 16 that stand for surrogates. A subject has none of its own: they are
/// split into surrogates too.
const SURROGATES: u32 = 0x10_0000;

fn character(unit: u16) -> char {
    let unit = u32::from(unit);
    let code = if (0xd800..0xe000).contains(&unit) { SURROGATES + unit - 0xd800 } else { unit };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(pattern: &str, text: &str) -> Option<bool> {
        compile(pattern).map(|regex| regex.is_match(subject(text).as_bytes()))
    }

    /// Computed with Node 20: `new RegExp(pattern).test(text)`.
    #[test]
    fn expressions_match_as_ecmascript_without_flags() {
        let cases = [
            ("b", "abc", true),
            ("^b", "abc", false),
            ("^abc$", "abc\n", false),
            ("a.c", "a\nc", false),
            ("a.c", "a\u{2028}c", false),
            ("^..$", "😀", true),
            ("^.$", "😀", false),
            ("^[^x]$", "😀", false),
            ("^😀$", "😀", true),
            (r"^\ud83d", "😀", true),
            (r"^[\u0000-\uffff]{2}$", "😀", true),
            (r"^\w+$", "é", false),
            (r"^\d$", "٣", false),
            (r"^\s$", "\u{a0}", true),
            (r"\bfoo\b", "a foo b", true),
            (r"\bfoo\b", "éfoo", true),
            (r"^\/usr\/bin$", "/usr/bin", true),
            (r"^\-\-all\ x$", "--all x", true),
            (r"^\e$", "e", true),
            (r"^\a$", "a", true),
            (r"^[\b]$", "\u{8}", true),
            (r"^[a\-z]$", "-", true),
            (r"^[a\-z]$", "b", false),
            ("^[a-]$", "-", true),
            (r"^[\w-.]$", "-", true),
            ("^[[a]$", "[", true),
            ("^[a&&b]$", "&", true),
            ("^[a~~b-c]$", "~", true),
            ("[]", "a", false),
            ("^[^]$", "\n", true),
            ("^a{2}$", "aa", true),
            ("^a{,2}$", "a{,2}", true),
            ("^a{$", "a{", true),
            ("^}]$", "}]", true),
            ("^x{1,2}?$", "xx", true),
            ("^(?:a|b)(?<n>c)$", "ac", true),
            ("^()$", "", true),
            ("a||b", "", true),
            (r"^\x41\u0042\t$", "AB\t", true),
            (r"^\0$", "\0", true),
            (r"^\u{41}$", "u".repeat(41).leak(), true),
            (r"[^\W]", "\u{e000}", false),
            (r"[^\D]|[^\S]", "\u{d7ff}\u{e000}", false),
            (r"^[^a]{3}$", "\u{d7ff}\u{e000}\u{ffff}", true),
            (r"^[^\S\W\d]$", "é", false),
            (r"^[^b-da-c]$", "d", false),
            (r"x\By", "xy", true),
            (r"\B.", "aéa", false),
            ("", "anything", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(test(pattern, text), Some(expected), "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn invalid_and_backtracking_expressions_are_refused() {
        for pattern in [
            "[",
            "(",
            ")",
            "a)",
            "*",
            "+a",
            "a**",
            "a++",
            "^*",
            r"\b+",
            "{2}",
            "a{2}{3}",
            "a{3,2}",
            "[z-a]",
            "\\",
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            "(?<!a)",
            r"(a)\1",
            r"(?<n>a)\k<n>",
            "(?i)a",
            "(?i:a)",
            "(?P<n>a)",
            "(?<>a)",
            "(?<n>a)(?<n>b)",
            // ECMAScript does not match "aéa"; see may_match_inside_characters.
            r"\B",
            r"(?:x|\B)y?",
            "(?x)",
            r"\p{L}",
            r"\01",
            "a{1001}",
            "(a{1000}){1000}",
        ] {
            assert!(compile(pattern).is_none(), "{pattern:?}");
        }
        let deep = "(".repeat(100_000) + &")".repeat(100_000);
        assert!(compile(&deep).is_none());
    }

    /// A backtracking engine would take years.
    #[test]
    fn hard_expressions_are_matched_in_linear_time() {
        let pattern = format!("^{}{}$", "a?".repeat(60), "a".repeat(60));
        assert_eq!(test(&pattern, &"a".repeat(60)), Some(true));
        assert_eq!(test(&pattern, &"a".repeat(59)), Some(false));
        assert_eq!(test("^(a|b|ab)+$", &("ab".repeat(5_000) + "c")), Some(false));
    }
}
