//! `/proc/self/fd`: paths that lead to our descriptors, and the kernel's path of each.

use std::fmt::Write as _;
use std::os::fd::{AsRawFd, BorrowedFd};

use guard_openclaw::peer::proc::Text;
use rustix::fs::CWD;
use rustix::io::Errno;

/// The path that the kernel reports for a descriptor.
pub(super) struct KernelPath {
    pub(super) path: Vec<u8>,
    /// Whether the object has been removed there. It may have other names.
    pub(super) is_removed: bool,
}

/// Asks the kernel for the path of a descriptor. For a removed object, this is the path that it had.
pub(super) fn kernel_path(fd: BorrowedFd<'_>) -> Result<KernelPath, Errno> {
    const DELETED: &[u8] = b" (deleted)";
    let mut path = rustix::fs::readlinkat(CWD, link_to(fd), Vec::with_capacity(256))?.into_bytes();
    if path.starts_with(b"(unreachable)") {
        return Err(Errno::ACCESS);
    }
    // A file may really have this name: then the path leads to it.
    let is_removed = path.ends_with(DELETED) && path[0] == b'/' && !names(&path, fd);
    if is_removed {
        path.truncate(path.len() - DELETED.len());
    }
    Ok(KernelPath { path, is_removed })
}

/// The same as [`link_to`], on the stack.
pub(super) fn short_link_to(fd: BorrowedFd<'_>) -> Text<32> {
    let mut link = Text::default();
    // Ten digits at most.
    let _ = write!(link, "/proc/self/fd/{}", fd.as_raw_fd());
    link
}

/// A path by which the kernel finds the object behind one of our descriptors.
pub fn link_to(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn names(path: &[u8], fd: BorrowedFd<'_>) -> bool {
    let there = rustix::fs::lstat(path);
    let here = rustix::fs::fstat(fd);
    matches!((there, here), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}
