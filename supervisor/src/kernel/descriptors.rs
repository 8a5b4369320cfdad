//! A caller's descriptors and directories.

use std::fmt::Write as _;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use guard_openclaw::peer::proc::{Text, Tid};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::{errno, limits};

/// `PIDFD_THREAD` (Linux 6.9): the pidfd refers to the thread, which may have its own descriptor table.
const PIDFD_THREAD: u32 = libc::O_EXCL as u32;

/// Opens an O_PATH descriptor of what `dirfd` means to the caller, AT_FDCWD included.
///
/// # Errors
/// EBADF when the caller has no such descriptor.
pub fn directory(tid: Tid, dirfd: i32) -> Result<OwnedFd, Errno> {
    rustix::fs::open(link(tid, dirfd)?.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(
        |error| match error {
            Errno::NOENT if dirfd >= 0 => Errno::BADF,
            other => other,
        },
    )
}

/// Writes the kernel's path of the caller's `dirfd` into `buffer`; returns its length.
///
/// # Errors
/// EBADF when the caller has no such descriptor.
pub fn directory_path(tid: Tid, dirfd: i32, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::fs::readlinkat_raw(CWD, link(tid, dirfd)?.as_str(), buffer)
}

/// The /proc link to what `dirfd` means to the caller.
fn link(tid: Tid, dirfd: i32) -> Result<Text<48>, Errno> {
    let mut link = Text::default();
    let written = match dirfd {
        libc::AT_FDCWD => write!(link, "/proc/{tid}/cwd"),
        0.. => write!(link, "/proc/{tid}/fd/{dirfd}"),
        _ => return Err(Errno::BADF),
    };
    written.map_err(|_| Errno::NAMETOOLONG)?;
    Ok(link)
}

/// A duplicate of the caller's descriptor.
///
/// # Errors
/// EBADF if the caller has no such descriptor, EPERM if the guard may not inspect the caller.
pub fn duplicate(tid: Tid, fd: i32) -> Result<OwnedFd, Errno> {
    if fd < 0 {
        return Err(Errno::BADF);
    }
    let pidfd = pidfd_open(tid, PIDFD_THREAD).or_else(|error| match error {
        // Before Linux 6.9 a pidfd can only name a thread group. Its leader's table is the caller's unless the thread
        // left it (unshare(CLONE_FILES)): then no descriptor found here would be the caller's.
        Errno::INVAL => {
            let tgid = guard_openclaw::peer::proc::status(tid)?.tgid;
            if tgid != tid && !same_table(tid, tgid) {
                return Err(Errno::PERM);
            }
            pidfd_open(tgid, 0)
        }
        other => Err(other),
    })?;
    owned(raw_getfd(pidfd.as_raw_fd(), fd))
}

/// Whether a number below the caller's RLIMIT_NOFILE is free. True if unknown: the kernel still refuses to install a
/// descriptor without a free number.
pub fn has_room(tid: Tid) -> bool {
    let Some(limit) = limits::limit(tid, libc::RLIMIT_NOFILE as libc::c_uint) else { return true };
    let link = format!("/proc/{tid}/fd");
    // The number of open descriptors (Linux 6.2, before that 0). Some may be above a limit that was lowered.
    let count = rustix::fs::stat(&link).map_or(0, |stat| stat.st_size as u64);
    if count != 0 && count < limit {
        return true;
    }
    let Ok(numbers) = std::fs::read_dir(&link) else { return true };
    let below = |name: std::ffi::OsString| {
        name.to_str().and_then(|name| name.parse().ok()).is_some_and(|number: u64| number < limit)
    };
    let taken = numbers.flatten().filter(|entry| below(entry.file_name())).count();
    (taken as u64) < limit
}

fn pidfd_open(tid: Tid, flags: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: pidfd_open takes two integers and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_open, tid, flags) };
    owned(result)
}

fn raw_getfd(pidfd: RawFd, fd: i32) -> libc::c_long {
    // SAFETY: pidfd_getfd takes three integers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd, fd, 0) }
}

fn same_table(a: Tid, b: Tid) -> bool {
    const KCMP_FILES: i32 = 2;
    // SAFETY: kcmp takes five integers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_kcmp, a, b, KCMP_FILES, 0, 0) == 0 }
}

/// The descriptor that a raw system call returned, or its error.
fn owned(result: libc::c_long) -> Result<OwnedFd, Errno> {
    errno::check(result)?;
    // SAFETY: the kernel has just opened this descriptor for us and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result as RawFd) })
}
