//! What a directory has of a git repository, whatever its name is.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::{GitLook, GitPart};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::anchored_path::AnchoredPath;
use super::link_text::absolute;
use super::made_directories::MadeDirectories;
use crate::config::git_repositories::named_by_git_directory;
use crate::config::realpath::Links;

/// What a directory has of a git repository. The guard looks for one name at a time: most directories have none of
/// them.
pub struct Look<F>(pub F);

impl<F: Fn(&[u8]) -> bool> Look<F> {
    /// Whether git takes the directory for a repository (setup.c, `is_git_directory`), or would with one more name.
    pub fn is_repository(&self) -> bool {
        let Look(has) = self;
        has(b"objects") && (has(b"refs") || has(b"HEAD")) || has(b"commondir") && has(b"HEAD")
    }

    /// Whether git takes the directory for a repository as it is. No run can remove a name on which that depends.
    pub fn is_whole(&self) -> bool {
        let Look(has) = self;
        has(b"HEAD") && (has(b"commondir") || has(b"objects") && has(b"refs"))
    }

    /// Whether the directory has files that git would run or read its configuration from.
    pub fn is_configured(&self) -> bool {
        [&b"config"[..], b"config.worktree", b"commondir", b"hooks"].iter().any(|name| self.0(name))
    }

    /// Whether the directory says which branch is checked out.
    pub fn has_head(&self) -> bool {
        self.0(b"HEAD")
    }
}

/// What a directory around a place has of a git repository.
pub fn look_of(place: AnchoredPath<'_>, directory: &[u8]) -> Look<impl Fn(&[u8]) -> bool> {
    Look(move |name: &[u8]| is_there(place, directory, name))
}

/// Whether the directory around `place` is a repository of the kind that has `part`.
pub fn is_part_of_repository(part: &GitPart<'_>, place: AnchoredPath<'_>) -> bool {
    let look = look_of(place, part.directory);
    match part.look {
        GitLook::Partial => look.is_repository(),
        GitLook::Whole => look.is_whole(),
    }
}

/// Whether a place that would be part of a bare repository lies in a work tree: the tree has made one of the
/// directories, or somebody else has put a `.git` there. A directory that the guard cannot search counts as one without
/// such a `.git`. A directory that the repository's configuration names does not count as a work tree. It may be a
/// missing directory of hooks, which the tree could make.
pub fn is_in_work_tree(part: &GitPart<'_>, place: AnchoredPath<'_>, made: &MadeDirectories) -> bool {
    part.work_trees(place.path)
        .any(|directory| made.has_above(place, directory) || has_git_of_others(place, directory, made))
        && !is_named_by_configuration(part, place.path)
}

/// Whether the configuration of the repository names a path, or something on the way to it or below it. If it cannot be
/// read, it may name the path. The tree can move no repository of the operator's, so the repository at this path is the one
/// that the call acts in.
pub fn is_named_by_configuration(part: &GitPart<'_>, path: &[u8]) -> bool {
    let directory = Path::new(OsStr::from_bytes(part.directory));
    let links = Links::default();
    let named = named_by_git_directory(&links, directory, directory);
    let is_on_the_way = |named: &PathBuf| {
        let named = absolute(named.as_os_str().as_bytes());
        Path::new(OsStr::from_bytes(path)).starts_with(OsStr::from_bytes(&named))
            || Path::new(OsStr::from_bytes(&named)).starts_with(OsStr::from_bytes(path))
    };
    links.shut().is_some() || named.iter().any(is_on_the_way)
}

fn has_git_of_others(place: AnchoredPath<'_>, directory: &[u8], made: &MadeDirectories) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open = |directory: OwnedFd| rustix::fs::openat2(directory, ".git", flags, Mode::empty(), no_links);
    place.stat_in(directory, b".git").is_ok()
        && place.above(directory).and_then(open).is_ok_and(|git| !made.contains_open(git.as_fd()))
}

/// Whether git certainly takes a directory for a repository, or would with one more name. A name that the guard cannot
/// look at counts as missing.
pub fn is_certainly_repository(place: AnchoredPath<'_>, directory: &[u8]) -> bool {
    Look(|name: &[u8]| place.stat_in(directory, name).is_ok()).is_repository()
}

fn is_there(place: AnchoredPath<'_>, directory: &[u8], name: &[u8]) -> bool {
    // In a directory that cannot be searched, anything could be.
    let look = || !matches!(place.stat_in(directory, name), Err(Errno::NOENT | Errno::NOTDIR));
    match place.heads(directory) {
        Some((heads, levels)) if name == b"HEAD" => heads.look_once(levels, look),
        _ => look(),
    }
}
