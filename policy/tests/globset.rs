//! Compares path patterns with globset, an independent implementation: a pattern that both dialects can express must
//! match the same paths in both.

use std::collections::BTreeMap;

use crate::common::{HOME, compile_with};
use globset::{Candidate, GlobBuilder, GlobSet};
use guard_policy::{Host, Overrides, Permission, Rights, matches_allowlist_pattern};
use proptest::prelude::*;
use serde_json::json;

/// `**` of OpenClaw's dialect: any text, wherever it stands.
const ANY_TEXT: &str = "{*,*/**/*}";

/// Translates a pattern to globset's dialect, for absolute paths.
fn in_globset(pattern: &str) -> String {
    let mut written = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let stars = rest.len() - rest.trim_start_matches('*').len();
        let behind = &rest[stars.max(c.len_utf8())..];
        match (c, stars) {
            (_, 2..) => {
                // These two mean the same in both. globset lets another `**/` in front of a name stand for nothing.
                let leads =
                    written.is_empty() && behind.starts_with('/') && !behind[1..].starts_with(['*', '/']);
                let ends = behind.is_empty() && (written.is_empty() || written.ends_with('/'));
                written += if leads || ends { "**" } else { ANY_TEXT };
            }
            ('\\' | '[' | ']' | '{' | '}' | ',', _) => written.extend(['\\', c]),
            _ => written.push(c),
        }
        rest = behind;
    }
    written
}

/// One set of all patterns, as they cover paths (`dir/**` and `dir/*` cover `dir`), and which of them each of its globs is.
fn set<'p>(patterns: impl Iterator<Item = &'p String>) -> (GlobSet, Vec<usize>) {
    let (mut set, mut numbers) = (GlobSet::builder(), Vec::new());
    for (number, pattern) in patterns.enumerate() {
        let written = in_globset(pattern);
        let top =
            written.strip_suffix("/**").or_else(|| written.strip_suffix("/*")).filter(|top| !top.is_empty());
        for glob in [Some(written.as_str()), top].into_iter().flatten() {
            let glob = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
            set.add(glob.unwrap());
            numbers.push(number);
        }
    }
    (set.build().unwrap(), numbers)
}

/// The path to ask globset about. Its `?` matches a byte, not a character. So if a pattern has a `?`, each character
/// beyond ASCII is replaced by `units` bytes. `None` if a pattern names such a character.
fn for_globset<'p>(
    mut patterns: impl Iterator<Item = &'p String> + Clone,
    path: &[u8],
    units: impl Fn(char) -> usize,
) -> Option<Vec<u8>> {
    if path.is_ascii() || !patterns.clone().any(|pattern| pattern.contains('?')) {
        return Some(path.to_vec());
    }
    let mut bytes = Vec::new();
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            match u8::try_from(c).ok().filter(u8::is_ascii) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend(std::iter::repeat_n(0xfe, units(c))),
            }
        }
        bytes.extend(chunk.invalid());
    }
    patterns.all(|pattern| pattern.is_ascii()).then_some(bytes)
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    let component = prop::sample::select(vec![
        &b"a"[..],
        b"b",
        b"ab",
        b"b.so",
        b".env",
        b"a\nb",
        b"[a]",
        b"{a,b}",
        b"a\\",
        "é".as_bytes(),
        "😀".as_bytes(),
        "a😀b".as_bytes(),
        b"\xff",
        b"\xf0\x9f",
    ]);
    prop::collection::vec(component, 1..6).prop_map(|parts| [b"/", &*parts.join(&b'/')].concat())
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a", "b", "ab", "*", "**", "***", "a*", "*b", "?", "*.so", ".env", "a?b", "*?b", "**?", "?*", "a**",
        "**b", "a**b", "*a*", "[a]", "{a,b}", "a\\", "\\*", "é", "é*",
    ]);
    let parts = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    (prop::sample::select(vec!["/", "/", "**/"]), parts, prop::sample::select(vec!["", "/**"]))
        .prop_map(|(start, parts, end)| format!("{start}{parts}{end}"))
}

fn rights() -> impl Strategy<Value = String> {
    "[r-][w-][x-]"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_map_covers_what_one_set_of_all_patterns_does(
        rules in prop::collection::btree_map(pattern(), rights(), 0..40),
        deny in prop::collection::vec(pattern().prop_filter("literal", |p| p.contains('*')), 0..3),
        paths in prop::collection::vec(path(), 1..8),
    ) {
        let document = json!({
            "version": 1,
            "exec": { "ask": "off" },
            "permissions": { "filesystem": { "rules": rules, "deny": deny }, "base": false, "persistence": false },
        });
        let policy = compile_with(&document, "main", &Host::bare(HOME, HOME), &Overrides::default());
        let (denials, _) = set(deny.iter());
        let (matching, numbers) = set(rules.keys());
        let rules: Vec<(&String, Rights)> =
            rules.iter().map(|(pattern, rights)| (pattern, Permission::parse(rights).unwrap().0)).collect();
        for path in paths {
            let patterns = rules.iter().map(|(pattern, _)| *pattern).chain(&deny);
            let Some(asked) = for_globset(patterns, &path, |_| 1) else { continue };
            let candidate = Candidate::from_bytes(&asked);
            let mut longest: BTreeMap<usize, Rights> = BTreeMap::new();
            for glob in matching.matches_candidate(&candidate) {
                let (pattern, rights) = rules[numbers[glob]];
                let all = longest.entry(pattern.len()).or_insert(Rights::ALL);
                *all = all.meet(rights);
            }
            let granted = longest.pop_last().map_or(Rights::NONE, |(_, rights)| rights);
            let expected = if denials.is_match_candidate(&candidate) { Rights::NONE } else { granted };
            prop_assert_eq!(policy.rights(&path), expected, "{}", path.escape_ascii());
        }
    }

    #[test]
    fn a_pattern_matches_what_its_glob_does(pattern in pattern(), path in path()) {
        let glob = GlobBuilder::new(&in_globset(&pattern)).literal_separator(true).backslash_escape(true).build();
        // The allowlist's `?` is a unit of UTF-16, and its `**` ends at a line end.
        let asked = for_globset(std::iter::once(&pattern), &path, char::len_utf16);
        if let Some(asked) = asked.filter(|_| !path.contains(&b'\n')) {
            let expected = glob.unwrap().compile_matcher().is_match_candidate(&Candidate::from_bytes(&asked));
            prop_assert_eq!(matches_allowlist_pattern(&pattern, HOME, &path), expected);
        }
    }
}

#[test]
fn the_dialects_differ() {
    for (pattern, path, ours, globsets) in [
        ("/a/**/b", "/a/b", false, true),
        ("/a/x**", "/a/x/b", true, false),
        ("**/*/b", "/b", false, true),
        ("/a/[b]", "/a/b", false, true),
        ("/a/{b,c}", "/a/b", false, true),
        ("/a/\\b", "/a/b", false, true),
        ("/a/?", "/a/é", true, false),
    ] {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build().unwrap().compile_matcher();
        assert_eq!(glob.is_match(path), globsets, "{pattern} {path}");
        assert_eq!(matches_allowlist_pattern(pattern, HOME, path.as_bytes()), ours, "{pattern} {path}");
    }
}
