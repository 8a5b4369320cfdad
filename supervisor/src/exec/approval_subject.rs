//! The subject of a human's approval of a program: its files, identified by their content.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use guard_approvals::{BoundScript, CodeInput, Digest, Executable, InputSource};
use guard_policy::analysis::InputKind;
use guard_policy::environment::can_change_program;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::scripts::{BareName, Named};
use super::sealed_script::MAX_BYTES;
use super::verify::Loader;
use crate::audit::Operation;
use crate::caller::Caller;
use crate::resolve::{Object, Target};
use crate::syscall::Request;

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
    if rustix::fs::fstat(&named.file)?.st_size as u64 > MAX_BYTES {
        let text = "a script of more than 64 MiB, too large to be approved; an allowlist entry allows it";
        request.guard.refuse(caller, Operation::Exec, &named.path, text)?;
    }
    Ok(BoundScript { path: named.path.clone(), sha256: Digest::of_file(&named.file, || caller.check())? })
}

/// The loader, which the kernel runs first.
///
/// # Errors
/// As [`executable`].
pub fn loader(caller: &Caller<'_>, loader: &Loader) -> Result<BoundScript, Errno> {
    let sha256 = Digest::of_file(&loader.object.open_to_read()?, || caller.check())?;
    Ok(BoundScript { path: loader.path.clone(), sha256 })
}

/// The variables set by the tree that can make the program do what another one does.
pub fn program_variables(environment: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let is_program_variable = |string: &&Vec<u8>| {
        let end = string.iter().position(|&byte| byte == b'=').unwrap_or(string.len());
        let (name, value) = (&string[..end], &string[(end + 1).min(string.len())..]);
        // The supervisor's own variables come from the operator. An empty name, or one with a NUL, cannot be looked up.
        let is_inherited = !name.is_empty()
            && std::env::var_os(OsStr::from_bytes(name)).is_some_and(|own| own.as_bytes() == value);
        can_change_program(name, is_inherited)
    };
    environment.iter().filter(is_program_variable).cloned().collect()
}

/// What descriptor 0 of the caller is; `None` if it is closed.
///
/// # Errors
/// The kernel's; ESRCH if the caller is gone.
pub fn standard_input(request: &Request<'_, '_>) -> Result<Option<CodeInput>, Errno> {
    match request.guard.resolver.descriptor(request.caller, 0).and_then(Target::into_object) {
        Ok((object, path)) => input(request, &object, path).map(Some),
        Err(Errno::BADF) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Describes an object that a program reads code from.
pub(super) fn input(request: &Request<'_, '_>, object: &Object, path: Vec<u8>) -> Result<CodeInput, Errno> {
    let kind = match object.kind() {
        FileType::Fifo => InputKind::Pipe,
        FileType::RegularFile => InputKind::File,
        FileType::CharacterDevice if is_terminal(object) => InputKind::Terminal,
        _ => InputKind::Other,
    };
    let is_short = kind == InputKind::File && object.stat.st_size as u64 <= MAX_BYTES;
    // Without a digest only its path identifies the object, so the question says that it is not held.
    let file = if is_short { object.open_to_read().ok() } else { None };
    let sha256 = match file {
        Some(file) => Some(Digest::of_file(&file, || request.caller.check())?),
        None => None,
    };
    Ok(CodeInput { source: InputSource::StandardInput, kind, path, sha256 })
}

/// Whether a character device is a terminal (Documentation/admin-guide/devices.txt): virtual consoles and serial lines,
/// /dev/tty and /dev/console, and pseudoterminals.
fn is_terminal(device: &Object) -> bool {
    matches!(rustix::fs::major(device.stat.st_rdev), 4 | 5 | 136..=143)
}

/// Makes the interpreter read the script as it was approved.
///
/// # Errors
/// EACCES if its content has changed; the kernel's; ESRCH if the caller is gone.
pub fn bind_script(request: &Request<'_, '_>, script: &BoundScript, named: Named) -> Result<(), Errno> {
    let (guard, caller) = (request.guard, request.caller);
    match guard.starts.scripts.bind(caller, &guard.tree, named, script.sha256) {
        Err(Errno::ACCESS) => {
            guard.refuse(caller, Operation::Exec, &script.path, "changed while waiting for an answer")
        }
        Err(Errno::NOMEM) => {
            guard.refuse(caller, Operation::Exec, &script.path, "too many approved scripts are running")
        }
        other => other,
    }
}

/// Keeps a name among the arguments as it was found: empty, or a directory.
///
/// # Errors
/// EACCES if something else is there by now; ESRCH if the caller is gone.
pub fn bind_name(request: &Request<'_, '_>, bare: BareName) -> Result<(), Errno> {
    let (guard, caller) = (request.guard, request.caller);
    let name = bare.name.clone();
    match guard.starts.scripts.bind_name(caller, &guard.tree, bare) {
        Err(Errno::ACCESS) => {
            guard.refuse(caller, Operation::Exec, &name, "changed while waiting for an answer")
        }
        other => other,
    }
}
