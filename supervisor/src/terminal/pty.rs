//! The guard's own pseudoterminal, on which the command runs.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::OptionalActions;

use super::Tty;

/// A new pseudoterminal.
#[derive(Debug)]
pub struct Pty {
    /// The guard's end. It is non-blocking.
    pub master: OwnedFd,
    /// The command's end.
    pub slave: OwnedFd,
}

impl Pty {
    /// Opens a pseudoterminal with the operator's modes and size.
    ///
    /// # Errors
    /// The kernel's: ENOSPC if there are no more pseudoterminals.
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

    /// Returns the modes of a new terminal.
    pub fn modes() -> Termios {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::termios::tcgetattr(&master).unwrap()
    }
}
