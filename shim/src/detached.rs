//! Programs of the operator that the guard starts outside the tree.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::privileges;

/// Makes the program the leader of its own session, with only the standard descriptors and default signal dispositions:
/// it must not inherit the signals that this process ignores.
pub fn detach(command: &mut Command) {
    // SAFETY: `start_session` only makes system calls, through functions that take no lock and allocate nothing.
    unsafe { command.pre_exec(start_session) };
}

fn start_session() -> io::Result<()> {
    rustix::process::setsid()?;
    privileges::reset_signals(&[])?;
    // Before Linux 5.11 this flag does not exist, and only descriptors already marked close-on-exec are closed.
    // SAFETY: the arguments are three integers; the kernel marks descriptors, and closes none of them now.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    Ok(())
}
