//! Regular expressions of ECMAScript, without flags, for the part of them that needs no
//! back-tracking: look-around and back-references are refused.
//!
//! ECMAScript sees UTF-16 code units, so patterns and subjects are taken as such: each unit becomes
//! one character, a surrogate one of plane 16, where the regex crate can match it in linear time.

use std::collections::BTreeSet;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, Look};

use super::backtracking;

/// What a compiled expression may occupy. What operators write needs a few kilobytes.
const SIZE_LIMIT: usize = 1 << 20;

/// Compiles a pattern. `None` for what is no expression of ECMAScript, for what would need
/// back-tracking, and for what a back-tracking engine could take forever on: OpenClaw refuses those
/// too (commit 3f68dc64).
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    let units: Vec<u16> = pattern.encode_utf16().collect();
    let translated =
        Translator { units: &units, at: 0, names: BTreeSet::new(), out: String::new() }.translate()?;
    let syntax = regex_syntax::ParserBuilder::new().utf8(false).build().parse(&translated).ok()?;
    if backtracking::is_prone(&syntax) || may_match_inside_characters(&syntax) {
        return None;
    }
    RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT).build().ok()
}

/// True for a `\B` in what can match nothing: between the bytes of one character there is no end of a word either,
/// and a match that takes no character may lie there.
fn may_match_inside_characters(syntax: &Hir) -> bool {
    let properties = syntax.properties();
    properties.minimum_len() == Some(0) && properties.look_set().contains(Look::WordAsciiNegate)
}

/// A subject as the expressions see it.
pub(super) fn subject(text: &str) -> String {
    text.encode_utf16().map(character).collect()
}

/// Where surrogates go: characters of plane 16, which a subject has none of, being cut into
/// surrogates itself.
const SURROGATES: u32 = 0x10_0000;

fn character(unit: u16) -> char {
    let unit = u32::from(unit);
    let code = if (0xd800..0xe000).contains(&unit) { SURROGATES + unit - 0xd800 } else { unit };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

type Set = Vec<(u16, u16)>;

const DIGITS: &[(u16, u16)] = &[(0x30, 0x39)];
const WORDS: &[(u16, u16)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
/// WhiteSpace and LineTerminator (ECMA-262, 12.2 and 12.3), in order.
const SPACES: &[(u16, u16)] = &[
    (0x09, 0x0d),
    (0x20, 0x20),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x2028, 0x2029),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    (0xfeff, 0xfeff),
];
/// What `.` does not match.
const LINE_ENDS: &[(u16, u16)] = &[(0x0a, 0x0a), (0x0d, 0x0d), (0x2028, 0x2029)];

/// The same units in ranges that are in order and apart.
fn ordered(mut set: Set) -> Set {
    set.sort_unstable();
    let mut apart = Set::new();
    for (low, high) in set {
        match apart.last_mut() {
            Some((_, end)) if low <= end.saturating_add(1) => *end = high.max(*end),
            _ => apart.push((low, high)),
        }
    }
    apart
}

/// All units that are in none of these ranges, which are in order and apart.
fn complement(set: &[(u16, u16)]) -> Set {
    let (mut rest, mut next) = (Set::new(), Some(0u16));
    for (low, high) in set {
        if let Some(start) = next.filter(|start| start < low) {
            rest.push((start, low - 1));
        }
        next = high.checked_add(1);
    }
    rest.extend(next.map(|start| (start, u16::MAX)));
    rest
}

/// What an escape stands for.
enum Escape {
    Unit(u16),
    Set(Set),
}

struct Translator<'p> {
    units: &'p [u16],
    at: usize,
    /// Of groups.
    names: BTreeSet<&'p [u16]>,
    out: String,
}

impl<'p> Translator<'p> {
    fn peek(&self) -> Option<u16> {
        self.units.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u16> {
        let unit = self.peek()?;
        self.at += 1;
        Some(unit)
    }

    /// Skips this text if it comes next.
    fn skip(&mut self, text: &str) -> bool {
        let is_next = text.bytes().enumerate().all(|(i, b)| self.units.get(self.at + i) == Some(&b.into()));
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn unit(&mut self, unit: u16) {
        self.out.push_str(&format!("\\x{{{:x}}}", u32::from(character(unit))));
    }

    fn translate(mut self) -> Option<String> {
        let mut open = 0usize;
        // Whether a quantifier may follow.
        let mut is_atom = false;
        while let Some(unit) = self.next() {
            let ascii = u8::try_from(unit).unwrap_or(0);
            is_atom = match ascii {
                b'^' | b'$' | b'|' => {
                    self.out.push(char::from(ascii));
                    false
                }
                b'(' => {
                    self.group()?;
                    open += 1;
                    false
                }
                b')' => {
                    open = open.checked_sub(1)?;
                    self.out.push(')');
                    true
                }
                b'*' | b'+' | b'?' if is_atom => {
                    self.out.push(char::from(ascii));
                    self.lazy();
                    false
                }
                b'*' | b'+' | b'?' => return None,
                b'{' => match self.bounds() {
                    Some(bounds) if is_atom => {
                        self.out.push_str(&bounds?);
                        self.lazy();
                        false
                    }
                    Some(_) => return None,
                    None => {
                        self.unit(unit);
                        true
                    }
                },
                b'.' => {
                    self.set(&complement(LINE_ENDS));
                    true
                }
                b'[' => {
                    self.class()?;
                    true
                }
                b'\\' if self.skip("b") => {
                    self.out.push_str(r"(?-u:\b)");
                    false
                }
                b'\\' if self.skip("B") => {
                    self.out.push_str(r"(?-u:\B)");
                    false
                }
                b'\\' => {
                    match self.escape()? {
                        Escape::Unit(unit) => self.unit(unit),
                        Escape::Set(set) => self.set(&set),
                    }
                    true
                }
                _ => {
                    self.unit(unit);
                    true
                }
            };
        }
        (open == 0).then_some(self.out)
    }

    /// After an opening parenthesis. Nothing refers back, so no group has to capture.
    fn group(&mut self) -> Option<()> {
        self.out.push_str("(?:");
        if !self.skip("?") || self.skip(":") {
            return Some(());
        }
        // Look-behind fails here too: its = or ! is no name.
        let is_name = |unit: u16| u8::try_from(unit).is_ok_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        let start = self.at;
        if !self.skip("<") || self.peek().is_some_and(|unit| (0x30..=0x39).contains(&unit)) {
            return None;
        }
        while self.peek().is_some_and(is_name) {
            self.at += 1;
        }
        let name = &self.units[start + 1..self.at];
        (!name.is_empty() && self.skip(">") && self.names.insert(name)).then_some(())
    }

    fn lazy(&mut self) {
        if self.skip("?") {
            self.out.push('?');
        }
    }

    /// After an opening brace: the bounds, if that is what it opens; `Some(None)` for bounds that
    /// make no sense or are too large.
    #[expect(clippy::option_option, reason = "no bounds at all are a literal brace")]
    fn bounds(&mut self) -> Option<Option<String>> {
        let start = self.at;
        let low = self.number();
        let comma = self.skip(",");
        let high = self.number();
        if low.is_none() || !self.skip("}") || (!comma && high.is_some()) {
            self.at = start;
            return None;
        }
        let bound = |digits: &str| digits.parse::<u16>().ok().filter(|n| *n <= 1000);
        let (low, high) = (bound(&low?), high.map(|digits| bound(&digits)));
        Some(match (low, high) {
            (Some(low), None) if comma => Some(format!("{{{low},}}")),
            (Some(low), None) => Some(format!("{{{low}}}")),
            (Some(low), Some(Some(high))) if low <= high => Some(format!("{{{low},{high}}}")),
            _ => None,
        })
    }

    fn number(&mut self) -> Option<String> {
        let mut digits = String::new();
        while let Some(digit) =
            self.peek().and_then(|unit| u8::try_from(unit).ok()).filter(u8::is_ascii_digit)
        {
            digits.push(char::from(digit));
            self.at += 1;
        }
        (!digits.is_empty()).then_some(digits)
    }

    fn hex(&mut self, length: usize) -> Option<u16> {
        let digits = self.units.get(self.at..self.at + length)?;
        let digits: String = digits.iter().map(|unit| character(*unit)).collect();
        let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = u16::from_str_radix(&digits, 16).ok().filter(|_| is_hex)?;
        self.at += length;
        Some(code)
    }

    /// After a backslash.
    fn escape(&mut self) -> Option<Escape> {
        let unit = self.next()?;
        Some(match u8::try_from(unit).unwrap_or(0) {
            b'd' => Escape::Set(DIGITS.to_vec()),
            b'D' => Escape::Set(complement(DIGITS)),
            b'w' => Escape::Set(WORDS.to_vec()),
            b'W' => Escape::Set(complement(WORDS)),
            b's' => Escape::Set(SPACES.to_vec()),
            b'S' => Escape::Set(complement(SPACES)),
            b't' => Escape::Unit(0x09),
            b'n' => Escape::Unit(0x0a),
            b'v' => Escape::Unit(0x0b),
            b'f' => Escape::Unit(0x0c),
            b'r' => Escape::Unit(0x0d),
            b'0' if !self.peek().is_some_and(|unit| (0x30..=0x39).contains(&unit)) => Escape::Unit(0),
            b'x' => Escape::Unit(self.hex(2).unwrap_or(unit)),
            b'u' => Escape::Unit(self.hex(4).unwrap_or(unit)),
            // Octal, back-references, controls, and properties, which need a flag.
            b'0'..=b'9' | b'k' | b'c' | b'p' | b'P' | b'B' => return None,
            _ => Escape::Unit(unit),
        })
    }

    /// After an opening bracket.
    fn class(&mut self) -> Option<()> {
        let is_negated = self.skip("^");
        let mut set = Set::new();
        while !self.skip("]") {
            let low = match self.member()? {
                Escape::Unit(unit) => unit,
                Escape::Set(members) => {
                    set.extend(members);
                    continue;
                }
            };
            let dash = self.at;
            if !self.skip("-") || self.peek() == Some(b']'.into()) {
                self.at = dash;
                set.push((low, low));
                continue;
            }
            match self.member()? {
                Escape::Unit(high) if low <= high => set.push((low, high)),
                Escape::Unit(_) => return None,
                Escape::Set(members) => {
                    set.extend([(low, low), (b'-'.into(), b'-'.into())]);
                    set.extend(members);
                }
            }
        }
        let set = ordered(set);
        self.set(&if is_negated { complement(&set) } else { set });
        Some(())
    }

    /// A member of a class, where \b is a backspace.
    fn member(&mut self) -> Option<Escape> {
        match self.next()? {
            0x5c if self.skip("b") => Some(Escape::Unit(0x08)),
            0x5c => self.escape(),
            unit => Some(Escape::Unit(unit)),
        }
    }

    /// One unit of the set. Never a negated class: regex-syntax takes what lies on both sides of the surrogates for
    /// part of a complement, whatever the class holds.
    fn set(&mut self, set: &[(u16, u16)]) {
        if set.is_empty() {
            // [] matches nothing.
            self.out.push_str(r"[^\x{0}-\x{10ffff}]");
            return;
        }
        self.out.push('[');
        for (low, high) in set {
            for (first, last) in [(0, 0xd7ff), (0xd800, 0xdfff), (0xe000, 0xffff)] {
                let (low, high) = (*low.max(&first), *high.min(&last));
                if low <= high {
                    self.unit(low);
                    self.out.push('-');
                    self.unit(high);
                }
            }
        }
        self.out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(pattern: &str, text: &str) -> Option<bool> {
        compile(pattern).map(|regex| regex.is_match(subject(text).as_bytes()))
    }

    /// Computed with Node 20: `new RegExp(pattern).test(text)`.
    #[test]
    fn as_ecmascript_without_flags() {
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
    fn what_is_no_expression_or_needs_backtracking_is_refused() {
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
            // Says no to "aéa" in ECMAScript; see may_match_inside_characters.
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

    /// A back-tracking engine would be at it for years.
    #[test]
    fn no_choice_is_tried_twice() {
        let pattern = format!("^{}{}$", "a?".repeat(60), "a".repeat(60));
        assert_eq!(test(&pattern, &"a".repeat(60)), Some(true));
        assert_eq!(test(&pattern, &"a".repeat(59)), Some(false));
        assert_eq!(test("^(a|b|ab)+$", &("ab".repeat(5_000) + "c")), Some(false));
    }

    #[test]
    fn the_complement_of_a_complement_is_the_set() {
        for set in [DIGITS, WORDS, SPACES, LINE_ENDS] {
            assert_eq!(complement(&complement(set)), set);
            assert_eq!(ordered(set.iter().rev().chain(set).copied().collect()), set);
        }
        assert_eq!(complement(&[(0, 0xffff)]), []);
        assert_eq!(complement(&[]), [(0, 0xffff)]);
        assert_eq!(
            ordered(vec![(5, 6), (0, 9), (10, 10), (0xffff, 0xffff), (12, 0xffff)]),
            [(0, 10), (12, 0xffff)]
        );
    }
}
