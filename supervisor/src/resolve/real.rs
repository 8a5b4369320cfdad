//! What an open file is called.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::long_path::deep_path;
use super::proc_fd::kernel_path;

/// A descriptor's path. For an object that was removed: the path that it had.
///
/// # Errors
/// EACCES for an object outside the supervisor's root, whose path means nothing here; ENAMETOOLONG for what is no
/// directory and lies deeper than PATH_MAX.
pub fn real_path(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    match kernel_path(fd) {
        Err(Errno::NAMETOOLONG) => deep_path(fd),
        told => told,
    }
}
