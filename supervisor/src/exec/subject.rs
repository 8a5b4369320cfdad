//! What a human approves of a program: its files, by what they hold.

use std::fs::File;

use rustix::io::Errno;

use crate::approval::{Digest, Executable, Script};
use crate::caller::Caller;
use crate::resolve::Object;

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
