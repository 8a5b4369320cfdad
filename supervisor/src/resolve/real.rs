//! The path of an open file.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::attached;
use super::long_path::deep_path;
use super::proc_fd::{KernelPath, kernel_path};

/// The real path of a descriptor. For a removed object, the path that it had.
///
/// # Errors
/// EACCES for an object outside the supervisor's root, or on a mount that is not attached, whose path means nothing
/// here; ENAMETOOLONG for an object deeper than PATH_MAX that is not a directory.
pub fn real_path(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    whereabouts(fd).map(|KernelPath { path, .. }| path)
}

/// The same, and whether the object has been removed there.
pub(super) fn whereabouts(fd: BorrowedFd<'_>) -> Result<KernelPath, Errno> {
    let found = match kernel_path(fd) {
        Err(Errno::NAMETOOLONG) => KernelPath { path: deep_path(fd)?, is_removed: false },
        found => found?,
    };
    attached::check(&found.path, fd)?;
    Ok(found)
}
