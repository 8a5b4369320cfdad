//! Mapping files as code. This is hardening, not a boundary: a program can copy what it can read into its own memory.

use std::os::fd::{AsFd, OwnedFd};

use guard_policy::Access;
use rustix::io::Errno;

use super::Request;
use crate::audit::Operation;
use crate::judge::anchored_path::AnchoredPath;
use crate::kernel::maps;
use crate::reply::{ContinueReason, HandlerResult, Reply};
use crate::resolve::{Object, real_path};

/// mmap with PROT_EXEC of a file: the file needs `x`.
pub fn mmap(request: &Request<'_, '_>, fd: i32) -> HandlerResult {
    if is_plainly_allowed(request, fd) {
        return Ok(Reply::Continue(ContinueReason::Hardening));
    }
    // To identify the file, an O_PATH descriptor is enough. For a bad descriptor the kernel returns its own errno.
    if let Ok(file) = request.caller.directory(fd) {
        judge(request, &file)?;
    }
    request.caller.check()?;
    Ok(Reply::Continue(ContinueReason::Hardening))
}

/// Whether the policy allows the mapping by the path that the kernel reports, as it does for most libraries. If the
/// caller is gone, this may read another process; but then the kernel drops the reply.
fn is_plainly_allowed(request: &Request<'_, '_>, fd: i32) -> bool {
    let mut path = [0; 512];
    let caller = request.caller;
    let Ok(length) = caller.kernel().directory_path(caller.tid(), fd, &mut path) else { return false };
    let path = &path[..length];
    let is_file = length < 512 && path.starts_with(b"/") && !path.ends_with(b" (deleted)");
    let is_same_to_all = !path.starts_with(b"/proc/") && !path.starts_with(b"/dev/");
    let sees_all = request.guard.sees_all();
    is_file && is_same_to_all && !sees_all && request.guard.allows(path, Access::MAP)
}

fn judge(request: &Request<'_, '_>, file: &OwnedFd) -> Result<(), Errno> {
    let object = Object::from_fd(file.try_clone().map_err(|_| Errno::MFILE)?)?;
    let path = real_path(file.as_fd())?;
    request.guard.judge(request.caller, Operation::Map, AnchoredPath::object(&path, &object), Access::MAP)
}

/// The bits of an address in a process: it has at most 56 (Documentation/arch/x86/x86_64/5level-paging.rst). Processors may
/// ignore a tag above them, and the kernel then takes it off (aarch64's top byte, x86-64's linear address masking).
const ADDRESS: u64 = (1 << 56) - 1;

/// mprotect and pkey_mprotect with PROT_EXEC: every file mapped in the range needs `x`.
pub fn mprotect(request: &Request<'_, '_>, start: u64, length: u64) -> HandlerResult {
    let start = start & ADDRESS;
    let mut judged = std::collections::HashSet::new();
    maps::each_file_in(request.caller.tid(), &(start..start.saturating_add(length)), &mut |mapped| {
        if judged.insert((mapped.device, mapped.inode)) {
            request.caller.check()?;
            for path in mapped.paths() {
                let place = AnchoredPath::path(&path);
                request.guard.judge(request.caller, Operation::Map, place, Access::MAP)?;
            }
        }
        Ok(())
    })?;
    request.caller.check()?;
    Ok(Reply::Continue(ContinueReason::Hardening))
}
