//! Mapping files as code. Hardening, no boundary: a program may copy what it can read into memory of its own.

use std::os::fd::{AsFd, OwnedFd};

use guard_policy::Access;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::Request;
use crate::answer::{Answer, Harmless, Outcome};
use crate::kernel::requests;
use crate::report::Operation;
use crate::resolve::real_path;

/// mmap with PROT_EXEC of a file: the file needs `x`.
pub fn mmap(request: &Request<'_, '_>, fd: i32) -> Outcome {
    // An O_PATH descriptor of it is enough to ask who it is; a bad one gets the kernel's own errno.
    if let Ok(file) = request.caller.directory(fd) {
        judge(request, &file)?;
    }
    request.caller.check()?;
    Ok(Answer::Continue(Harmless::Hardening))
}

fn judge(request: &Request<'_, '_>, file: &OwnedFd) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(file)?;
    let path = real_path(file.as_fd())?;
    request.guard.judge(request.caller, Operation::Map, &path, Some(&stat), Access::MAP)
}

/// mprotect and pkey_mprotect with PROT_EXEC: every file mapped in the range needs `x`.
pub fn mprotect(request: &Request<'_, '_>, start: u64, length: u64) -> Outcome {
    let tid = request.caller.tid();
    let maps =
        rustix::fs::open(format!("/proc/{tid}/maps"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    request.caller.check()?;
    let end = start.saturating_add(length);
    let mut at = start;
    while at < end {
        match requests::mapping(maps.as_fd(), at, true) {
            Ok(mapping) if mapping.start < end => {
                if mapping.inode != 0 {
                    judge_mapping(request, mapping.start, mapping.end)?;
                }
                at = mapping.end;
            }
            // Nothing more is mapped, or the kernel cannot tell (before Linux 6.11).
            Ok(_) | Err(Errno::NOENT | Errno::NOTTY) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Answer::Continue(Harmless::Hardening))
}

/// The mapped file by the name that /proc/TID/maps gives it.
fn judge_mapping(request: &Request<'_, '_>, start: u64, end: u64) -> Result<(), Errno> {
    let process = procfs::process::Process::new(request.caller.tid()).map_err(|_| Errno::SRCH)?;
    let maps = process.maps().map_err(|_| Errno::ACCESS)?;
    for map in maps {
        if map.address == (start, end)
            && let procfs::process::MMapPath::Path(path) = &map.pathname
        {
            let path = path.as_os_str().as_encoded_bytes();
            return request.guard.judge(request.caller, Operation::Map, path, None, Access::MAP);
        }
    }
    Ok(())
}
