//! Files of a git directory that git changes by renaming a lock, and the names that take part.

use crate::programs::name::basename;

/// What such a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GitContent {
    /// git-config(1): judged by key.
    Config,
    /// gitformat-index(5): the files of the work tree, by path.
    Index,
    /// The files with conflicts that git-rerere(1) remembers, by path.
    MergeRr,
}

/// A file, and the files beside it while it changes. git writes the new content to the lock and renames the lock. The
/// guard puts a file of its own in place instead, because a process that has the lock open could write to it
/// afterwards.
#[derive(Debug, PartialEq, Eq)]
pub struct GitLockedNames {
    /// What it contains.
    pub content: GitContent,
    /// What git reads.
    pub file: &'static [u8],
    /// git's lock, which keeps other processes from changing the file at the same time (git's lockfile.h).
    pub lock: &'static [u8],
    /// The guard's own file, which the tree neither makes nor writes.
    pub new: &'static [u8],
}

impl GitLockedNames {
    /// Whether the file holds paths, and is no configuration.
    pub fn names_paths(&self) -> bool {
        self.content != GitContent::Config
    }

    pub(super) fn names(&self) -> [&'static [u8]; 3] {
        [self.file, self.lock, self.new]
    }

    /// Returns the [`GitLockedNames`] whose lock has this name.
    pub fn of_lock(name: &[u8]) -> Option<&'static GitLockedNames> {
        GIT_LOCKED.iter().find(|names| names.lock == name)
    }

    /// Returns whether this is the name of such a file, or of its lock.
    pub fn is_lock_or_file(name: &[u8]) -> bool {
        is_lock_or_file(name)
    }

    /// Returns whether a path is that of a file that holds paths, or of the lock of such a file.
    pub fn is_of_paths(path: &[u8]) -> bool {
        let name = basename(path);
        GIT_LOCKED.iter().any(|names| names.names_paths() && [names.file, names.lock].contains(&name))
    }

    /// Returns the [`GitLockedNames`] whose file has this name.
    pub fn of_file(name: &[u8]) -> Option<&'static GitLockedNames> {
        GIT_LOCKED.iter().find(|names| names.file == name)
    }
}

/// The configuration of a repository, that of one of its work trees, and the files by which git writes to paths that they
/// name.
pub(super) const GIT_LOCKED: [GitLockedNames; 4] = [
    GitLockedNames {
        content: GitContent::Config,
        file: b"config",
        lock: b"config.lock",
        new: b"config.openclaw-guard",
    },
    GitLockedNames {
        content: GitContent::Config,
        file: b"config.worktree",
        lock: b"config.worktree.lock",
        new: b"config.worktree.openclaw-guard",
    },
    GitLockedNames {
        content: GitContent::Index,
        file: b"index",
        lock: b"index.lock",
        new: b"index.openclaw-guard",
    },
    GitLockedNames {
        content: GitContent::MergeRr,
        file: b"MERGE_RR",
        lock: b"MERGE_RR.lock",
        new: b"MERGE_RR.openclaw-guard",
    },
];

pub(super) fn is_locked_name(name: &[u8]) -> bool {
    GIT_LOCKED.iter().any(|locked| locked.names().contains(&name))
}

pub(super) fn is_lock_or_file(name: &[u8]) -> bool {
    GIT_LOCKED.iter().any(|locked| [locked.file, locked.lock].contains(&name))
}

/// Whether this is a configuration, which may be asked about.
pub(super) fn is_config(name: &[u8]) -> bool {
    configs().any(|config| config.file == name)
}

pub(super) fn is_config_or_lock(name: &[u8]) -> bool {
    configs().any(|config| [config.file, config.lock].contains(&name))
}

fn configs() -> impl Iterator<Item = &'static GitLockedNames> {
    GIT_LOCKED.iter().filter(|locked| !locked.names_paths())
}
