//! The path of an open file.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::attached;
use super::long_path::deep_path;
use super::proc_fd::kernel_path;

/// The real path of a descriptor. For a removed object, the path that it had.
///
/// # Errors
/// EACCES for an object outside the supervisor's root, or on a mount that is not attached, whose path means nothing
/// here; ENAMETOOLONG for an object deeper than PATH_MAX that is not a directory.
pub fn real_path(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let path = match kernel_path(fd) {
        Err(Errno::NAMETOOLONG) => deep_path(fd),
        path => path,
    }?;
    attached::check(&path, fd)?;
    Ok(path)
}
