//! The command's side: loads a filter, then becomes the command.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use libseccomp::{ScmpAction, ScmpFilterContext, ScmpSyscall};

use crate::error::{Context, Error};

/// Loads the filter, sends its listener's number over standard input (a socket), waits for a byte, and becomes the
/// command.
///
/// # Errors
/// If one of these steps fails.
pub fn lead(command: &[OsString]) -> Result<(), Error> {
    let mut filter = ScmpFilterContext::new(ScmpAction::Allow).context(|| "filter".into())?;
    for name in ["open", "openat", "execve"] {
        let call = ScmpSyscall::from_name(name).context(|| name.into())?;
        filter.add_rule(ScmpAction::Notify, call).context(|| name.into())?;
    }
    filter.load().context(|| "cannot load a filter".into())?;
    let listener = filter.get_notify_fd().context(|| "no listener".into())?;
    let stdin = std::io::stdin();
    rustix::io::write(stdin.as_fd(), &listener.to_ne_bytes()).context(|| "supervisor".into())?;
    let mut go = [0];
    if rustix::io::read(stdin.as_fd(), &mut go).context(|| "supervisor".into())? == 0 {
        return Err(Error::new("the supervisor is gone"));
    }
    let (program, arguments) = command.split_first().ok_or_else(|| Error::new("no command"))?;
    let error = Command::new(program).args(arguments).stdin(Stdio::null()).exec();
    Err(Error::new(format!("{}: {error}", program.to_string_lossy())))
}
