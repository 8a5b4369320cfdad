//! The persistence places: files and directories from which a usual Linux or a common tool runs code by
//! itself.
//!
//! `~/` is each home, `WORK/` each workspace, `GIT/` each git directory. Places in `~/.config/`, `~/.local/share/` and
//! `~/.cache/` also count in `$XDG_CONFIG_HOME`, `$XDG_DATA_HOME` and `$XDG_CACHE_HOME`. A trailing slash means
//! everything in a directory; a star stands for any text without a slash, and a `#` in the first name of a workspace's place
//! for a number. Beside what shells read, `NAME.zwc` counts too.

use std::sync::LazyLock;

use super::Set;
use super::listed_places::LISTS;

/// The directory that a place is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Root,
    Home,
    Config,
    Data,
    Cache,
    Workspace,
    Git,
}

/// Returns each place of a set: the directory it is relative to, and the rest with its leading slash.
pub(super) fn paths_of(set: Set) -> impl Iterator<Item = (Start, &'static str)> {
    let of_set = LISTS.iter().filter(move |(other, _)| *other == set);
    let scripts = AGENTS_SCRIPTS.iter().map(String::as_str).filter(move |_| set == Set::Agents);
    let with_blanks = EDITORS_WITH_BLANKS.into_iter().filter(move |_| set == Set::Editors);
    of_set.flat_map(|(_, list)| list.split_whitespace()).chain(scripts).chain(with_blanks).flat_map(|path| {
        let below = |(prefix, start)| {
            let rest = path.strip_prefix(prefix)?;
            rest.starts_with('/').then_some((start, rest))
        };
        let own = [("~", Start::Home), ("WORK", Start::Workspace), ("GIT", Start::Git), ("", Start::Root)];
        let moved =
            [("~/.config", Start::Config), ("~/.local/share", Start::Data), ("~/.cache", Start::Cache)];
        own.into_iter().find_map(below).into_iter().chain(moved.into_iter().find_map(below))
    })
}

/// Returns the places of the agents' set, as they are listed.
pub(super) fn listed_of_agents() -> impl Iterator<Item = &'static str> {
    let lists = LISTS.iter().filter(|(set, _)| *set == Set::Agents);
    lists.flat_map(|(_, list)| list.split_whitespace())
}

/// The sets with files that change in ordinary work on a project: they are asked about where somebody can be asked. The
/// others decide what runs in the whole account.
const ASKED: [Set; 5] = [Set::Git, Set::Direnv, Set::Editors, Set::Packages, Set::Agents];

/// Returns whether a place is asked about unless the policy says otherwise: what belongs to a project, and single files of
/// a home. In a home's directories, tools change many files at a time.
pub(super) fn is_asked(set: Set, start: Start, rest: &str) -> bool {
    let is_of_project = matches!(start, Start::Workspace | Start::Git);
    let is_single = matches!(start, Start::Home | Start::Config) && !rest.ends_with('/');
    ASKED.contains(&set) && (is_of_project || is_single) && may_be_asked(rest)
}

/// Returns whether a place can be asked about at all. Excluded are locks, by which their owner keeps others from a
/// file, what a project says to the guard, and caches, which no human can read.
pub(super) fn may_be_asked(rest: &str) -> bool {
    !rest.ends_with(".lock")
        && !rest.starts_with("/.openclaw/")
        && !CODE_CACHES.iter().any(|cache| rest.starts_with(cache))
}

/// Caches of compiled code, which programs make in any directory.
const CODE_CACHES: [&str; 3] = ["/node-compile-cache/", "/v8-compile-cache-#/", "/jiti/openclaw/"];

/// Places of the editors' set whose names have blanks, which the lists cannot have.
const EDITORS_WITH_BLANKS: [&str; 4] = [
    "~/.config/Code - Insiders/User/",
    "~/.config/Code - OSS/User/",
    "~/.config/Windsurf - Next/User/",
    "~/.config/Trae CN/User/",
];

/// The directories of agents that have a profile, which opens them to the agent.
const OF_AGENTS: [&str; 4] = ["~/.claude", "~/.codex", "~/.gemini", "~/.aider"];
/// What the name of a script ends with. None of these agents keeps its own state in such a file directly in its directory;
/// their settings name such files as hooks, helpers, servers and status lines.
const SCRIPTS: [&str; 14] =
    ["js", "mjs", "cjs", "ts", "mts", "sh", "bash", "zsh", "fish", "py", "rb", "pl", "lua", "php"];
static AGENTS_SCRIPTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of = |directory: &'static str| SCRIPTS.map(|end| format!("{directory}/*.{end}"));
    OF_AGENTS.into_iter().flat_map(of).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_below_a_start_and_has_one_star() {
        for (set, list) in LISTS {
            for path in list.split_whitespace() {
                let starts = ["~/", "/", "WORK/", "GIT/"];
                assert!(starts.iter().any(|start| path.starts_with(start)), "{set:?} {path}");
                assert!(!path.contains('?') && !path.contains("//"), "{set:?} {path}");
                let (directory, name) =
                    path.trim_end_matches('/').rsplit_once('/').expect("it is below something");
                // Only the last name may have a star: a star in a directory's name does not tell where a link there leads.
                let is_of_cache = path.starts_with("~/.cache/*/");
                assert!((!directory.contains('*') || is_of_cache) && name != "*", "{set:?} {path}");
                assert!(path.matches(['*', '#']).count() < 2, "{set:?} {path}");
                let is_numbered =
                    path.trim_start_matches("WORK/").split('/').next().is_some_and(|name| name.contains('#'));
                assert!(!path.contains('#') || is_numbered, "{set:?} {path}");
                assert!(!path.split('/').any(|name| name == "." || name == ".."), "{set:?} {path}");
            }
        }
    }

    #[test]
    fn no_path_is_listed_twice() {
        let mut seen = std::collections::HashSet::new();
        for path in LISTS.iter().flat_map(|(_, list)| list.split_whitespace()) {
            assert!(seen.insert(path.trim_end_matches('/')), "{path}");
        }
    }

    #[test]
    fn moved_configuration_is_protected_at_both_paths() {
        let of = |set: Set, rest: &str| {
            paths_of(set).filter(|(_, other)| *other == rest).map(|p| p.0).collect::<Vec<_>>()
        };
        assert_eq!(of(Set::Shell, "/.bashrc"), [Start::Home]);
        assert_eq!(of(Set::Shell, "/fish/"), [Start::Config]);
        assert_eq!(of(Set::Shell, "/.config/fish/"), [Start::Home]);
        assert_eq!(of(Set::Autostart, "/applications/"), [Start::Data]);
        assert_eq!(of(Set::Git, "/hooks/"), [Start::Git]);
        assert_eq!(of(Set::Preload, "/etc/ld.so.preload"), [Start::Root]);
        assert_eq!(of(Set::Editors, "/Code - Insiders/User/"), [Start::Config]);
    }

    #[test]
    fn caches_of_what_starts_by_itself_are_listed() {
        for (set, rest) in [
            (Set::Shell, "/fsh/"),
            (Set::Shell, "/fast-syntax-highlighting/"),
            (Set::Git, "/pre-commit/repo*/"),
            (Set::Git, "/prek/hooks/"),
            (Set::Git, "/trunk/"),
            (Set::Shell, "/zinit/"),
            (Set::Shell, "/zi/"),
            (Set::Shell, "/zsh-utils/"),
            (Set::Login, "/qtile/"),
            (Set::Login, "/py3status_cache.data"),
            (Set::Editors, "/nvim/"),
            (Set::Editors, "/dpp/"),
            (Set::Agents, "/openclaw/"),
            (Set::Editors, "/*-compile-cache/"),
            (Set::Agents, "/copilot/pkg/"),
            (Set::Agents, "/github-copilot-sdk*/"),
            (Set::Agents, "/codex-runtimes/"),
        ] {
            assert!(paths_of(set).any(|listed| listed == (Start::Cache, rest)), "{rest}");
        }
        // Each run of pre-commit writes in this directory.
        assert!(paths_of(Set::Git).all(|listed| listed != (Start::Cache, "/pre-commit/")));
    }

    #[test]
    fn what_agents_with_a_profile_start_from_their_directories_is_listed() {
        for rest in [
            "/.claude/workflows/",
            "/.codex/automations/",
            "/.gemini/trusted_hooks.json",
            "/.gemini/config/hooks.json",
            "/.gemini/config/mcp_config.json",
            "/.gemini/antigravity-cli/settings.json",
            "/.gemini/antigravity-cli/plugins/",
        ] {
            assert!(paths_of(Set::Agents).any(|listed| listed == (Start::Home, rest)), "{rest}");
        }
    }
}
