//! Attributes: mode, owner, times, extended attributes. Changing any of them needs `w` on the file.

use std::os::fd::AsFd;

use arrayvec::ArrayVec;
use guard_policy::Access;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::{Request, git_config, posix_acl, set_id};
use crate::judge::anchored_path::AnchoredPath;
use crate::kernel::requests;
use crate::reply::{HandlerResult, Reply};
use crate::resolve::{Last, Object, Target, link_to};

/// Resolves a path to an object whose attributes the policy lets the caller change.
fn by_path(
    request: &Request<'_, '_>,
    dirfd: i32,
    path: u64,
    last: Last,
    empty: bool,
) -> Result<Object, Errno> {
    let target = find(request, dirfd, path, last, empty)?;
    request.guard.judge_change(request.caller, AnchoredPath::from_target(&target))?;
    target.into_object().map(|(object, _)| object)
}

/// Resolves a path to an object that exists.
fn find(request: &Request<'_, '_>, dirfd: i32, path: u64, last: Last, empty: bool) -> Result<Target, Errno> {
    let path = request.caller.path(path)?;
    let resolver = &request.guard.resolver;
    let target = if path.as_bytes().is_empty() && empty {
        resolver.descriptor(request.caller, dirfd)?
    } else {
        resolver.resolve(request.caller, dirfd, path.as_bytes(), last)?
    };
    target.there()?;
    Ok(target)
}

/// Takes the file behind one of the caller's descriptors, if its attributes may be changed, and its real path.
fn by_descriptor(request: &Request<'_, '_>, fd: i32) -> Result<(Object, Vec<u8>), Errno> {
    let file = request.caller.descriptor(fd)?;
    if rustix::fs::fcntl_getfl(&file)?.contains(OFlags::PATH) {
        return Err(Errno::BADF);
    }
    let (object, path) = Object::with_path(file)?;
    request.guard.judge_change(request.caller, AnchoredPath::object(&path, &object))?;
    Ok((object, path))
}

/// Translates AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH.
fn at_flags(flags: i32) -> Result<(Last, bool), Errno> {
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno::INVAL);
    }
    let last = if flags & libc::AT_SYMLINK_NOFOLLOW != 0 { Last::Keep } else { Last::Follow };
    Ok((last, flags & libc::AT_EMPTY_PATH != 0))
}

/// chmod, fchmodat and fchmodat2.
pub fn chmod(request: &Request<'_, '_>, dirfd: i32, path: u64, mode: i32, flags: i32) -> HandlerResult {
    let (last, empty) = at_flags(flags)?;
    let target = find(request, dirfd, path, last, empty)?;
    let (object, place) = (target.there()?, AnchoredPath::from_target(&target));
    match git_config::lets_chmod(request, object, place, mode as u32) {
        true => request.guard.judge_git_locked(request.caller, place)?,
        false => request.guard.judge_change(request.caller, place)?,
    }
    judge_mode(request, place, mode)?;
    let mode = set_id::granted(request, place.path, object.kind(), Mode::from_raw_mode(mode as u32 & 0o7777));
    request.perform(|| match requests::chmod(object.fd.as_fd(), mode.as_raw_mode()) {
        // Kernels before Linux 6.6 have no fchmodat2.
        Err(Errno::NOSYS) => rustix::fs::chmod(link_to(object.fd.as_fd()), mode),
        other => other,
    })
}

pub fn fchmod(request: &Request<'_, '_>, fd: i32, mode: i32) -> HandlerResult {
    let (file, path) = by_descriptor(request, fd)?;
    judge_mode(request, AnchoredPath::object(&path, &file), mode)?;
    let mode = set_id::granted(request, &path, file.kind(), Mode::from_raw_mode(mode as u32 & 0o7777));
    request.perform(|| rustix::fs::fchmod(&file.fd, mode))
}

/// Judges a mode that keeps the owner out of a directory.
fn judge_mode(request: &Request<'_, '_>, place: AnchoredPath<'_>, mode: i32) -> Result<(), Errno> {
    if keeps_owner_out(Mode::from_raw_mode(mode as u32)) {
        request.guard.judge_hiding(request.caller, place)
    } else {
        Ok(())
    }
}

/// Whether a mode keeps a directory's owner from searching or listing it.
pub fn keeps_owner_out(mode: Mode) -> bool {
    !mode.contains(Mode::RUSR | Mode::XUSR)
}

/// Judges an extended attribute: an access control list has the owner's permissions, too.
fn judge_attribute(
    request: &Request<'_, '_>,
    place: AnchoredPath<'_>,
    name: &[u8],
    value: &[u8],
) -> Result<(), Errno> {
    let is_list = [posix_acl::ACCESS, posix_acl::DEFAULT].contains(&name);
    if is_list && posix_acl::keeps_owner_out(value) {
        request.guard.judge_hiding(request.caller, place)
    } else {
        Ok(())
    }
}

/// -1 leaves the owner or group as it is.
fn owners((uid, gid): (i32, i32)) -> (Option<Uid>, Option<Gid>) {
    let uid = (uid != -1).then(|| Uid::from_raw(uid as u32));
    let gid = (gid != -1).then(|| Gid::from_raw(gid as u32));
    (uid, gid)
}

/// chown, lchown and fchownat.
pub fn chown(request: &Request<'_, '_>, dirfd: i32, path: u64, to: (i32, i32), flags: i32) -> HandlerResult {
    let (last, empty) = at_flags(flags)?;
    let object = by_path(request, dirfd, path, last, empty)?;
    let (uid, gid) = owners(to);
    request.perform(|| rustix::fs::chownat(&object.fd, c"", uid, gid, AtFlags::EMPTY_PATH))
}

pub fn fchown(request: &Request<'_, '_>, fd: i32, to: (i32, i32)) -> HandlerResult {
    let (file, _) = by_descriptor(request, fd)?;
    let (uid, gid) = owners(to);
    request.perform(|| rustix::fs::fchown(&file.fd, uid, gid))
}

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };

fn pair(request: &Request<'_, '_>, address: u64) -> Result<[[i64; 2]; 2], Errno> {
    let mut raw = [0; 32];
    request.caller.bytes(address, &mut raw)?;
    let (words, _) = raw.as_chunks::<8>();
    let word = |index: usize| i64::from_ne_bytes(words[index]);
    Ok([[word(0), word(1)], [word(2), word(3)]])
}

fn set_times(request: &Request<'_, '_>, object: &Object, times: &Timestamps) -> HandlerResult {
    request.perform(|| rustix::fs::utimensat(&object.fd, c"", times, AtFlags::EMPTY_PATH))
}

/// utime: whole seconds.
#[cfg(target_arch = "x86_64")]
pub fn utime(request: &Request<'_, '_>, path: u64, times: u64) -> HandlerResult {
    let times = if times == 0 {
        Timestamps { last_access: NOW, last_modification: NOW }
    } else {
        let mut raw = [0; 16];
        request.caller.bytes(times, &mut raw)?;
        let (words, _) = raw.as_chunks::<8>();
        let second = |index: usize| Timespec { tv_sec: i64::from_ne_bytes(words[index]), tv_nsec: 0 };
        Timestamps { last_access: second(0), last_modification: second(1) }
    };
    set_times(request, &by_path(request, libc::AT_FDCWD, path, Last::Follow, false)?, &times)
}

/// utimes and futimesat: microseconds.
#[cfg(target_arch = "x86_64")]
pub fn utimes(request: &Request<'_, '_>, dirfd: i32, path: u64, times: u64) -> HandlerResult {
    let times = if times == 0 {
        Timestamps { last_access: NOW, last_modification: NOW }
    } else {
        let [access, modification] = pair(request, times)?;
        if [access, modification].iter().any(|time| !(0..1_000_000).contains(&time[1])) {
            return Err(Errno::INVAL);
        }
        let exact = |[second, micro]: [i64; 2]| Timespec { tv_sec: second, tv_nsec: micro * 1000 };
        Timestamps { last_access: exact(access), last_modification: exact(modification) }
    };
    if path == 0 && dirfd != libc::AT_FDCWD {
        return by_times_descriptor(request, dirfd, &times);
    }
    set_times(request, &by_path(request, dirfd, path, Last::Follow, false)?, &times)
}

/// utimensat, and futimens if there is no path.
pub fn utimensat(request: &Request<'_, '_>, dirfd: i32, path: u64, times: u64, flags: i32) -> HandlerResult {
    let times = if times == 0 {
        Timestamps { last_access: NOW, last_modification: NOW }
    } else {
        let [access, modification] = pair(request, times)?;
        if access[1] == libc::UTIME_OMIT && modification[1] == libc::UTIME_OMIT {
            return Ok(Reply::Value(0));
        }
        let exact = |[second, nano]: [i64; 2]| Timespec { tv_sec: second, tv_nsec: nano };
        Timestamps { last_access: exact(access), last_modification: exact(modification) }
    };
    if path == 0 && dirfd != libc::AT_FDCWD {
        return if flags == 0 { by_times_descriptor(request, dirfd, &times) } else { Err(Errno::INVAL) };
    }
    let (last, empty) = at_flags(flags)?;
    let target = find(request, dirfd, path, last, empty)?;
    let (object, place) = (target.there()?, AnchoredPath::from_target(&target));
    let is_now =
        [&times.last_access, &times.last_modification].iter().all(|time| time.tv_nsec == NOW.tv_nsec);
    // Who may not write another user's file may not set its times to now either (utimensat(2)).
    if is_now && object.stat.st_uid != rustix::process::geteuid().as_raw() {
        request.guard.refuse_as_kernel(request.caller, place, Access::WRITE)?;
    }
    request.guard.judge_change(request.caller, place)?;
    set_times(request, object, &times)
}

fn by_times_descriptor(request: &Request<'_, '_>, fd: i32, times: &Timestamps) -> HandlerResult {
    let (file, _) = by_descriptor(request, fd)?;
    request.perform(|| rustix::fs::futimens(&file.fd, times))
}

/// XATTR_NAME_MAX and XATTR_SIZE_MAX (include/uapi/linux/limits.h).
const NAME_MAX: usize = 255;
const VALUE_MAX: u64 = 65536;

fn xattr_name(request: &Request<'_, '_>, address: u64) -> Result<Vec<u8>, Errno> {
    let mut name = ArrayVec::<u8, { NAME_MAX + 1 }>::new();
    request.caller.string(address, &mut name).map_err(|error| match error {
        Errno::NAMETOOLONG => Errno::RANGE,
        other => other,
    })?;
    request.caller.check()?;
    if name.is_empty() {
        return Err(Errno::RANGE);
    }
    Ok(name.to_vec())
}

/// Name, value and flags: the last four arguments of every form.
fn xattr(request: &Request<'_, '_>) -> Result<(Vec<u8>, Vec<u8>, XattrFlags), Errno> {
    let flags = request.caller.int(4) as u32;
    if flags & !3 != 0 {
        return Err(Errno::INVAL);
    }
    let name = xattr_name(request, request.caller.word(1))?;
    let size = request.caller.word(3);
    if size > VALUE_MAX {
        return Err(Errno::TOOBIG);
    }
    let mut value = vec![0; size as usize];
    if size > 0 {
        request.caller.bytes(request.caller.word(2), &mut value)?;
    }
    Ok((name, value, XattrFlags::from_bits_retain(flags)))
}

/// setxattr; lsetxattr if `follow` is false.
pub fn setxattr(request: &Request<'_, '_>, follow: bool) -> HandlerResult {
    let last = if follow { Last::Follow } else { Last::Keep };
    let (name, value, flags) = xattr(request)?;
    let target = find(request, libc::AT_FDCWD, request.caller.word(0), last, false)?;
    let place = AnchoredPath::from_target(&target);
    request.guard.judge_change(request.caller, place)?;
    judge_attribute(request, place, &name, &value)?;
    let object = target.there()?;
    // The /proc path leads to the object itself: if a symbolic link was kept, to the link and not through it.
    request.perform(|| rustix::fs::setxattr(link_to(object.fd.as_fd()), name, &value, flags))
}

pub fn fsetxattr(request: &Request<'_, '_>) -> HandlerResult {
    let (name, value, flags) = xattr(request)?;
    let (file, path) = by_descriptor(request, request.caller.int(0))?;
    judge_attribute(request, AnchoredPath::object(&path, &file), &name, &value)?;
    request.perform(|| rustix::fs::fsetxattr(&file.fd, name, &value, flags))
}

/// removexattr; lremovexattr if `follow` is false.
pub fn removexattr(request: &Request<'_, '_>, follow: bool) -> HandlerResult {
    let last = if follow { Last::Follow } else { Last::Keep };
    let name = xattr_name(request, request.caller.word(1))?;
    let object = by_path(request, libc::AT_FDCWD, request.caller.word(0), last, false)?;
    request.perform(|| rustix::fs::removexattr(link_to(object.fd.as_fd()), name))
}

pub fn fremovexattr(request: &Request<'_, '_>) -> HandlerResult {
    let name = xattr_name(request, request.caller.word(1))?;
    let (file, _) = by_descriptor(request, request.caller.int(0))?;
    request.perform(|| rustix::fs::fremovexattr(&file.fd, name))
}
