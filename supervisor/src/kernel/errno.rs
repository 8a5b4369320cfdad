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

/// That of the raw call that has just failed.
pub(super) fn last() -> Errno {
    from_io(io::Error::last_os_error())
}
