//! The names that git itself uses in a git directory (gitrepository-layout(5), git's path.c and builtin commands).
//!
//! git, its prompt and other tools read files there by name, and run commands that some of these files name. So a name
//! that is not in this list is protected like a configuration. Names in the list whose files run something have rules
//! of their own.

use super::components::{GIT_FILES, GIT_GUESTS, GIT_NESTS, GIT_REMOTES, GIT_UNFINISHED};
use super::git_locked::is_locked_name;

/// Directories, and files that are data, names of objects, or messages.
const NAMES: [&[u8]; 29] = [
    b"HEAD",
    b"AUTO_MERGE",
    b"MERGE_MODE",
    b"RENAMED-REF",
    b"EDIT_DESCRIPTION",
    b"ADD_EDIT.patch",
    b"addp-hunk-edit.diff",
    b"git-rebase-todo.backup",
    b"description",
    b"packed-refs",
    b"packed-refs.new",
    b"shallow",
    b"gc.pid",
    b"gc.log",
    b"gitk.cache",
    b"fsmonitor--daemon.ipc",
    b"fsmonitor--daemon",
    b"hooks",
    b"info",
    b"objects",
    b"refs",
    b"reftable",
    b"logs",
    b"lost-found",
    b"rr-cache",
    // Of a work tree.
    b"gitdir",
    b"locked",
    // Of git-svn(1) and git-subtree.
    b"svn",
    b"subtree-cache",
];
/// Directories of other tools that are data: git-lfs, git-annex, git-filter-repo.
const OTHERS: [&[u8]; 3] = [b"lfs", b"annex", b"filter-repo"];

/// Whether a name in a git directory, or in that of a work tree, is git's own or known to be data. The name may have a rule of
/// its own that protects it.
pub(super) fn is_known(name: &[u8]) -> bool {
    if GIT_GUESTS.contains(&name) || is_locked_name(name) || name.eq_ignore_ascii_case(b".git") {
        return true;
    }
    let name = name.strip_suffix(b".lock").unwrap_or(name);
    let is_upper = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    // `git bisect`, `git notes merge`, and the temporary files of editors and of lint-staged.
    let begins = |start: &[u8]| name.starts_with(start);
    let contains = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    let ruled: [&[&[u8]]; 4] = [&GIT_FILES, &GIT_NESTS, &GIT_REMOTES, &GIT_UNFINISHED];
    ruled.iter().any(|names| names.contains(&name))
        || NAMES.contains(&name)
        || OTHERS.contains(&name)
        || name.strip_suffix(b"_HEAD").is_some_and(is_upper)
        || name.strip_suffix(b"_MSG").is_some_and(is_upper)
        || contains(b"EDITMSG")
        || begins(b"BISECT_")
        || begins(b"NOTES_MERGE_")
        || begins(b"index")
        || begins(b"next-index-")
        || begins(b"lint-staged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_own_names_are_known_and_others_are_not() {
        for known in [
            "HEAD",
            "HEAD.lock",
            "FETCH_HEAD",
            "CHERRY_PICK_HEAD",
            "MERGE_MSG",
            "COMMIT_EDITMSG",
            ".COMMIT_EDITMSG.swp",
            "index.stash.12.lock",
            "packed-refs.lock",
            "BISECT_LOG",
            "refs",
        ] {
            assert!(is_known(known.as_bytes()), "{known}");
        }
        for other in ["MERGE_AUTOSTASH", "lazygit.yml", "sharedindex.0123", "x", "evil_HEAD", "machete", ""] {
            assert!(!is_known(other.as_bytes()), "{other}");
        }
    }
}
