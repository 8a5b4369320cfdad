//! Programs of the operator's that the guard starts beside the tree.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::privileges;

/// The program will lead a session of its own, with no descriptor but its standard ones and with signals as at any
/// start: what this process ignores is not for others.
pub fn detach(command: &mut Command) {
    // SAFETY: `leave` makes system calls only, by functions that take no lock and allocate nothing.
    unsafe { command.pre_exec(start_session) };
}

fn start_session() -> io::Result<()> {
    rustix::process::setsid()?;
    privileges::reset_signals(&[])?;
    // Before Linux 5.11 there is no such flag, and each descriptor's own holds.
    // SAFETY: three integers; the kernel marks descriptors, and closes none of them now.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    Ok(())
}
