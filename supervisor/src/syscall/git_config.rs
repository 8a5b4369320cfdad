//! git changes its configuration: the content is judged when git renames the lock, and exactly the judged content is
//! put in place.
//!
//! The tree may still hold its lock open, mapped or under another name. So its file never becomes the configuration: the
//! guard writes the bytes that it judged to a file of its own, under a name that the tree can neither make nor write, and
//! renames that.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

use guard_policy::git_config::MAX_BYTES;
use guard_policy::{GitConfigNames, Outcome, OwnGitParts, Request as Question, decide};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::Request;
use crate::audit::Operation;
use crate::judge::consent::AllPaths;
use crate::reply::HandlerResult;
use crate::resolve::{DirEntry, Identity, Object, link_to};

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
            guard.log_git_config(request.caller, &config.path, &verdict)?;
        }
        _ => {
            guard.settle(request.caller, Operation::Write, &config.path, &[], &verdict)?;
            all.end()?;
        }
    }
    request.perform(|| {
        write(lock, names.new, &new, Mode::from_raw_mode(mode))?;
        // Both are in the directory in which the lock was found, whatever its name is by now.
        let put = rustix::fs::renameat(&lock.parent, names.new, &lock.parent, names.config);
        if put.is_err() {
            let _ = rustix::fs::unlinkat(&lock.parent, names.new, AtFlags::empty());
        }
        put?;
        guard.git_remotes.note(directory, &config.path, &old, &new);
        remove_own(request, lock)
    })
}

fn parent_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(path, |at| &path[..at])
}

/// Reads a file to its end, once. One byte more than is judged shows that there is more.
fn read(object: &Object) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(link_to(object.fd.as_fd()), flags, Mode::empty())?);
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(bytes)
}

/// Writes a new file beside the lock.
fn write(lock: &DirEntry, name: &[u8], bytes: &[u8], mode: Mode) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let make = || rustix::fs::openat2(&lock.parent, name, flags, Mode::RUSR | Mode::WUSR, links);
    let made = match make() {
        // A guard that was killed left it: whoever has the lock is alone.
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(&lock.parent, name, AtFlags::empty())?;
            make()
        }
        made => made,
    };
    let mut file = File::from(made?);
    let written = file.write_all(bytes).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    let written = written.and_then(|()| rustix::fs::fchmod(&file, mode));
    if let Err(error) = written {
        let _ = rustix::fs::unlinkat(&lock.parent, name, AtFlags::empty());
        return Err(error);
    }
    Ok(())
}

/// Removes the tree's lock, if it is still the one that was judged.
fn remove_own(request: &Request<'_, '_>, lock: &DirEntry) -> Result<(), Errno> {
    let there = rustix::fs::statat(&lock.parent, &lock.name[..], AtFlags::SYMLINK_NOFOLLOW);
    let judged = Identity::from_stat(&lock.there()?.stat);
    if there.is_ok_and(|stat| Identity::from_stat(&stat) == judged) {
        rustix::fs::unlinkat(&lock.parent, &lock.name[..], AtFlags::empty())?;
    }
    request.guard.floor.grants().recheck_below(&lock.path);
    Ok(())
}
