//! The ends of paths that are protected in every directory, by their first component.

use std::sync::LazyLock;

use foldhash::{HashMap, HashSet};

use super::Set;
use super::lists::{Start, may_be_asked, paths_of};

/// Files of Mercurial's and Jujutsu's repositories that name programs, or another place that does (Jujutsu's git
/// repository, in `git_target`). One more file is in each repository and never changes: because the guard protects it,
/// the tree cannot replace a repository by one of its own.
pub(super) const OTHER_REPOSITORIES: [(&[u8], &[&[u8]]); 2] = [
    (b".hg", &[b"hgrc", b"hgrc-not-shared", b"requires", b"sharedpath"]),
    (
        b".jj",
        &[
            b"repo",
            b"repo/config.toml",
            b"repo/config-id",
            b"repo/store/type",
            b"repo/store/git_target",
            b"workspace-config.toml",
            b"workspace-config-id",
        ],
    ),
];

/// Directories that hold a program's state in a home, and mean something else in a workspace. In `.openclaw`, the guard
/// protects its own part.
const STATE_OF_HOMES: [&[u8]; 1] = [b".openclaw"];

fn first_of(path: &'static str) -> &'static [u8] {
    path.trim_matches('/').split('/').next().unwrap_or_default().as_bytes()
}

/// The tails by the name of their first component, and then the tails whose only component is a pattern.
#[derive(Default)]
pub(super) struct Tails {
    by_name: HashMap<&'static [u8], Vec<ShapeTail>>,
    by_pattern: Vec<(&'static [u8], ShapeTail)>,
}

impl Tails {
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static [u8], &ShapeTail)> {
        let named = self.by_name.iter().flat_map(|(first, tails)| tails.iter().map(|tail| (*first, tail)));
        named.chain(self.by_pattern.iter().map(|(first, tail)| (*first, tail)))
    }

    pub(super) fn after(&self, name: &[u8]) -> impl Iterator<Item = &ShapeTail> {
        let fitting = self.by_pattern.iter().filter(move |(first, _)| is_named(name, first));
        self.by_name.get(name).into_iter().flatten().chain(fitting.map(|(_, tail)| tail))
    }
}

/// Whether a component has a name of the lists, in which one star may stand for any text, or one `#` for a number.
pub(super) fn is_named(name: &[u8], listed: &[u8]) -> bool {
    let Some(at) = listed.iter().position(|byte| is_placeholder(*byte)) else { return name == listed };
    let inner = name.strip_prefix(&listed[..at]).and_then(|rest| rest.strip_suffix(&listed[at + 1..]));
    let is_number = |inner: &[u8]| !inner.is_empty() && inner.iter().all(u8::is_ascii_digit);
    inner.is_some_and(|inner| listed[at] == b'*' || is_number(inner))
}

/// Whether a byte of a listed name stands for others.
pub(super) fn is_placeholder(byte: u8) -> bool {
    matches!(byte, b'*' | b'#')
}

/// The end of a path that is protected in every directory.
#[derive(Clone, Debug)]
pub(super) struct ShapeTail {
    pub(super) set: Set,
    /// The components after the first.
    pub(super) rest: Vec<&'static [u8]>,
    /// Whether everything below the end belongs to it.
    pub(super) is_directory: bool,
    /// Whether the guard can ask about it.
    pub(super) may_be_asked: bool,
    /// Whether it counts in a home, too: only if no list of the home begins with the same name.
    pub(super) is_also_of_homes: bool,
}

/// The listed paths of every workspace, by first component. Paths in repositories are handled below.
pub(super) static TAILS: LazyLock<Tails> = LazyLock::new(|| {
    let mut tails = Tails::default();
    let of_homes: HashSet<&[u8]> = Set::ALL
        .into_iter()
        .flat_map(paths_of)
        .filter(|(start, _)| *start == Start::Home)
        .map(|(_, path)| first_of(path))
        .chain(STATE_OF_HOMES)
        .collect();
    for set in Set::ALL {
        for (_, path) in paths_of(set).filter(|(start, _)| *start == Start::Workspace) {
            let is_directory = path.ends_with('/');
            let mut components = path.trim_matches('/').split('/').map(str::as_bytes);
            let Some(first) = components.next() else { continue };
            if OTHER_REPOSITORIES.iter().all(|(name, _)| *name != first) {
                let may_be_asked = may_be_asked(path);
                let is_also_of_homes = !of_homes.contains(first);
                let rest = components.collect();
                let tail = ShapeTail { set, rest, is_directory, may_be_asked, is_also_of_homes };
                match first.iter().any(|byte| is_placeholder(*byte)) {
                    true => tails.by_pattern.push((first, tail)),
                    false => tails.by_name.entry(first).or_default().push(tail),
                }
            }
        }
    }
    tails
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_any_text_or_a_number() {
        for (name, listed, expected) in [
            ("a.b", "a.b", true),
            ("a.b.c", "a.*", true),
            ("a.", "a.*", true),
            ("a", "a*a", false),
            ("x-1000", "x-#", true),
            ("x-", "x-#", false),
            ("x-lib", "x-#", false),
            ("x-2.4.0.tgz", "x-#", false),
        ] {
            assert_eq!(is_named(name.as_bytes(), listed.as_bytes()), expected, "{name} {listed}");
        }
    }

    #[test]
    fn a_home_has_its_own_list_for_a_name_or_that_of_a_workspace() {
        let counts =
            |name: &str| TAILS.after(name.as_bytes()).map(|tail| tail.is_also_of_homes).collect::<Vec<_>>();
        for name in
            [".idea", ".devcontainer", ".rvmrc", ".rbenv-vars", "irb.rc", ".kakrc", "crush.json", ".junie"]
        {
            assert_eq!(counts(name), [true], "{name}");
        }
        for name in
            [".claude", ".codex", ".cursor", ".gemini", ".qwen", ".config", ".vscode", ".openclaw", ".envrc"]
        {
            assert!(!counts(name).is_empty() && counts(name).iter().all(|counts| !counts), "{name}");
        }
    }
}
