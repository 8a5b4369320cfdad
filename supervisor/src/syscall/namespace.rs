//! Names in directories: mkdir, mknod, symlink, unlink, rmdir.

use std::os::fd::AsFd;
use std::time::Instant;

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::attributes::keeps_owner_out;
use super::{Request, git_config, set_id};
use crate::caller::CallerPath;
use crate::inflight;
use crate::judge::anchored_path::AnchoredPath;
use crate::judge::consent::AllPaths;
use crate::reply::{HandlerResult, Reply};
use crate::resolve::{DirEntry, Dots, Identity, Last, Target};

/// Resolves the entry that a creating call names: it must be free, and `judge` must allow creating it.
fn free_entry(
    request: &Request<'_, '_>,
    dirfd: i32,
    path: u64,
    judge: impl Fn(&Request<'_, '_>, &DirEntry) -> Result<(), Errno>,
) -> Result<DirEntry, Errno> {
    let path = request.caller.path(path)?;
    let target = request.guard.resolver.resolve(request.caller, dirfd, path.as_bytes(), Last::Name)?;
    match target {
        Target::Entry(entry) => {
            entry.free()?;
            judge(request, &entry)?;
            request.guard.starts.scripts.changed(request.caller, &request.guard.tree, None, &entry.path);
            Ok(entry)
        }
        Target::Object { .. } => Err(Errno::EXIST),
    }
}

fn judge(request: &Request<'_, '_>, entry: &DirEntry) -> Result<(), Errno> {
    request.guard.judge_change(request.caller, AnchoredPath::from_entry(entry))
}

pub fn mkdir(request: &Request<'_, '_>, dirfd: i32, path: u64, mode: i32) -> HandlerResult {
    // Holds the rename lock: a file that is being renamed must not become a directory meanwhile, because a directory is
    // judged by everything below it.
    let _alone = super::rename::alone(request)?;
    let judge = |request: &Request<'_, '_>, entry: &DirEntry| {
        request.guard.judge_mkdir(request.caller, AnchoredPath::from_entry(entry))
    };
    let entry = free_entry(request, dirfd, path, judge)?;
    let umask = request.adopt_umask()?;
    // The kernel drops the other bits of a directory's mode (S_IRWXUGO | S_ISVTX).
    let mode = Mode::from_raw_mode(mode as u32 & 0o1777);
    if keeps_owner_out(mode - umask) {
        request.guard.judge_hidden_way(request.caller, &entry.path)?;
    }
    let since = Instant::now();
    let outcome = request.perform(|| rustix::fs::mkdirat(&entry.parent, entry.written(), mode));
    // Nothing else was made by this call: a directory that existed before is somebody else's.
    if matches!(outcome, Ok(Reply::Value(0))) {
        request.guard.created.directories.record(entry.parent.as_fd(), &entry.name, since);
    }
    outcome
}

pub fn mknod(request: &Request<'_, '_>, dirfd: i32, path: u64, mode: i32, device: u64) -> HandlerResult {
    let mode = mode as u32;
    let kind = match mode & libc::S_IFMT {
        0 | libc::S_IFREG => FileType::RegularFile,
        libc::S_IFIFO => FileType::Fifo,
        libc::S_IFSOCK => FileType::Socket,
        libc::S_IFCHR => FileType::CharacterDevice,
        libc::S_IFBLK => FileType::BlockDevice,
        libc::S_IFDIR => return Err(Errno::PERM),
        _ => return Err(Errno::INVAL),
    };
    // Holds the rename lock: this name and another may complete a repository together.
    let _alone = super::rename::alone(request)?;
    let entry = free_entry(request, dirfd, path, judge)?;
    request.adopt_umask()?;
    // The kernel's `dev` argument is an unsigned int in its old encoding (include/linux/kdev_t.h, new_decode_dev).
    let (major, minor) = (device >> 8 & 0xfff, (device & 0xff) | (device >> 12 & 0xf_ff00));
    let device = rustix::fs::makedev(major as u32, minor as u32);
    let mode = set_id::granted(request, &entry.path, kind, Mode::from_raw_mode(mode & 0o7777));
    request.perform(|| rustix::fs::mknodat(&entry.parent, entry.written(), kind, mode, device))
}

pub fn symlink(request: &Request<'_, '_>, text: u64, dirfd: i32, path: u64) -> HandlerResult {
    let text = request.caller.path(text)?;
    if text.as_bytes().is_empty() {
        return Err(Errno::NOENT);
    }
    let judge = |request: &Request<'_, '_>, entry: &DirEntry| {
        let all = AllPaths::new(request.caller);
        all.add(judge(request, entry))?;
        request.guard.judge_link(request.caller, AnchoredPath::from_entry(entry), Some(text.as_bytes()))?;
        request.guard.judge_link_target(request.caller, AnchoredPath::from_entry(entry), text.as_bytes())?;
        all.end()
    };
    // A move that has judged what has this name must not find a link there.
    let _alone = super::rename::alone(request)?;
    let entry = free_entry(request, dirfd, path, judge)?;
    request.perform(|| rustix::fs::symlinkat(text.as_bytes(), &entry.parent, entry.written()))
}

/// unlink, unlinkat and rmdir.
pub fn unlink(request: &Request<'_, '_>, dirfd: i32, address: u64, flags: i32) -> HandlerResult {
    if flags & !libc::AT_REMOVEDIR != 0 {
        return Err(Errno::INVAL);
    }
    let directory = flags & libc::AT_REMOVEDIR != 0;
    let mut path = CallerPath::default();
    request.caller.peek(address, &mut path)?;
    if let Some(outcome) = super::passthrough::remove(request, dirfd, path.as_bytes()) {
        return outcome;
    }
    request.caller.check()?;
    // Between judging and removing a lock, the tree must not remove it by another call: a git of the operator's could
    // have made the next lock. Between making and remembering a directory, the tree must not remove that, either: the
    // next directory of this name could be the operator's.
    let must_be_alone = directory || git_config::may_be_lock(path.as_bytes());
    let _alone = must_be_alone.then(|| super::rename::alone(request)).transpose()?;
    let target = request.guard.resolver.resolve(request.caller, dirfd, path.as_bytes(), Last::Name)?;
    let mut entry = match target {
        Target::Entry(entry) => entry,
        Target::Object { dots, .. } => return Err(no_name(dots, directory)),
    };
    entry.there()?;
    match git_config::is_of_paths(request, &entry) {
        true => request.guard.judge_git_locked(request.caller, AnchoredPath::from_entry(&entry))?,
        false => request.guard.judge_removal(request.caller, AnchoredPath::from_entry(&entry))?,
    }
    super::rename::stay(request, &entry)?;
    let directories = &request.guard.created.directories;
    let mut forgotten = None;
    // Close the object first: NFS renames an open file instead of removing it.
    if let Some(object) = entry.object.take() {
        inflight::wait_for(Identity::from_stat(&object.stat));
        forgotten = if directory { directories.forget(object.fd.as_fd()) } else { None };
    }
    // Let the kernel check whether it is a directory: another error may take precedence.
    let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    let outcome = request.perform(|| rustix::fs::unlinkat(&entry.parent, entry.written(), flags));
    if !matches!(outcome, Ok(Reply::Value(0))) {
        directories.remember(forgotten);
    }
    request.guard.floor.grants().recheck_below(&entry.path);
    outcome
}

/// The kernel's errno for `.`, `..` and `/` (fs/namei.c, do_rmdir and do_unlinkat).
fn no_name(dots: Dots, directory: bool) -> Errno {
    match (directory, dots) {
        (false, _) => Errno::ISDIR,
        (true, Dots::One) => Errno::INVAL,
        (true, Dots::Two) => Errno::NOTEMPTY,
        (true, Dots::No) => Errno::BUSY,
    }
}
