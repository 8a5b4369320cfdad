//! Patterns of paths, as `matchesExecAllowlistPattern` of OpenClaw 2026.9.6 reads them on Linux.

use std::borrow::Cow;

use crate::paths::expansion::{Bases, Expanded, expand_base, trim};
use crate::paths::glob::{Glob, MAX_PATTERN};
use crate::paths::normalize;

/// Returns the pattern if it can match something: trimmed, with `~` and `${workspace}` expanded. Two backslashes become a slash.
pub(super) fn expand<'b>(pattern: &str, bases: impl Into<Bases<'b>>) -> Option<Expanded> {
    let pattern = trim(pattern);
    let is_possible = !pattern.is_empty() && pattern.len() <= MAX_PATTERN;
    is_possible.then(|| expand_base(&pattern.replace(r"\\", "/"), bases))
}

/// Returns what a pattern is compared with: the path as written if there is no wildcard, else the path
/// without `.` and `..`.
pub(super) fn subject<'p>(glob: &Glob, path: &'p [u8]) -> Cow<'p, [u8]> {
    if glob.is_literal() { Cow::Borrowed(path) } else { normalize::without_dots(path) }
}

/// Returns whether a pattern matches a whole path. Its `**` does not cross line ends.
pub fn matches_allowlist_pattern<'b>(pattern: &str, bases: impl Into<Bases<'b>>, path: &[u8]) -> bool {
    expand(pattern, bases).is_some_and(|expanded| {
        let glob = expanded.glob(false);
        glob.matches(&subject(&glob, path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_for_wildcards_only() {
        let case =
            |pattern: &str, path: &str| matches_allowlist_pattern(pattern, b"/home/u", path.as_bytes());
        assert!(!case("/usr/bin/**", "/usr/bin/../sbin/x"));
        assert!(case("/usr/sbin/*", "/usr/bin/../sbin/./x"));
        assert!(!case("/usr/sbin/x", "/usr/bin/../sbin/x"));
        assert!(case("/usr/bin/../sbin/x", "/usr/bin/../sbin/x"));
        // Doubled slashes alone are left as they are.
        assert!(case("/opt/*/rg", "/opt//rg"));
        assert!(!case("  ", "/usr/bin/x"));
        assert!(case(r" /usr\\bin/x ", "/usr/bin/x"));
        // What ECMAScript trims, and what it does not.
        assert!(case("\u{feff}\u{2028}/usr/bin/x\u{a0}", "/usr/bin/x"));
        assert!(!case("\u{85}/usr/bin/x", "/usr/bin/x"));
    }
}
