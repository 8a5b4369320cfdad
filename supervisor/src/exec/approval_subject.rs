//! The subject of a human's approval of a program: its files, identified by their content.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use guard_approvals::{BoundScript, Digest, Executable};
use guard_policy::analysis::script_operands;
use guard_policy::environment::tells;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::find;
use super::script_paths::spelled;
use super::scripts::{self, Named};
use crate::audit::Operation;
use crate::caller::Caller;
use crate::resolve::{Object, Target, link_to};
use crate::syscall::Request;

/// How many files among the arguments are bound, beside the script.
const MAX_FILES: usize = 16;

/// The program that finally runs.
///
/// # Errors
/// The kernel's, if it cannot be read; ESRCH if the caller is gone.
pub fn executable(
    caller: &Caller<'_>,
    object: &Object,
    path: &[u8],
    file: &File,
) -> Result<Executable, Errno> {
    Ok(Executable {
        path: path.to_vec(),
        device: object.stat.st_dev,
        inode: object.stat.st_ino,
        sha256: Digest::of_file(file, || caller.check())?,
    })
}

/// A script that the program interprets.
///
/// # Errors
/// As [`executable`]; EACCES if the script is too long.
pub fn script(request: &Request<'_, '_>, named: &Named) -> Result<BoundScript, Errno> {
    let caller = request.caller;
    if rustix::fs::fstat(&named.file)?.st_size as u64 > scripts::MAX_BYTES {
        let text =
            "a script of more than 64 MiB, which cannot be held until it is read; an allowlist entry lets it";
        request.guard.refuse(caller, Operation::Exec, &named.path, text)?;
    }
    Ok(BoundScript { path: named.path.clone(), sha256: Digest::of_file(&named.file, || caller.check())? })
}

/// The variables set by the tree that can change which program this effectively is.
pub fn telling(environment: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let is_telling = |string: &&Vec<u8>| {
        let end = string.iter().position(|&byte| byte == b'=').unwrap_or(string.len());
        let (name, value) = (&string[..end], &string[(end + 1).min(string.len())..]);
        // The supervisor's own variables come from the operator. An empty name, or one with a NUL, cannot be looked up.
        let is_inherited = !name.is_empty()
            && std::env::var_os(OsStr::from_bytes(name)).is_some_and(|own| own.as_bytes() == value);
        tells(name, is_inherited)
    };
    environment.iter().filter(is_telling).cloned().collect()
}

/// The script file named in an interpreter's arguments, if any. Returns `None` if it is not a regular file: a
/// directory, or a pipe of the shell's (`<(…)`).
///
/// # Errors
/// EACCES if it cannot be read now: nobody can approve what it will contain later.
pub fn operand(
    request: &Request<'_, '_>,
    path: &[u8],
    argv: &[Vec<u8>],
    cwd: &[u8],
) -> Result<Option<Named>, Errno> {
    let Some(at) = script_operands(path, argv).script else { return Ok(None) };
    let written = &argv[at];
    regular_file(request, written, cwd).or_else(|_| {
        let text = "its script cannot be read, and could be any other once that is approved";
        request.guard.refuse(request.caller, Operation::Exec, &spelled(cwd, written), text).and(Ok(None))
    })
}

/// The other files among an interpreter's arguments that it may run, where the tree may write them. Those that cannot be
/// read, or are too long to be held, are left out: the script itself never is.
///
/// # Errors
/// ESRCH if the caller is gone.
pub fn others(
    request: &Request<'_, '_>,
    path: &[u8],
    argv: &[Vec<u8>],
    cwd: &[u8],
) -> Result<Vec<Named>, Errno> {
    let mut found: Vec<Named> = Vec::new();
    for written in script_operands(path, argv).others {
        let Ok(Some(named)) = regular_file(request, &written, cwd) else { continue };
        let is_short = rustix::fs::fstat(&named.file)?.st_size as u64 <= scripts::MAX_BYTES;
        let is_new = found.iter().all(|other| other.path != named.path);
        if is_short && is_new && request.guard.policy().writable(&named.path) && found.len() < MAX_FILES {
            found.push(Named { is_first_only: true, ..named });
        }
    }
    request.caller.check()?;
    Ok(found)
}

/// The regular file that an argument names, opened to read; `None` if it is something else.
fn regular_file(request: &Request<'_, '_>, written: &[u8], cwd: &[u8]) -> Result<Option<Named>, Errno> {
    let (object, path) = find(request, libc::AT_FDCWD, written, 0).and_then(Target::into_object)?;
    if object.kind() != FileType::RegularFile {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(link_to(object.fd.as_fd()), flags, Mode::empty())?;
    Ok(Some(Named { path, name: spelled(cwd, written), file: file.into(), is_first_only: false }))
}

/// Makes the interpreter read the script as it was approved.
///
/// # Errors
/// EACCES if its content has changed; the kernel's; ESRCH if the caller is gone.
pub fn bind_script(request: &Request<'_, '_>, script: &BoundScript, named: Named) -> Result<(), Errno> {
    let (guard, caller) = (request.guard, request.caller);
    match guard.scripts.bind(caller, &guard.tree, named, script.sha256) {
        Err(Errno::ACCESS) => {
            guard.refuse(caller, Operation::Exec, &script.path, "changed while waiting for an answer")
        }
        Err(Errno::NOMEM) => {
            guard.refuse(caller, Operation::Exec, &script.path, "too many approved scripts run already")
        }
        other => other,
    }
}
