//! Mapping files as code. Hardening, no boundary: a program may copy what it can read into memory of its own.

use std::os::fd::{AsFd, OwnedFd};

use guard_policy::Access;
use rustix::io::Errno;

use super::Request;
use crate::answer::{Answer, Harmless, Outcome};
use crate::report::Operation;
use crate::resolve::{Object, real_path};

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
    let object = Object::of(file.try_clone().map_err(|_| Errno::MFILE)?)?;
    let path = real_path(file.as_fd())?;
    request.guard.judge(request.caller, Operation::Map, &path, Some(&object), Access::MAP)
}

/// mprotect and pkey_mprotect with PROT_EXEC: every file mapped in the range needs `x`.
pub fn mprotect(request: &Request<'_, '_>, start: u64, length: u64) -> Outcome {
    let process = procfs::process::Process::new(request.caller.tid()).map_err(|_| Errno::SRCH)?;
    let maps = process.maps().map_err(|_| Errno::ACCESS)?;
    request.caller.check()?;
    let end = start.saturating_add(length);
    let mut judged = std::collections::HashSet::new();
    for map in maps {
        let overlaps = map.address.0 < end && map.address.1 > start;
        if let procfs::process::MMapPath::Path(path) = &map.pathname
            && overlaps
            && judged.insert((map.dev, map.inode))
        {
            let path = path.as_os_str().as_encoded_bytes();
            request.guard.judge(request.caller, Operation::Map, path, None, Access::MAP)?;
        }
    }
    Ok(Answer::Continue(Harmless::Hardening))
}
