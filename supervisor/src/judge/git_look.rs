//! What a directory has of a git repository, whatever its name is.

use std::os::fd::AsFd;

use guard_policy::{GitLook, GitPart};
use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

use super::made_directories::MadeDirectories;

/// What a directory has of a git repository. It is asked for one name at a time: most directories have none of them.
pub struct Look<F>(pub F);

impl<F: Fn(&[u8]) -> bool> Look<F> {
    /// Whether git takes it for a repository (setup.c, `is_git_directory`), or would with one more name.
    pub fn is_repository(&self) -> bool {
        let Look(has) = self;
        has(b"objects") && (has(b"refs") || has(b"HEAD")) || has(b"commondir") && has(b"HEAD")
    }

    /// Whether git takes it for one as it is. No run takes a name away on which that depends.
    pub fn is_whole(&self) -> bool {
        let Look(has) = self;
        has(b"HEAD") && (has(b"commondir") || has(b"objects") && has(b"refs"))
    }

    /// Whether it has what git would run or be configured by.
    pub fn is_configured(&self) -> bool {
        [&b"config"[..], b"config.worktree", b"commondir", b"hooks"].iter().any(|name| self.0(name))
    }

    /// Whether it says which branch is checked out.
    pub fn has_head(&self) -> bool {
        self.0(b"HEAD")
    }
}

/// What the directory at a real path has of a git repository.
pub fn look_of(directory: &[u8]) -> Look<impl Fn(&[u8]) -> bool> {
    Look(move |name: &[u8]| is_there(&[directory, b"/", name].concat()))
}

/// Whether the directory is such a repository that this is a part of it.
pub fn is_part_of_repository(part: &GitPart<'_>) -> bool {
    let look = look_of(part.directory);
    match part.look {
        GitLook::Partial => look.is_repository(),
        GitLook::Whole => look.is_whole(),
    }
}

/// Whether a path that would be part of a bare repository lies in a work tree there: git has put a `.git` file into one of the
/// directories, which the tree cannot make in a directory of the operator's.
pub fn is_in_work_tree(part: &GitPart<'_>, path: &[u8], made: &MadeDirectories) -> bool {
    part.work_trees(path)
        .any(|directory| made.contains(directory) || is_there(&[directory, b"/.git"].concat()))
}

fn is_there(path: &[u8]) -> bool {
    let found = rustix::fs::statat(CWD.as_fd(), path, AtFlags::SYMLINK_NOFOLLOW);
    // In a directory that cannot be searched, anything could be.
    !matches!(found, Err(Errno::NOENT | Errno::NOTDIR))
}
