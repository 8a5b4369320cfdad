//! The guard's own pseudoterminal, on which the command runs.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::OptionalActions;

use super::Tty;

/// A new pseudoterminal.
#[derive(Debug)]
pub struct Pty {
    /// The end of the guard. It does not wait.
    pub master: OwnedFd,
    /// The end of the command.
    pub slave: OwnedFd,
}

impl Pty {
    /// One with the operator's modes and size.
    ///
    /// # Errors
    /// The kernel's: ENOSPC when there are no more.
    pub fn open(outer: &Tty) -> Result<Pty, Errno> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
        rustix::termios::tcsetattr(&slave, OptionalActions::Now, &outer.modes()?)?;
        rustix::termios::tcsetwinsize(&slave, outer.size()?)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        Ok(Pty { master, slave })
    }
}

#[cfg(test)]
pub mod tests {
    use rustix::termios::Termios;

    use super::*;

    /// The modes of a new terminal.
    pub fn modes() -> Termios {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::termios::tcgetattr(&master).unwrap()
    }
}
