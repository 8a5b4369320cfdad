//! The operator's terminal.

use std::io::{stderr, stdin, stdout};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, OutputModes, Termios, Winsize};

/// The operator's terminal. Its modes are restored when this is dropped, by a panic too.
#[derive(Debug)]
pub struct Tty {
    keyboard: OwnedFd,
    screen: OwnedFd,
    replaces: [bool; 3],
    /// The operator's modes, while it is raw.
    usual: Option<Termios>,
}

impl Tty {
    /// The terminal of the descriptors 0, 1 and 2, else the controlling one. None without any.
    pub fn find() -> Option<Tty> {
        let (input, output, error) = (stdin(), stdout(), stderr());
        let stdio = [input.as_fd(), output.as_fd(), error.as_fd()];
        let replaces = stdio.map(rustix::termios::isatty);
        let controlling = || open(c"/dev/tty", OFlags::RDWR);
        let first = |order: [usize; 3], flags| {
            order.into_iter().find(|&number| replaces[number]).and_then(|number| again(stdio[number], flags))
        };
        let keyboard = first([0, 0, 0], OFlags::RDONLY)
            .or_else(controlling)
            .or_else(|| first([1, 2, 0], OFlags::RDONLY))?;
        let screen = first([1, 2, 0], OFlags::WRONLY).or_else(controlling)?;
        Some(Tty { keyboard, screen, replaces, usual: None })
    }

    /// Which of the descriptors 0, 1 and 2 are a terminal.
    pub fn replaces(&self) -> [bool; 3] {
        self.replaces
    }

    /// Where the operator types.
    pub fn keyboard(&self) -> BorrowedFd<'_> {
        self.keyboard.as_fd()
    }

    /// Where the operator reads.
    pub fn screen(&self) -> BorrowedFd<'_> {
        self.screen.as_fd()
    }

    /// Whether it is the terminal of this session. If not, as after setsid(1), its jobs are others', and so may be what
    /// is typed.
    pub fn has_jobs(&self) -> bool {
        rustix::termios::tcgetpgrp(&self.keyboard).is_ok()
    }

    /// Whether this process may read from it without being stopped.
    pub fn is_foreground(&self) -> bool {
        match rustix::termios::tcgetpgrp(&self.keyboard) {
            Ok(group) => group == rustix::process::getpgrp(),
            // Not the terminal of this session: there is no job control.
            Err(_) => true,
        }
    }

    /// The modes that the operator has set.
    ///
    /// # Errors
    /// The kernel's, when the terminal is gone.
    pub fn modes(&self) -> Result<Termios, Errno> {
        self.usual.clone().map_or_else(|| rustix::termios::tcgetattr(&self.keyboard), Ok)
    }

    /// Its size.
    ///
    /// # Errors
    /// The kernel's, when the terminal is gone.
    pub fn size(&self) -> Result<Winsize, Errno> {
        rustix::termios::tcgetwinsize(&self.screen)
    }

    /// Rows and columns; of a terminal that does not say, the usual ones.
    pub fn rows_and_columns(&self) -> (u16, u16) {
        match self.size() {
            Ok(Winsize { ws_row: rows @ 1.., ws_col: columns @ 1.., .. }) => (rows, columns),
            _ => (24, 80),
        }
    }

    /// Whether it passes everything on as it is.
    pub fn is_raw(&self) -> bool {
        self.usual.is_some()
    }

    /// Whether a line feed becomes a carriage return and a line feed.
    pub fn ends_lines(&self) -> bool {
        !self.is_raw() && rustix::termios::tcgetattr(&self.screen).is_ok_and(|modes| ends_lines(&modes))
    }

    /// Passes on everything that is typed and shown as it is. For a process in the foreground only.
    pub fn make_raw(&mut self) {
        if self.is_raw() {
            return;
        }
        let Ok(usual) = rustix::termios::tcgetattr(&self.keyboard) else { return };
        let mut raw = usual.clone();
        raw.make_raw();
        // A terminal that refuses stays as it is; then the kernel edits lines twice, and nothing worse.
        if self.set(&raw).is_ok() {
            self.usual = Some(usual);
        }
    }

    /// Gives the operator's modes back.
    pub fn restore(&mut self) {
        if let Some(usual) = self.usual.take()
            && self.is_foreground()
        {
            let _ = self.set(&usual);
        }
    }

    fn set(&self, modes: &Termios) -> Result<(), Errno> {
        // What is typed ahead stays; what was written is shown under the modes it was written for.
        rustix::io::retry_on_intr(|| {
            rustix::termios::tcsetattr(&self.keyboard, OptionalActions::Drain, modes)
        })
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Whether these modes make a carriage return and a line feed of a line feed.
pub fn ends_lines(modes: &Termios) -> bool {
    modes.output_modes.contains(OutputModes::OPOST | OutputModes::ONLCR)
}

/// Whether standard input or output is a pipe or socket: other programs, which may use the terminal, are at work
/// beside this one.
pub fn in_pipeline() -> bool {
    let (input, output) = (stdin(), stdout());
    [input.as_fd(), output.as_fd()].into_iter().any(|fd| {
        let kind = rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
        matches!(kind, Ok(FileType::Fifo | FileType::Socket))
    })
}

/// A description of our own of an open terminal, which does not wait; the operator's shell shares the one it gave us.
fn again(terminal: BorrowedFd<'_>, flags: OFlags) -> Option<OwnedFd> {
    open(format!("/proc/self/fd/{}", terminal.as_raw_fd()), flags)
        // Another user's, after su(1): calls may wait, then.
        .or_else(|| terminal.try_clone_to_owned().ok())
}

fn open(path: impl rustix::path::Arg, flags: OFlags) -> Option<OwnedFd> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::pty::tests::modes;

    fn outer() -> (Tty, OwnedFd) {
        let pty = nix::pty::openpty(None, None).unwrap();
        rustix::termios::tcsetattr(&pty.slave, OptionalActions::Now, &modes()).unwrap();
        let keyboard = pty.slave.try_clone().unwrap();
        (Tty { keyboard, screen: pty.slave, replaces: [true; 3], usual: None }, pty.master)
    }

    fn is_raw(master: &OwnedFd) -> bool {
        !ends_lines(&rustix::termios::tcgetattr(master).unwrap())
    }

    #[test]
    fn a_panic_restores_the_modes() {
        let (mut outer, master) = outer();
        outer.make_raw();
        assert!(is_raw(&master));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _outer = outer;
            panic!("as a bug would");
        }));
        assert!(panicked.is_err());
        assert!(!is_raw(&master));
    }

    #[test]
    fn raw_twice_is_restored_once() {
        let (mut outer, master) = outer();
        outer.make_raw();
        outer.make_raw();
        assert!(outer.is_raw() && is_raw(&master));
        // What the operator had set is what is copied, not what is in force.
        assert!(ends_lines(&outer.modes().unwrap()));
        outer.restore();
        assert!(!outer.is_raw() && !is_raw(&master));
    }
}
