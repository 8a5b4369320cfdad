//! The two listener requests that no crate wraps (seccomp_unotify(2), linux/seccomp.h).

use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;

/// `struct seccomp_notif_addfd`.
#[repr(C)]
struct AddFd {
    id: u64,
    flags: u32,
    srcfd: u32,
    newfd: u32,
    newfd_flags: u32,
}

/// Reply to the call with the new descriptor in the same step (Linux 5.14).
const SEND: u32 = 2;
/// Wake the other side on this processor (Linux 6.6).
const SYNCHRONOUS: u64 = 1;

mod ioctl {
    nix::ioctl_write_ptr!(addfd, b'!', 3, super::AddFd);
    nix::ioctl_write_int_bad!(set_flags, nix::request_code_write!(b'!', 4, size_of::<u64>()));
}

/// Installs a copy of `file` in the caller, and returns its number from the call.
///
/// # Errors
/// The error of the system call; ENOENT if the caller is gone.
pub fn hand_over(listener: BorrowedFd<'_>, id: u64, file: BorrowedFd<'_>, flags: i32) -> Result<(), Errno> {
    let request =
        AddFd { id, flags: SEND, srcfd: file.as_raw_fd() as u32, newfd: 0, newfd_flags: flags as u32 };
    // SAFETY: the structure is initialised, has the size that the request number carries, and outlives the call.
    unsafe { ioctl::addfd(listener.as_raw_fd(), &raw const request) }.map(drop)
}

/// Makes caller and supervisor wake each other on the same processor.
///
/// # Errors
/// EINVAL before Linux 6.6.
pub fn wake_synchronously(listener: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the request takes its argument as a number, not as a pointer.
    unsafe { ioctl::set_flags(listener.as_raw_fd(), SYNCHRONOUS as i32) }.map(drop)
}
