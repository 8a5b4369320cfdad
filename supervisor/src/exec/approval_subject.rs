//! The subject of a human's approval of a program: its files, identified by their content.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use guard_approvals::{BoundScript, CodeInput, Digest, Executable, InputSource};
use guard_policy::analysis::{CodeOnInput, InputKind, script_operands};
use guard_policy::environment::can_change_program;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::find;
use super::script_paths::spelled;
use super::scripts::{self, Named};
use crate::audit::Operation;
use crate::caller::Caller;
use crate::resolve::{Object, Target, link_to};
use crate::syscall::Request;

/// How many files and inputs among the arguments are shown, beside the script.
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
        let text = "a script of more than 64 MiB, too large to be approved; an allowlist entry allows it";
        request.guard.refuse(caller, Operation::Exec, &named.path, text)?;
    }
    Ok(BoundScript { path: named.path.clone(), sha256: Digest::of_file(&named.file, || caller.check())? })
}

/// The variables set by the tree that can change which program this effectively is.
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

/// What an interpreter may run, by its arguments.
#[derive(Debug, Default)]
pub struct Interpreted {
    /// The script, where it is certain and a regular file.
    pub script: Option<Named>,
    /// The other files that it may run, where the tree may write them.
    pub others: Vec<Named>,
    /// What it runs code from and what cannot be held.
    pub inputs: Vec<CodeInput>,
}

/// The file that an argument names, which the program may run.
enum RunnableArgument {
    File(Named),
    Input(CodeInput),
    /// A directory, or a device.
    Nothing,
}

/// Returns the files that the program may run code from, besides the scripts of `#!` lines, which the kernel names.
/// Other files that cannot be read, or are too long to be held, are left out: the script itself never is.
///
/// # Errors
/// EACCES if the script cannot be read now: nobody can approve what it will contain later; ESRCH if the caller is gone.
pub fn interpreted(
    request: &Request<'_, '_>,
    path: &[u8],
    argv: &[Vec<u8>],
    cwd: &[u8],
    named: &[Named],
) -> Result<Interpreted, Errno> {
    let operands = script_operands(path, argv);
    let mut found = Interpreted::default();
    if operands.input == CodeOnInput::Runs {
        found.inputs.extend(standard_input(request)?);
    }
    if let Some(at) = operands.script.filter(|_| named.is_empty()) {
        match operand(request, &argv[at], cwd) {
            Ok(RunnableArgument::File(named)) => found.script = Some(named),
            Ok(RunnableArgument::Input(input)) => found.inputs.push(input),
            Ok(RunnableArgument::Nothing) => {}
            Err(_) => {
                let text = "its script cannot be read, so an approval could not be bound to it";
                request.guard.refuse(request.caller, Operation::Exec, &spelled(cwd, &argv[at]), text)?;
            }
        }
    }
    for written in operands.others {
        let named = match operand(request, &written, cwd) {
            Ok(RunnableArgument::File(named)) => named,
            Ok(RunnableArgument::Input(input)) => {
                found.inputs.push(input);
                continue;
            }
            Ok(RunnableArgument::Nothing) | Err(_) => continue,
        };
        let is_short = rustix::fs::fstat(&named.file)?.st_size as u64 <= scripts::MAX_BYTES;
        let is_new = found.others.iter().all(|other| other.path != named.path);
        let is_one = is_short && is_new && request.guard.policy().writable(&named.path);
        if is_one && found.others.len() < MAX_FILES {
            found.others.push(Named { is_first_only: true, ..named });
        }
    }
    found.inputs.truncate(MAX_FILES);
    request.caller.check()?;
    Ok(found)
}

/// What an argument names: a regular file is opened to read.
fn operand(request: &Request<'_, '_>, written: &[u8], cwd: &[u8]) -> Result<RunnableArgument, Errno> {
    let (object, path) = find(request, libc::AT_FDCWD, written, 0).and_then(Target::into_object)?;
    let name = spelled(cwd, written);
    Ok(match object.kind() {
        FileType::RegularFile => {
            RunnableArgument::File(Named { path, name, file: opened(&object)?, is_first_only: false })
        }
        FileType::Fifo | FileType::Socket => RunnableArgument::Input(CodeInput {
            source: InputSource::Argument(name),
            ..input(request, &object, path)?
        }),
        _ => RunnableArgument::Nothing,
    })
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

fn input(request: &Request<'_, '_>, object: &Object, path: Vec<u8>) -> Result<CodeInput, Errno> {
    let kind = match object.kind() {
        FileType::Fifo => InputKind::Pipe,
        FileType::RegularFile => InputKind::File,
        FileType::CharacterDevice if is_terminal(object) => InputKind::Terminal,
        _ => InputKind::Other,
    };
    let is_short = kind == InputKind::File && object.stat.st_size as u64 <= scripts::MAX_BYTES;
    // Without a digest only its path identifies it, so the question says that it is not held.
    let file = if is_short { opened(object).ok() } else { None };
    let sha256 = match file {
        Some(file) => Some(Digest::of_file(&file, || request.caller.check())?),
        None => None,
    };
    Ok(CodeInput { source: InputSource::StandardInput, kind, path, sha256 })
}

/// Whether a character device is a terminal (Documentation/admin-guide/devices.txt): virtual consoles and serial lines,
/// the ones of /dev/tty and /dev/console, and pseudoterminals.
fn is_terminal(device: &Object) -> bool {
    matches!(rustix::fs::major(device.stat.st_rdev), 4 | 5 | 136..=143)
}

fn opened(object: &Object) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(link_to(object.fd.as_fd()), flags, Mode::empty())?.into())
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
            guard.refuse(caller, Operation::Exec, &script.path, "too many approved scripts are running")
        }
        other => other,
    }
}
