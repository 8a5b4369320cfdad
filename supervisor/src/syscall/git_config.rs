//! git's changes of files that decide what git runs, or where it writes. The guard judges the content when git renames
//! the lock, and puts exactly the judged content in place (`own_copy`).

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_approvals::{Digest, FileChange};
use guard_policy::git_config::{MAX_BYTES, parse, shown_changes};
use guard_policy::{
    GitContent, GitLockedNames, GitPathsContent, MAX_GIT_PATHS_BYTES, ObjectFormat, Outcome, OwnGitParts,
    Request as Question, decide,
};
use rustix::fs::{FileType, Mode, OFlags, Timespec};
use rustix::io::Errno;

use super::Request;
use super::own_copy::{Displaced, OwnCopy, read, refuse_changed, remove_judged};
use crate::audit::Operation;
use crate::judge::anchored_path::{AnchoredPath, parent_of};
use crate::judge::consent::AllPaths;
use crate::kernel::errno;
use crate::reply::HandlerResult;
use crate::resolve::{DirEntry, Identity, Object};

/// The lock of a file that the tree made, and the file.
pub struct Replacement<'e> {
    lock: &'e DirEntry,
    file: &'e DirEntry,
    names: &'static GitLockedNames,
}

/// Whether a name that the tree makes exclusively is the lock of a protected file.
pub fn is_lock(request: &Request<'_, '_>, entry: &DirEntry) -> bool {
    GitLockedNames::of_lock(&entry.name).is_some()
        && request.guard.shapes().protects_git_locked(AnchoredPath::from_entry(entry))
}

/// Whether the last name of a path as written is that of a lock.
pub fn may_be_lock(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/')
        .find(|name| !name.is_empty())
        .and_then(GitLockedNames::of_lock)
        .is_some()
}

/// Whether an entry is the lock of a protected file, and the tree made it.
pub fn is_own_lock(request: &Request<'_, '_>, entry: &DirEntry) -> bool {
    entry.object.as_ref().is_some_and(|object| request.guard.is_own_git_lock(object))
        && is_lock(request, entry)
}

/// Whether an entry is a lock that the tree made, in any repository, of a file that names paths.
pub fn is_trees_lock_of_paths(request: &Request<'_, '_>, entry: &DirEntry) -> bool {
    let is_of_paths = GitLockedNames::of_lock(&entry.name).is_some_and(GitLockedNames::names_paths);
    let is_regular = entry.object.as_ref().is_some_and(|object| object.kind() == FileType::RegularFile);
    let shapes = request.guard.shapes();
    is_of_paths
        && is_regular
        && (is_own_lock(request, entry) || shapes.is_own(AnchoredPath::from_entry(entry)))
}

/// Whether an entry is a protected file that names paths. It may be removed: what comes in its place is judged.
pub fn is_of_paths(request: &Request<'_, '_>, entry: &DirEntry) -> bool {
    GitLockedNames::of_file(&entry.name).is_some_and(GitLockedNames::names_paths)
        && entry.object.as_ref().is_some_and(|object| object.kind() == FileType::RegularFile)
        && request.guard.shapes().protects_git_locked(AnchoredPath::from_entry(entry))
}

/// Returns the replacement that git wants, if it renames a lock to the lock's file.
pub fn replacement<'e>(
    request: &Request<'_, '_>,
    lock: &'e DirEntry,
    file: &'e DirEntry,
) -> Option<Replacement<'e>> {
    let names = GitLockedNames::of_lock(&lock.name)?;
    let directory = lock.path.strip_suffix(names.lock)?;
    let is_beside = file.name == names.file && file.path.strip_suffix(names.file) == Some(directory);
    let is_regular = |object: &Object| object.kind() == FileType::RegularFile;
    let is_git = is_beside
        && !lock.slash
        && !file.slash
        && lock.object.as_ref().is_some_and(is_regular)
        && file.object.as_ref().is_none_or(is_regular)
        && is_own_lock(request, lock);
    is_git.then_some(Replacement { lock, file, names })
}

/// Whether git may set this mode on a configuration. `git init` tries out whether the file system keeps modes, and sets
/// `core.fileMode` to false if it cannot change the owner's x (git-config(1)): that bit may change anywhere. In a
/// submodule's directory that the tree made, other permission bits may change, too, if nobody else may write
/// afterwards.
pub fn lets_chmod(request: &Request<'_, '_>, object: &Object, place: AnchoredPath<'_>, mode: u32) -> bool {
    const OTHERS: u32 = libc::S_ISUID | libc::S_ISGID | libc::S_IWGRP | libc::S_IWOTH;
    let is_trial = (mode ^ object.stat.st_mode) & 0o7777 == libc::S_IXUSR;
    object.kind() == FileType::RegularFile
        && request.guard.shapes().protects_git_locked(place)
        && (is_trial
            || mode & OTHERS & !object.stat.st_mode == 0
                && request.guard.created.directories.has_above(place, parent_of(place.path)))
}

/// Judges the content, and puts it in place of the file. The caller holds the lock of all moves.
pub fn replace(request: &Request<'_, '_>, replacement: &Replacement<'_>) -> HandlerResult {
    match replacement.names.content {
        GitContent::Config => replace_config(request, replacement),
        GitContent::Index => {
            let path = &replacement.file.path;
            let format = object_format(replacement.file.parent.as_fd());
            if format.is_none() {
                let text = "git's configuration beside this index, which sets its format, cannot be read";
                request.guard.refuse(request.caller, Operation::Write, path, text)?;
            }
            // Without a format the guard has refused, unless it only observes.
            replace_paths(request, replacement, GitPathsContent::Index(format.unwrap_or_default()))
        }
        GitContent::MergeRr => replace_paths(request, replacement, GitPathsContent::MergeRr),
    }
}

fn replace_config(request: &Request<'_, '_>, replacement: &Replacement<'_>) -> HandlerResult {
    let Replacement { lock, file: config, .. } = replacement;
    let guard = request.guard;
    let all = AllPaths::new(request.caller);
    all.add(guard.judge_git_locked(request.caller, AnchoredPath::from_entry(lock)))?;
    all.add(guard.judge_git_locked(request.caller, AnchoredPath::from_entry(config)))?;
    let there = config.object.as_ref().map(|config| read(config, MAX_BYTES)).transpose()?;
    let old = there.as_ref().map_or(&[][..], |there| &there.bytes);
    let new = read(lock.there()?, MAX_BYTES)?.bytes;
    let directory = Identity::from_stat(&rustix::fs::fstat(&lock.parent)?);
    let remotes = guard.created.git_remotes.names(directory, &config.path, old);
    let own = OwnGitParts {
        directory: guard.created.directories.contains_open(config.parent.as_fd()),
        remotes: &remotes,
    };
    let question = Question::GitConfig { path: &config.path, old, new: &new, own };
    let verdict = decide(guard.policy(), &question);
    match verdict.outcome {
        Outcome::Allow => {
            all.end()?;
            guard.log_change(request.caller, &config.path, &verdict)?;
        }
        Outcome::Ask => {
            let lines = shown_changes(guard.policy(), &config.path, old, &new, own);
            let lines = lines.ok_or(Errno::ACCESS)?;
            let content = Some(Digest::of_parts([old, &new]));
            let change = FileChange { lines, content };
            all.add(guard.judge_shown_change(request.caller, &config.path, change, verdict))?;
            all.end()?;
        }
        Outcome::Deny => {
            guard.settle(request.caller, Operation::Write, &config.path, &[], &verdict)?;
            all.end()?;
        }
    }
    let displaced = match &config.object {
        // Only a session that observes comes here with more than was read.
        Some(_) if old.len() > MAX_BYTES => Displaced::Anything,
        Some(object) => Displaced::Judged(object, old),
        None => Displaced::Nothing,
    };
    let done = request.perform(|| {
        put(replacement, &new, displaced)?;
        guard.created.git_remotes.note(directory, &config.path, old, &new);
        remove_judged(request, lock)
    });
    refuse_changed(request, &config.path, done)
}

/// As [`replace`], for a file that names paths. Nobody is asked, and what is fine is not recorded: git writes its index with
/// almost every command.
fn replace_paths(
    request: &Request<'_, '_>,
    replacement: &Replacement<'_>,
    content: GitPathsContent,
) -> HandlerResult {
    let Replacement { lock, file, .. } = replacement;
    let guard = request.guard;
    let all = AllPaths::new(request.caller);
    all.add(guard.judge_git_locked(request.caller, AnchoredPath::from_entry(lock)))?;
    all.add(guard.judge_git_locked(request.caller, AnchoredPath::from_entry(file)))?;
    let new = read(lock.there()?, MAX_GIT_PATHS_BYTES)?.bytes;
    let verdict = decide(guard.policy(), &Question::GitPaths { path: &file.path, content, new: &new });
    if verdict.outcome != Outcome::Allow {
        guard.settle(request.caller, Operation::Write, &file.path, &[], &verdict)?;
    }
    all.end()?;
    request.perform(|| {
        put(replacement, &new, Displaced::Anything)?;
        remove_judged(request, lock)
    })
}

/// Puts the content in place. Both names are in the directory in which the lock was found, whatever its name is by now.
fn put(replacement: &Replacement<'_>, new: &[u8], displaced: Displaced<'_>) -> Result<(), Errno> {
    let Replacement { lock, file, names } = replacement;
    let mode = match &file.object {
        Some(object) => object.stat.st_mode & 0o777,
        None => lock.there()?.stat.st_mode & 0o644,
    };
    // git compares the time of the index with those of files (git's racy-git): so the time must be that of git's own
    // write.
    let stat = rustix::fs::fstat(&lock.there()?.fd)?;
    let modified = Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ };
    let copy = OwnCopy { parent: &lock.parent, name: names.new, displaced, modified: Some(modified) };
    copy.put(new, mode, None, names.file)
}

/// The object format that the configuration of an index's repository names. Where an index is judged, the tree cannot
/// change that. `None` if the configuration cannot be read.
fn object_format(directory: BorrowedFd<'_>) -> Option<ObjectFormat> {
    // The git directory of a work tree says where the repository is (gitrepository-layout(5)).
    let mut common = read_in(directory, OsStr::new("commondir")).ok()?;
    while common.pop_if(|byte| matches!(*byte, b'\n' | b'\r')).is_some() {}
    let config = Path::new(OsStr::from_bytes(&common)).join("config");
    let text = read_in(directory, config.as_os_str()).ok()?;
    let is_sha256 = parse(&text).ok()?.iter().any(|entry| {
        entry.name == b"extensions.objectformat"
            && entry.value.as_deref().is_some_and(|value| value.eq_ignore_ascii_case(b"sha256"))
    });
    Some(if is_sha256 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 })
}

/// The content of a file, named from a directory; nothing if there is none.
fn read_in(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut text = Vec::new();
    match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => File::from(file).read_to_end(&mut text).map_err(errno::from_io)?,
        Err(Errno::NOENT) => 0,
        Err(error) => return Err(error),
    };
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_format_is_that_of_the_repository() {
        let ground = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = ground.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let format = |name: &str| object_format(File::open(ground.path().join(name)).unwrap().as_fd());
        // Around a repository lies what does not count.
        write("config", "[extensions]\nobjectformat = sha256\n");
        write("worktrees/.git/config", "[core]\nbare = false\n");
        write("worktrees/.git/modules/x/config", "[extensions]\nobjectformat = sha256\n");
        write("worktrees/.git/worktrees/w/commondir", "../..\n");
        write("worktrees/.git/modules/x/worktrees/w/commondir", "../..");
        write("worktrees/none/x", "");
        write("broken/config", "[");
        for (directory, expected) in [
            ("worktrees/.git", Some(ObjectFormat::Sha1)),
            ("worktrees/.git/modules/x", Some(ObjectFormat::Sha256)),
            ("worktrees/.git/worktrees/w", Some(ObjectFormat::Sha1)),
            ("worktrees/.git/modules/x/worktrees/w", Some(ObjectFormat::Sha256)),
            ("worktrees/none", Some(ObjectFormat::Sha1)),
            ("broken", None),
        ] {
            assert_eq!(format(directory), expected, "{directory}");
        }
    }
}
