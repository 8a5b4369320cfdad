//! git changes its configuration: the content is judged when git renames the lock, and exactly the judged content is
//! put in place (`own_copy`).

use guard_approvals::{Digest, FileChange};
use guard_policy::git_config::shown_changes;
use guard_policy::{GitConfigNames, Outcome, OwnGitParts, Request as Question, decide};
use rustix::fs::{FileType, RenameFlags};
use rustix::io::Errno;

use super::Request;
use super::own_copy::{OwnCopy, read, remove_judged};
use crate::audit::Operation;
use crate::judge::consent::AllPaths;
use crate::reply::HandlerResult;
use crate::resolve::{DirEntry, Identity, Object};

/// The lock of a configuration that the tree made, and the configuration.
pub struct Replacement<'e> {
    lock: &'e DirEntry,
    config: &'e DirEntry,
    names: &'static GitConfigNames,
}

/// Whether a name that the tree makes exclusively is the lock of a protected configuration.
pub fn is_lock(request: &Request<'_, '_>, entry: &DirEntry) -> bool {
    GitConfigNames::of_lock(&entry.name).is_some() && request.guard.shapes().protects_git_config(&entry.path)
}

/// Whether the last name of a path as written is that of a lock.
pub fn may_be_lock(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/')
        .find(|name| !name.is_empty())
        .and_then(GitConfigNames::of_lock)
        .is_some()
}

/// Whether an entry is such a lock that the tree made.
pub fn is_own_lock(request: &Request<'_, '_>, entry: &DirEntry) -> bool {
    entry.object.as_ref().is_some_and(|object| request.guard.is_own_git_lock(object))
        && is_lock(request, entry)
}

/// Returns what git wants if it renames a lock to its configuration.
pub fn replacement<'e>(
    request: &Request<'_, '_>,
    lock: &'e DirEntry,
    config: &'e DirEntry,
) -> Option<Replacement<'e>> {
    let names = GitConfigNames::of_lock(&lock.name)?;
    let directory = lock.path.strip_suffix(names.lock)?;
    let is_beside = config.name == names.config && config.path.strip_suffix(names.config) == Some(directory);
    let is_regular = |object: &Object| object.kind() == FileType::RegularFile;
    let is_git = is_beside
        && !lock.slash
        && !config.slash
        && lock.object.as_ref().is_some_and(is_regular)
        && config.object.as_ref().is_none_or(is_regular)
        && is_own_lock(request, lock);
    is_git.then_some(Replacement { lock, config, names })
}

/// Whether git may set this mode on a configuration. `git init` tries out whether the file system keeps modes, and sets
/// `core.fileMode` to false if it cannot change the owner's x (git-config(1)): that bit may change anywhere. In a
/// submodule's directory that the tree made, other permission bits may change, too, if nobody else may write
/// afterwards.
pub fn lets_chmod(request: &Request<'_, '_>, object: &Object, path: &[u8], mode: u32) -> bool {
    const OTHERS: u32 = libc::S_ISUID | libc::S_ISGID | libc::S_IWGRP | libc::S_IWOTH;
    let is_trial = (mode ^ object.stat.st_mode) & 0o7777 == libc::S_IXUSR;
    object.kind() == FileType::RegularFile
        && request.guard.shapes().protects_git_config(path)
        && (is_trial
            || mode & OTHERS & !object.stat.st_mode == 0 && request.guard.made.contains(parent_of(path)))
}

/// Judges the content, and puts it in place of the configuration. The caller holds the lock of all moves.
pub fn replace(request: &Request<'_, '_>, replacement: &Replacement<'_>) -> HandlerResult {
    let Replacement { lock, config, names } = replacement;
    let guard = request.guard;
    let all = AllPaths::new(request.caller);
    all.add(guard.judge_git_config(request.caller, &lock.path))?;
    all.add(guard.judge_git_config(request.caller, &config.path))?;
    let (old, mode) = match &config.object {
        Some(object) => (read(object)?, object.stat.st_mode & 0o777),
        None => (Vec::new(), lock.there()?.stat.st_mode & 0o644),
    };
    let new = read(lock.there()?)?;
    let directory = Identity::from_stat(&rustix::fs::fstat(&lock.parent)?);
    let remotes = guard.git_remotes.names(directory, &config.path);
    let own = OwnGitParts { directory: guard.made.contains(parent_of(&config.path)), remotes: &remotes };
    let question = Question::GitConfig { path: &config.path, old: &old, new: &new, own };
    let verdict = decide(guard.policy(), &question);
    match verdict.outcome {
        Outcome::Allow => {
            all.end()?;
            guard.log_change(request.caller, &config.path, &verdict)?;
        }
        Outcome::Ask => {
            let lines = shown_changes(&config.path, &old, &new, own).ok_or(Errno::ACCESS)?;
            let content = Some(Digest::of_parts([&old[..], &new]));
            let change = FileChange { lines, content };
            all.add(guard.judge_shown_change(request.caller, &config.path, change, verdict))?;
            all.end()?;
        }
        Outcome::Deny => {
            guard.settle(request.caller, Operation::Write, &config.path, &[], &verdict)?;
            all.end()?;
        }
    }
    request.perform(|| {
        let copy = OwnCopy { parent: &lock.parent, name: names.new, flags: RenameFlags::empty() };
        // Both are in the directory in which the lock was found, whatever its name is by now.
        copy.put(&new, mode, None, names.config)?;
        guard.git_remotes.note(directory, &config.path, &old, &new);
        remove_judged(request, lock)
    })
}

fn parent_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(path, |at| &path[..at])
}
