//! Errors of system calls, as rustix names them.

use std::io;

use rustix::io::Errno;

/// Converts nix's error.
pub fn from_nix(error: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}

/// Converts an I/O error; EIO for one that has no errno.
pub fn from_io(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Converts the return value of a raw call: an error if it failed.
///
/// # Errors
/// The call's errno, provided that no other call was made since.
pub(super) fn check(result: impl Into<libc::c_long>) -> Result<(), Errno> {
    if result.into() < 0 { Err(from_io(io::Error::last_os_error())) } else { Ok(()) }
}
