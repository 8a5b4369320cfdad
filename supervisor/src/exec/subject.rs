//! What a human approves of a program: its files, by what they hold.

use std::fs::File;
use std::os::fd::AsFd;

use guard_policy::analysis::script_operand;
use guard_policy::environment::{Inherit, inherited};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::find;
use super::scripts::{self, Copied, Named};
use crate::approval::{Digest, Executable, Script};
use crate::broker::Request;
use crate::caller::Caller;
use crate::report::Operation;
use crate::resolve::{Object, link_to};

/// The program that runs in the end.
///
/// # Errors
/// The kernel's, when it cannot be read; ESRCH when the caller is gone meanwhile.
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

/// A script that it interprets.
///
/// # Errors
/// As [`executable`].
pub fn script(caller: &Caller<'_>, path: Vec<u8>, file: &File) -> Result<Script, Errno> {
    Ok(Script { path, sha256: Digest::of_file(file, || caller.check())? })
}

/// The variables that a command does not inherit, for what they can do, and that are set all the same.
pub fn telling(environment: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let named = environment.iter().map(|string| {
        let end = string.iter().position(|&byte| byte == b'=').unwrap_or(string.len());
        (string[..end].to_vec(), string[(end + 1).min(string.len())..].to_vec())
    });
    let dropped = inherited(named, Inherit::Host).dropped;
    let is_dropped = |string: &&Vec<u8>| {
        dropped.iter().any(|dropped| {
            string.strip_prefix(&*dropped.name).is_some_and(|rest| rest.is_empty() || rest[0] == b'=')
        })
    };
    environment.iter().filter(is_dropped).cloned().collect()
}

/// The file that an interpreter is told to run, where its arguments say so and it can be read: its real path, its name as
/// written, and the file.
pub fn operand(request: &Request<'_, '_>, path: &[u8], argv: &[Vec<u8>]) -> Option<(Vec<u8>, Vec<u8>, File)> {
    let written = &argv[script_operand(path, argv)?];
    let (object, path) = find(request, libc::AT_FDCWD, written, 0).ok()?.into_object().ok()?;
    if object.kind() != FileType::RegularFile {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(link_to(object.fd.as_fd()), flags, Mode::empty()).ok()?;
    Some((path, written.clone(), file.into()))
}

/// Sees to it that the interpreter reads the script that was approved.
///
/// # Errors
/// EACCES when it holds something else by now; the kernel's; ESRCH when the caller is gone.
pub fn bind_script(request: &Request<'_, '_>, script: &Script, named: Named) -> Result<(), Errno> {
    let (guard, caller) = (request.guard, request.caller);
    if rustix::fs::fstat(&named.file)?.st_size as u64 > scripts::LONGEST {
        return Ok(());
    }
    let bound = Copied::of(caller, named, script.sha256)
        .and_then(|copied| guard.scripts.bind(caller, &guard.tree, copied));
    match bound {
        Err(Errno::ACCESS) => {
            guard.refuse(caller, Operation::Exec, &script.path, "changed while waiting for an answer")
        }
        Err(Errno::NOMEM) => {
            guard.refuse(caller, Operation::Exec, &script.path, "too many approved scripts run already")
        }
        other => other,
    }
}
