//! Turns a pattern as written into the forms that are matched: `~` expanded, a trailing slash turned into
//! `/**`, the literal leading directories resolved.

use super::glob::{Glob, MAX_PATTERN};

/// Trims like ECMAScript: a byte order mark is white space, U+0085 (a line end of Unicode) is not.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || c.is_whitespace() && c != '\u{85}')
}

/// The parts of the host that expansion needs.
#[derive(Clone, Copy)]
pub(crate) struct Paths<'a> {
    pub(crate) home: &'a [u8],
    pub(crate) realpath: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
    /// The links on the way to a path, as `Host::trail`.
    pub(crate) trail: &'a dyn Fn(&[u8]) -> Vec<Vec<u8>>,
}

/// A pattern with `~` expanded: literal bytes, then text in the glob dialect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Expanded {
    pub(crate) literal: Vec<u8>,
    pub(crate) pattern: String,
}

/// Returns what is wrong with a file pattern, if anything. Needs no host.
pub(crate) fn problem(pattern: &str) -> Option<String> {
    if !(pattern.starts_with('/') || pattern == "~" || pattern.starts_with("~/") || pattern.starts_with("**"))
    {
        return Some(match pattern {
            "" => "the pattern is empty".to_owned(),
            p if p.starts_with('~') => {
                "~ is expanded only alone or before /; write another user's home in full".to_owned()
            }
            _ => "the pattern must start with /, ~/ or **".to_owned(),
        });
    }
    if pattern.len() > MAX_PATTERN - 8 {
        return Some("the pattern is longer than any path".to_owned());
    }
    if pattern.contains('\0') {
        return Some("a path cannot contain a NUL".to_owned());
    }
    // A real path has none of these: the pattern could never match, and a deny would deny nothing.
    if pattern.split('/').any(|c| c == "." || c == "..") || pattern.contains("//") {
        return Some(
            "real paths have no \".\", \"..\" or empty component; write the pattern without it".to_owned(),
        );
    }
    None
}

/// Expands a file pattern: `~`, and `dir/` to `dir/**`.
pub(crate) fn expand(pattern: &str, home: &[u8]) -> Expanded {
    let mut expanded = expand_home(pattern, home);
    if expanded.pattern.ends_with('/') {
        expanded.pattern.push_str("**");
    }
    expanded
}

/// Expands `~` only, as OpenClaw does for an allowlist.
pub(crate) fn expand_home(pattern: &str, home: &[u8]) -> Expanded {
    let home = home.strip_suffix(b"/").unwrap_or(home);
    match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let literal = if rest.is_empty() && home.is_empty() { b"/" } else { home };
            Expanded { literal: literal.to_vec(), pattern: rest.to_owned() }
        }
        _ => Expanded { literal: Vec::new(), pattern: pattern.to_owned() },
    }
}

impl Expanded {
    pub(crate) fn glob(&self, is_for_files: bool) -> Glob {
        Glob::new(&self.literal, &self.pattern, is_for_files)
    }

    /// Returns the bytes before the first wildcard, and whether they are the whole pattern.
    fn leading(&self) -> (Vec<u8>, bool) {
        let wild = self.pattern.find(['*', '?']);
        let end = wild.unwrap_or(self.pattern.len());
        ([&self.literal, &self.pattern.as_bytes()[..end]].concat(), wild.is_none())
    }

    /// Returns the literal leading directory without a trailing slash: where resolution starts.
    pub(crate) fn leading_dir(&self) -> Vec<u8> {
        let (mut dir, _) = self.leading();
        dir.truncate(dir.iter().rposition(|b| *b == b'/').unwrap_or(0));
        dir
    }

    /// Returns the symbolic links on the way to what the pattern denies.
    pub(crate) fn links(&self, paths: &Paths<'_>) -> Vec<Vec<u8>> {
        let (leading, literal) = self.leading();
        let mut trail = (paths.trail)(&if literal { leading } else { self.leading_dir() });
        trail.pop();
        trail
    }

    /// Returns the form with its leading directories resolved, if that differs. With `whole`, a pattern
    /// without wildcards is resolved to its end.
    pub(crate) fn resolved(&self, paths: &Paths<'_>, whole: bool) -> Option<Expanded> {
        let (leading, literal) = self.leading();
        let mut dir = if whole && literal { leading.clone() } else { self.leading_dir() };
        // A path that does not exist yet may be created below one that does.
        while !dir.is_empty() {
            if let Some(real) = (paths.realpath)(&dir) {
                let real = real.strip_suffix(b"/").unwrap_or(&real);
                return (real != dir).then(|| self.moved(dir.len(), real));
            }
            dir.truncate(dir.iter().rposition(|b| *b == b'/').unwrap_or(0));
        }
        None
    }

    /// Returns the pattern with its first `length` bytes replaced.
    fn moved(&self, length: usize, by: &[u8]) -> Expanded {
        match length.checked_sub(self.literal.len()) {
            Some(n) => Expanded { literal: by.to_vec(), pattern: self.pattern[n..].to_owned() },
            None => {
                let literal = [by, &self.literal[length..]].concat();
                Expanded { literal, pattern: self.pattern.clone() }
            }
        }
    }
}

/// Returns the first symbolic link on the way to a directory that the tree could replace, according to `writable`: also
/// one to which another link leads. A grant that followed such a link would go wherever the tree points it before the
/// next start.
pub(crate) fn replaceable_link(
    dir: &[u8],
    paths: &Paths<'_>,
    writable: impl Fn(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let mut trail = (paths.trail)(dir);
    trail.pop();
    trail.into_iter().chain(links_in(dir, paths)).find(|link| writable(link))
}

/// Returns the components of a path that are links, by their real paths.
fn links_in(dir: &[u8], paths: &Paths<'_>) -> Vec<Vec<u8>> {
    let (mut links, mut real_parent) = (Vec::new(), Vec::new());
    for component in dir.split(|b| *b == b'/').skip(1) {
        let entry = [&real_parent, &b"/"[..], component].concat();
        let Some(real) = (paths.realpath)(&entry) else { break };
        let real = real.strip_suffix(b"/").unwrap_or(&real).to_vec();
        if real != entry {
            links.push(entry);
        }
        real_parent = real;
    }
    links
}

/// Converts a path to text for a message.
pub(crate) fn show(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn realpath(path: &[u8]) -> Option<Vec<u8>> {
        match path {
            b"/bin" => Some(b"/usr/bin".to_vec()),
            b"/usr" | b"/usr/bin" | b"/home" | b"/home/u" => Some(path.to_vec()),
            b"/home/u/link" => Some(b"/data".to_vec()),
            _ => None,
        }
    }

    fn trail(path: &[u8]) -> Vec<Vec<u8>> {
        let links: &[&[u8]] = match path {
            b"/bin" => &[b"/bin", b"/usr/bin"],
            b"/home/u/link" => &[b"/home/u/link", b"/data"],
            b"/srv/link" => &[b"/srv/link", b"/home/u/link", b"/data"],
            path => &[path],
        };
        links.iter().map(|link| link.to_vec()).collect()
    }

    fn paths() -> Paths<'static> {
        Paths { home: b"/home/u", realpath: &realpath, trail: &trail }
    }

    fn resolve(pattern: &str, whole: bool) -> Option<String> {
        let real = expand(pattern, b"/home/u").resolved(&paths(), whole)?;
        Some(show(&real.literal) + &real.pattern)
    }

    #[test]
    fn leading_directories_are_resolved() {
        assert_eq!(resolve("/bin/**", false).as_deref(), Some("/usr/bin/**"));
        assert_eq!(resolve("/bin/ls", false).as_deref(), Some("/usr/bin/ls"));
        assert_eq!(resolve("/bin/none/x*", false).as_deref(), Some("/usr/bin/none/x*"));
        assert_eq!(resolve("/usr/bin/**", false), None);
        assert_eq!(resolve("~/link/**", false).as_deref(), Some("/data/**"));
        assert_eq!(resolve("~/link", false), None);
        assert_eq!(resolve("~/link", true).as_deref(), Some("/data"));
        assert_eq!(resolve("**/x", false), None);
    }

    #[test]
    fn home_is_literal() {
        let e = expand("~/a*/", b"/home/*/");
        assert_eq!((e.literal.as_slice(), e.pattern.as_str()), (&b"/home/*"[..], "/a*/**"));
        assert_eq!(expand("~", b"/home/u").literal, b"/home/u");
        assert_eq!(expand("~", b"/").literal, b"/");
        assert_eq!(expand("~/x", b"/").glob(true).literal(), b"/x");
    }

    #[test]
    fn patterns_that_could_never_match_are_refused() {
        for pattern in ["", "a", "./a", "*", "*/a", "~u/x", "/a/../b", "/a/./b", "/a//b", "/a\0"] {
            assert!(problem(pattern).is_some(), "{pattern:?}");
        }
        for pattern in ["/", "/a", "~", "~/", "~/a/**", "**/.env", "**", "/a/..b", "/a/.b"] {
            assert_eq!(problem(pattern), None, "{pattern:?}");
        }
    }

    #[test]
    fn a_link_in_a_writable_place_is_found() {
        let found = replaceable_link(b"/home/u/link", &paths(), |p| p.starts_with(b"/home/u/"));
        assert_eq!(found.as_deref(), Some(&b"/home/u/link"[..]));
        assert_eq!(replaceable_link(b"/srv/link", &paths(), |p| p.starts_with(b"/home/u/")), found);
        assert_eq!(replaceable_link(b"/bin", &paths(), |_| false), None);
        assert_eq!(replaceable_link(b"/usr/bin", &paths(), |_| true), None);
    }
}
