//! Turns a pattern as written into the forms that are matched: `~` and `${workspace}` expanded, a trailing slash turned
//! into `/**`, the literal leading directories resolved.

use super::glob::{Glob, MAX_PATTERN};

/// The placeholder of the directory to work in.
pub(crate) const WORKSPACE: &str = "${workspace}";
/// The placeholder of each directory above the workspace, as the whole pattern of a rule.
pub(crate) const ABOVE: &str = "${above}";

/// Trims like ECMAScript: a byte order mark is white space, U+0085 (a line end of Unicode) is not.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || c.is_whitespace() && c != '\u{85}')
}

/// The directories that may stand at the start of a pattern under another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bases<'a> {
    /// What `~` stands for.
    pub home: &'a [u8],
    /// What `${workspace}` stands for. Without a workspace, a pattern that begins with `${workspace}` matches nothing.
    pub workspace: Option<&'a [u8]>,
}

/// A home alone: for texts in which `${workspace}` has no meaning, such as saved answers.
impl<'a> From<&'a [u8]> for Bases<'a> {
    fn from(home: &'a [u8]) -> Bases<'a> {
        Bases { home, workspace: None }
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Bases<'a> {
    fn from(home: &'a [u8; N]) -> Bases<'a> {
        Bases { home, workspace: None }
    }
}

/// The parts of the host that expansion needs.
#[derive(Clone, Copy)]
pub(crate) struct Paths<'a> {
    pub(crate) home: &'a [u8],
    /// `None` for the approvals stores, which know no workspace.
    pub(crate) workspace: Option<&'a [u8]>,
    pub(crate) realpath: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
    /// Returns the links on the way to a path, see `Host::trail`.
    pub(crate) trail: &'a dyn Fn(&[u8]) -> Vec<Vec<u8>>,
}

impl<'a> Paths<'a> {
    pub(crate) fn bases(&self) -> Bases<'a> {
        Bases { home: self.home, workspace: self.workspace }
    }
}

/// A pattern with `~` expanded: literal bytes, then text in the glob dialect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Expanded {
    pub(crate) literal: Vec<u8>,
    pub(crate) pattern: String,
}

/// Returns what is wrong with a pattern of `deny` in guard.json, if anything. Needs no host.
pub(crate) fn problem(pattern: &str) -> Option<String> {
    if let Some(rest) = pattern.strip_prefix(WORKSPACE) {
        let is_whole = rest.is_empty() || rest.starts_with('/');
        return match is_whole {
            // What follows is part of a path like any other.
            true => file_problem(if rest.is_empty() { "/" } else { rest }),
            false => Some(format!("{WORKSPACE} is expanded only alone or before /")),
        };
    }
    if pattern == ABOVE {
        return Some(format!("{ABOVE} can only be the pattern of a rule"));
    }
    if pattern.starts_with("${") {
        return Some(format!("the only placeholders are {WORKSPACE}, alone or before /, and {ABOVE}, alone"));
    }
    file_problem(pattern)
}

/// Returns what is wrong with the pattern of a rule in guard.json, if anything.
pub(crate) fn rule_problem(pattern: &str) -> Option<String> {
    if pattern == ABOVE { None } else { problem(pattern) }
}

/// Returns what is wrong with a file pattern, if anything. The pattern has no placeholder, as in a saved rule.
pub(crate) fn file_problem(pattern: &str) -> Option<String> {
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

/// Expands a file pattern: `~`, `${workspace}`, and `dir/` to `dir/**`.
pub(crate) fn expand<'b>(pattern: &str, bases: impl Into<Bases<'b>>) -> Expanded {
    let mut expanded = expand_base(pattern, bases);
    if expanded.pattern.ends_with('/') {
        expanded.pattern.push_str("**");
    }
    expanded
}

/// Expands the directory at the start only, for an allowlist.
pub(crate) fn expand_base<'b>(pattern: &str, bases: impl Into<Bases<'b>>) -> Expanded {
    let bases = bases.into();
    match bases.workspace.filter(|_| is_of_workspace(pattern)) {
        Some(workspace) => {
            let literal = workspace.strip_suffix(b"/").unwrap_or(workspace).to_vec();
            Expanded { literal, pattern: pattern[WORKSPACE.len()..].to_owned() }
        }
        None => expand_home(pattern, bases.home),
    }
}

/// Returns whether a pattern begins with the workspace.
pub(crate) fn is_of_workspace(pattern: &str) -> bool {
    pattern.strip_prefix(WORKSPACE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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

/// Of the symbolic links on the way to a directory, returns the first that the tree could replace according to
/// `writable`. Links to which other links lead count, too. A grant that followed such a link would go wherever the tree
/// points it before the next start.
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
        Paths { home: b"/home/u", workspace: None, realpath: &realpath, trail: &trail }
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
    fn a_workspace_is_literal_and_stands_only_at_the_start() {
        let of = |pattern: &str, workspace: Option<&'static [u8]>| {
            let expanded = expand(pattern, Bases { home: b"/home/u", workspace });
            (show(&expanded.literal), expanded.pattern)
        };
        let whole = |literal: &str, pattern: &str| (literal.to_owned(), pattern.to_owned());
        assert_eq!(of("${workspace}/a*/", Some(b"/w/*")), whole("/w/*", "/a*/**"));
        assert_eq!(of("${workspace}", Some(b"/w")), whole("/w", ""));
        assert_eq!(of("${workspace}x", Some(b"/w")), whole("", "${workspace}x"));
        assert_eq!(of("/a/${workspace}", Some(b"/w")), whole("", "/a/${workspace}"));
        assert_eq!(of("~/${workspace}", Some(b"/w")), whole("/home/u", "/${workspace}"));
        // Without a workspace the pattern begins with no slash, so no path matches it.
        let nothing = expand("${workspace}/**", b"/home/u").glob(true);
        for path in [&b"/"[..], b"/w", b"/${workspace}/x", b"/home/u/${workspace}/x"] {
            assert!(!nothing.covers(path));
        }
    }

    #[test]
    fn patterns_that_could_never_match_are_refused() {
        for pattern in ["", "a", "./a", "*", "*/a", "~u/x", "/a/../b", "/a/./b", "/a//b", "/a\0"] {
            assert!(problem(pattern).is_some() && file_problem(pattern).is_some(), "{pattern:?}");
        }
        for pattern in ["/", "/a", "~", "~/", "~/a/**", "**/.env", "**", "/a/..b", "/a/.b", "/a/${workspace}"]
        {
            assert!(problem(pattern).is_none() && file_problem(pattern).is_none(), "{pattern:?}");
        }
        for pattern in ["${workspace}", "${workspace}/", "${workspace}/**", "${workspace}/a*/b"] {
            assert!(rule_problem(pattern).is_none() && problem(pattern).is_none(), "{pattern:?}");
            assert!(file_problem(pattern).is_some(), "{pattern:?}");
        }
        assert!(rule_problem(ABOVE).is_none() && problem(ABOVE).is_some() && file_problem(ABOVE).is_some());
        for pattern in [
            "${workspace}x",
            "${workspace}../x",
            "${workspace}/../x",
            "${workspace}//x",
            "${workspace}/a\0",
            "${workspace }/x",
            "${Workspace}/x",
            "${workspac}/x",
            "${home}/x",
            "${above}/x",
            "${above}/**",
            "$workspace/x",
            "~/../${workspace}",
            "x/${workspace}",
        ] {
            assert!(rule_problem(pattern).is_some(), "{pattern:?}");
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
