//! The glob dialect of OpenClaw's allowlist, matched exactly, and that of file patterns, which is nearly the same.
//!
//! `*` matches any run without a slash, `**` (two stars or more) any run at all, `?` one character other than a
//! slash. In the allowlist that is one UTF-16 code unit, and `**` ends at a line end, as in ECMAScript. Everything
//! else matches itself, and the whole subject must match. There are no brackets, no braces and no rule that lets
//! `/**/` match a single slash.
//!
//! Subjects are bytes. A byte that is not UTF-8 is a character of its own and equals only itself.
//! The matcher runs all alternatives side by side, so its time is linear in the subject.

mod cover;
mod states;
mod tokens;

use states::{LARGE, States};
use tokens::{SLASH, Token, text, tokens, units};

/// A pattern longer than this can match no path that the kernel accepts.
pub(crate) const MAX_PATTERN: usize = 4096;

/// How much of a directory's contents, at any depth, a pattern can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    Nothing,
    Something,
    Everything,
}

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    /// The bytes before the first wildcard.
    prefix: Box<[u8]>,
    /// From the first wildcard to the end.
    tail: Box<[Token]>,
    /// The number of tokens up to the last wildcard; the rest of the tail is `suffix`.
    middle: usize,
    suffix: Box<[u8]>,
    /// In file patterns `**` crosses line ends, and `?` is a character; in OpenClaw's allowlist `**` does not, and
    /// `?` is a unit of UTF-16.
    is_for_files: bool,
    length: usize,
}

impl Glob {
    /// Compiles `literal` (taken as it is) followed by `pattern`.
    pub(crate) fn new(literal: &[u8], pattern: &str, is_for_files: bool) -> Glob {
        let is_wild = |c: char| c == '*' || c == '?';
        let length = literal.len() + pattern.len();
        let start = pattern.find(is_wild).unwrap_or(pattern.len());
        let end = pattern.rfind(is_wild).map_or(start, |i| i + 1);
        let prefix = [literal, &pattern.as_bytes()[..start]].concat();
        let mut tail = tokens(&pattern[start..end], is_for_files);
        let middle = tail.len();
        let suffix = &pattern[end..];
        units(suffix, is_for_files, |unit| {
            tail.push(Token::Unit(unit));
            true
        });
        Glob {
            prefix: prefix.into(),
            tail: tail.into(),
            middle,
            suffix: suffix.as_bytes().into(),
            is_for_files,
            length,
        }
    }

    /// Returns the length of the expanded pattern in bytes: how specific it is.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns the expanded pattern.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.prefix).into_owned() + &self.wildcards()
    }

    /// Returns the expanded pattern from its first wildcard on.
    pub(crate) fn wildcards(&self) -> String {
        let written = self.tail.iter().flat_map(|token| match token {
            Token::Unit(unit) => [Some(*unit), None],
            Token::One => [Some(b'?'.into()), None],
            Token::Star => [Some(b'*'.into()), None],
            Token::StarStar => [Some(b'*'.into()); 2],
        });
        // The tail was text, so it is again.
        text(written.flatten(), self.is_for_files).unwrap_or_default()
    }

    /// Returns the bytes before the first wildcard.
    pub(crate) fn literal(&self) -> &[u8] {
        &self.prefix
    }

    /// Returns what the pattern names, or the directory before its first wildcard.
    pub(crate) fn top(&self) -> &[u8] {
        if self.is_literal() {
            return &self.prefix;
        }
        match self.prefix.iter().rposition(|byte| *byte == b'/') {
            Some(end) if end > 0 => &self.prefix[..end],
            _ => b"/",
        }
    }

    /// Returns true when there is no wildcard.
    pub(crate) fn is_literal(&self) -> bool {
        self.tail.is_empty()
    }

    /// Returns true when a wildcard crosses directories.
    pub(crate) fn is_deep(&self) -> bool {
        self.tail.contains(&Token::StarStar)
    }

    /// Returns true when more components follow the one with the first wildcard.
    pub(crate) fn has_slash_behind_wildcard(&self) -> bool {
        self.tail.contains(&SLASH)
    }

    /// Returns true when the component with the first wildcard already crosses directories: `dir/**`,
    /// `dir/a**`.
    pub(crate) fn is_deep_at_once(&self) -> bool {
        self.tail.iter().take_while(|token| **token != SLASH).any(|token| *token == Token::StarStar)
    }

    /// Returns true for `**/NAME` and `**/NAME/**`, where NAME is one component. Whether such a pattern
    /// matches depends on the names of a path's components, not on their position.
    pub(crate) fn is_position_free(&self) -> bool {
        let name = match &*self.tail {
            [Token::StarStar, SLASH, name @ .., SLASH, Token::StarStar] => name,
            [Token::StarStar, SLASH, name @ ..] => name,
            _ => return false,
        };
        self.prefix.is_empty() && !name.iter().any(|t| matches!(t, &SLASH | Token::StarStar))
    }

    /// Returns the components without wildcards after the first wildcard. Every matching path has all of
    /// them.
    pub(crate) fn literal_components(&self) -> impl Iterator<Item = String> {
        // The text before the first slash of the tail may begin in the prefix.
        self.tail.split(|token| *token == SLASH).skip(1).filter_map(|component| {
            let unit = |token: &Token| match token {
                Token::Unit(unit) => Some(*unit),
                _ => None,
            };
            let units: Option<Vec<u32>> = component.iter().map(unit).collect();
            text(units?.into_iter(), self.is_for_files).filter(|name| !name.is_empty())
        })
    }

    /// Returns true when the whole path matches.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.matches_with(path, false)
    }

    /// Returns true when the path matches as it is or with a slash added: `dir/**` covers `dir`.
    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        self.matches_with(path, false) || (!path.ends_with(b"/") && self.matches_with(path, true))
    }

    /// Matches `path`, followed by a slash if `slash`.
    fn matches_with(&self, path: &[u8], slash: bool) -> bool {
        let Some((rest, slash)) = self.after_prefix(path, slash) else { return false };
        if self.is_literal() {
            return rest.is_empty() && !slash;
        }
        let (rest, slash) = match (&*self.suffix, slash) {
            ([], _) => (rest, slash),
            ([head @ .., b'/'], true) => match rest.strip_suffix(head) {
                Some(rest) => (rest, false),
                None => return false,
            },
            (_, true) => return false,
            (suffix, false) => match rest.strip_suffix(suffix) {
                Some(rest) => (rest, false),
                None => return false,
            },
        };
        let run = |tokens: &[Token], rest, slash| match tokens.len() {
            0..64 => self.run::<1>(tokens, rest, slash).has(tokens.len()),
            _ => self.run::<LARGE>(tokens, rest, slash).has(tokens.len()),
        };
        let middle = &self.tail[..self.middle];
        match middle {
            [Token::StarStar] if self.is_for_files => true,
            [Token::Star] => !slash && !rest.contains(&b'/'),
            [Token::StarStar, SLASH, end @ ..] if self.is_for_files && !end.contains(&Token::StarStar) => {
                let slashes = end.iter().filter(|token| **token == SLASH).count();
                last_components(rest, slash, slashes).is_some_and(|(rest, slash)| run(end, rest, slash))
            }
            _ => run(middle, rest, slash),
        }
    }

    /// Returns the subject after the prefix; `None` if the subject does not begin with the prefix.
    fn after_prefix<'p>(&self, path: &'p [u8], slash: bool) -> Option<(&'p [u8], bool)> {
        // The pointer of an empty box dangles. glibc's memcmp loads from it with a mask that suppresses the
        // fault, which takes the processor longer than the rest of a decision.
        if self.prefix.is_empty() {
            return Some((path, slash));
        }
        if let Some(rest) = path.strip_prefix(&*self.prefix) {
            return Some((rest, slash));
        }
        match &*self.prefix {
            [head @ .., b'/'] if slash && head == path => Some((&[], false)),
            _ => None,
        }
    }

    /// Returns how much the pattern can match strictly below `dir`. Never understates it.
    pub(crate) fn below(&self, dir: &[u8]) -> Below {
        let slash = !dir.ends_with(b"/");
        let Some((rest, slash)) = self.after_prefix(dir, slash) else {
            let deeper = self.prefix.strip_prefix(dir).is_some_and(|r| !slash || r.first() == Some(&b'/'));
            return if deeper { Below::Something } else { Below::Nothing };
        };
        let tail = &*self.tail;
        if tail.len() < 64 {
            self.run::<1>(tail, rest, slash).below(tail, self.is_for_files)
        } else {
            self.run::<LARGE>(tail, rest, slash).below(tail, self.is_for_files)
        }
    }

    /// Returns all states that `tokens` can be in after the subject.
    fn run<const W: usize>(&self, tokens: &[Token], subject: &[u8], slash: bool) -> States<W> {
        let mut now = States::<W>::default();
        now.enter(0, tokens);
        let ascii = subject.iter().position(|b| !b.is_ascii()).unwrap_or(subject.len());
        let (plain, rest) = subject.split_at(ascii);
        for byte in plain {
            now = now.step(tokens, u32::from(*byte), self.is_for_files);
            if now.is_empty() {
                return now;
            }
        }
        for chunk in rest.utf8_chunks() {
            units(chunk.valid(), self.is_for_files, |unit| {
                now = now.step(tokens, unit, self.is_for_files);
                !now.is_empty()
            });
            for byte in chunk.invalid() {
                now = now.step(tokens, 0x11_0000 + u32::from(*byte), self.is_for_files);
            }
        }
        if slash { now.step(tokens, b'/'.into(), self.is_for_files) } else { now }
    }
}

/// Returns the part of the subject after the slash that `slashes` further slashes follow. If `slash` is set, the
/// subject counts as one with another slash at its end. A pattern with a leading `**/` compares only this part with the
/// rest.
fn last_components(subject: &[u8], slash: bool, slashes: usize) -> Option<(&[u8], bool)> {
    let Some(before) = slashes.checked_sub(usize::from(slash)) else { return Some((&[], false)) };
    let mut starts = subject.iter().enumerate().rev().filter(|(_, b)| **b == b'/').map(|(i, _)| i + 1);
    starts.nth(before).map(|start| (&subject[start..], slash))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::states::LOOKS;
    use super::*;

    fn glob(pattern: &str) -> Glob {
        Glob::new(b"", pattern, true)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_time_is_linear_in_the_subject(
            pattern in "/?([a/*?é]|\\*\\*){0,100}", subject in "[a/é😀]{0,200}", is_for_files: bool,
        ) {
            let glob = Glob::new(b"", &pattern, is_for_files);
            LOOKS.set(0);
            let _ = glob.matches(subject.as_bytes());
            let (tokens, units) = (glob.tail.len() + 1, subject.encode_utf16().count());
            prop_assert!(LOOKS.get() <= tokens * units, "{} looks", LOOKS.get());
        }
    }

    #[test]
    fn the_glob_dialect_of_openclaw() {
        for (pattern, subject, expected) in [
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", false),
            ("/a/*", "/a/.b", true),
            ("/a/**", "/a/b/c", true),
            ("/a/**", "/a", false),
            ("/a/**/b", "/a/b", false),
            ("/a/**/b", "/a/x/y/b", true),
            ("/a/?", "/a/é", true),
            ("/a/?", "/a/😀", true),
            ("/a/??", "/a/😀", false),
            ("/a/?😀", "/a/😀😀", true),
            ("/a/?x", "/a/😀x", true),
            ("/a/e?", "/a/e\u{301}", true),
            ("/a/[b]", "/a/b", false),
            ("/a/{b,c}", "/a/{b,c}", true),
            ("**/.env", "/.env", true),
            ("**/.env", "/x/y/.env", true),
            ("**/.env", "/x/y.env", false),
            ("**/.env*", "/x/.env/y", false),
            ("**/.env*", "/x\n/.env.local", true),
            ("**/a/b*", "/a/bc", true),
            ("**/a/b*", "/x/y/a/bc", true),
            ("**/a/b*", "/x/a/y/bc", false),
            ("/w/**/a*z", "/w/abz", false),
            ("/w/**/a*z", "/w/x/abz", true),
            ("**/a*/b", "/xa/b", false),
            ("**/a*/b", "/x/ay/b", true),
            ("/a*b*c", "/aXbYbZc", true),
            ("/a*/b*c", "/ax/y/bc", false),
            ("/a/*.rs", "/a/.rs", true),
        ] {
            assert_eq!(glob(pattern).matches(subject.as_bytes()), expected, "{pattern} {subject}");
        }
    }

    #[test]
    fn components_that_every_match_has() {
        for (pattern, components) in [
            ("**/.env", &[".env"][..]),
            ("**/é/**", &["é"]),
            ("/a*/b/c?", &["b"]),
            ("/a/*x/*/last", &["last"]),
            ("/home/*/.config/app", &[".config", "app"]),
            ("**a", &[]),
            ("/a/b*", &[]),
            ("/a/*/b*/", &[]),
            ("/a/b", &[]),
            ("/w/**", &[]),
        ] {
            assert_eq!(glob(pattern).literal_components().collect::<Vec<_>>(), components, "{pattern}");
        }
    }

    #[test]
    fn an_invalid_utf_8_byte_is_one_character() {
        assert!(glob("/a/?").matches(b"/a/\xff"));
        assert!(!glob("/a/?").matches(b"/a/\xff\xfe"));
        // Three bytes of a character that has four.
        assert!(glob("/a/???").matches(b"/a/\xf0\x9f\x98") && !glob("/a/?").matches(b"/a/\xf0\x9f\x98"));
        assert!(glob("/a/???😀").matches(b"/a/\xf0\x9f\x98\xf0\x9f\x98\x80"));
        assert!(glob("/a/*.txt").matches(b"/a/\xff\xfe.txt"));
        assert!(Glob::new(b"/\xff", "/*", true).matches(b"/\xff/x"));
        assert!(!Glob::new(b"/\xff", "/*", true).matches(b"/\xfe/x"));
    }

    /// OpenClaw runs an expression of ECMAScript on UTF-16.
    #[test]
    fn in_the_allowlist_a_question_mark_is_a_unit_of_utf_16() {
        let matches = |pattern: &str| Glob::new(b"", pattern, false).matches("/a/😀".as_bytes());
        assert_eq!(
            [matches("/a/?"), matches("/a/??"), matches("/a/😀"), matches("/a/*")],
            [false, true, true, true]
        );
    }

    #[test]
    fn only_file_patterns_cross_lines() {
        assert!(glob("/a/**").matches(b"/a/b\nc"));
        assert!(!Glob::new(b"", "/a/**", false).matches(b"/a/b\nc"));
        assert!(Glob::new(b"", "/a/*", false).matches(b"/a/b\nc"));
    }

    #[test]
    fn a_hierarchy_covers_its_top() {
        assert!(glob("/a/**").covers(b"/a"));
        assert!(glob("/a/b*/**").covers(b"/a/bc"));
        assert!(glob("**/.git/**").covers(b"/x/.git"));
        assert!(!glob("/a/**").covers(b"/ab"));
        assert!(glob("/**").covers(b"/"));
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_its_length() {
        let pattern = format!("/{}b", "**a*a?".repeat(600));
        let subject = format!("/{}", "a".repeat(4000));
        assert!(!glob(&pattern).matches(subject.as_bytes()));
    }

    #[test]
    fn below_returns_none_some_or_all() {
        for (pattern, dir, expected) in [
            ("/a/**", "/a", Below::Everything),
            ("/a/**", "/a/b", Below::Everything),
            ("/a/**", "/", Below::Something),
            ("/a/**", "/b", Below::Nothing),
            ("/a/**", "/ab", Below::Nothing),
            ("/ab/**", "/a", Below::Nothing),
            ("/a/b", "/a", Below::Something),
            ("/a/b", "/a/b", Below::Nothing),
            ("/a/*", "/a/b", Below::Nothing),
            ("/a/*", "/a", Below::Something),
            ("/a/*/**", "/a", Below::Something),
            ("/a/*/**", "/a/b", Below::Everything),
            ("**/.env", "/x", Below::Something),
            ("/a/*.d/**", "/a/x", Below::Nothing),
        ] {
            assert_eq!(glob(pattern).below(dir.as_bytes()), expected, "{pattern} {dir}");
        }
    }

    #[test]
    fn the_text_is_the_pattern() {
        for pattern in ["", "/a/b", "/a/*/b?/**", "**/.env", "/ä𝄞/*𝄞", "/x*y*", "/**/a/**/b", "?"] {
            assert_eq!(Glob::new(b"/h*", pattern, true).text(), format!("/h*{pattern}"));
            assert_eq!(Glob::new(b"", pattern, false).text(), pattern);
        }
    }

    #[test]
    fn position_free_patterns_name_one_component() {
        for pattern in ["**/.env", "**/*.pem", "**/.git/**", "**/?"] {
            assert!(glob(pattern).is_position_free(), "{pattern}");
        }
        for pattern in ["**", "**.env", "/a/.env", "**/a/b", "**/a/**/b", "**/a**"] {
            assert!(!glob(pattern).is_position_free(), "{pattern}");
        }
    }
}
