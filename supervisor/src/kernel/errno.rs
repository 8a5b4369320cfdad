//! Errors of system calls, as rustix names them.

use std::io;

use rustix::io::Errno;

/// What nix says of a call that failed.
pub fn from_nix(error: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}

/// What the standard library says of one; EIO for an error of its own.
pub fn from_io(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// An error when the raw call that returned this has failed.
///
/// # Errors
/// Its errno, as long as no other call was made since.
pub(super) fn check(result: impl Into<libc::c_long>) -> Result<(), Errno> {
    if result.into() < 0 { Err(from_io(io::Error::last_os_error())) } else { Ok(()) }
}
