//! The operator's terminal.

use std::io::{stderr, stdin, stdout};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, OutputModes, Termios, Winsize};

/// The operator's terminal. Its modes are restored on drop, after a panic too.
#[derive(Debug)]
pub struct Tty {
    keyboard: OwnedFd,
    screen: OwnedFd,
    replaces: [bool; 3],
    /// The operator's modes, while the terminal is raw.
    usual: Option<Termios>,
}

impl Tty {
    /// Finds the terminal on descriptors 0, 1 and 2, else the controlling one. Returns None if there is no
    /// terminal.
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

    /// Returns which of the descriptors 0, 1 and 2 are a terminal.
    pub fn replaces(&self) -> [bool; 3] {
        self.replaces
    }

    /// Returns the descriptor to read keys from.
    pub fn keyboard(&self) -> BorrowedFd<'_> {
        self.keyboard.as_fd()
    }

    /// Returns the descriptor to write output to.
    pub fn screen(&self) -> BorrowedFd<'_> {
        self.screen.as_fd()
    }

    /// Returns whether this is the controlling terminal of this session. If not, as after setsid(1), its jobs
    /// belong to another session, and typed keys may be meant for those.
    pub fn has_jobs(&self) -> bool {
        rustix::termios::tcgetpgrp(&self.keyboard).is_ok()
    }

    /// Returns whether this process may read from the terminal without being stopped.
    pub fn is_foreground(&self) -> bool {
        match rustix::termios::tcgetpgrp(&self.keyboard) {
            Ok(group) => group == rustix::process::getpgrp(),
            // Not the terminal of this session, so there is no job control.
            Err(_) => true,
        }
    }

    /// Returns the modes that the operator has set.
    ///
    /// # Errors
    /// The kernel's, if the terminal is gone.
    pub fn modes(&self) -> Result<Termios, Errno> {
        self.usual.clone().map_or_else(|| rustix::termios::tcgetattr(&self.keyboard), Ok)
    }

    /// Returns the size of the terminal.
    ///
    /// # Errors
    /// The kernel's, if the terminal is gone.
    pub fn size(&self) -> Result<Winsize, Errno> {
        rustix::termios::tcgetwinsize(&self.screen)
    }

    /// Returns rows and columns, by default 24 and 80.
    pub fn rows_and_columns(&self) -> (u16, u16) {
        match self.size() {
            Ok(Winsize { ws_row: rows @ 1.., ws_col: columns @ 1.., .. }) => (rows, columns),
            _ => (24, 80),
        }
    }

    /// Returns whether the terminal is raw.
    pub fn is_raw(&self) -> bool {
        self.usual.is_some()
    }

    /// Returns whether the terminal turns a line feed into a carriage return and a line feed.
    pub fn ends_lines(&self) -> bool {
        !self.is_raw() && rustix::termios::tcgetattr(&self.screen).is_ok_and(|modes| ends_lines(&modes))
    }

    /// Makes the terminal raw: input and output pass unchanged. Call this in the foreground only.
    pub fn make_raw(&mut self) {
        if self.is_raw() {
            return;
        }
        let Ok(usual) = rustix::termios::tcgetattr(&self.keyboard) else { return };
        let mut raw = usual.clone();
        raw.make_raw();
        // If this fails, the kernel edits lines twice, which is harmless.
        if self.set(&raw).is_ok() {
            self.usual = Some(usual);
        }
    }

    /// Restores the operator's modes.
    pub fn restore(&mut self) {
        if let Some(usual) = self.usual.take()
            && self.is_foreground()
        {
            let _ = self.set(&usual);
        }
    }

    fn set(&self, modes: &Termios) -> Result<(), Errno> {
        // Keeps input that was typed ahead, and shows pending output under the modes it was written for.
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

/// Returns whether these modes turn a line feed into a carriage return and a line feed.
pub fn ends_lines(modes: &Termios) -> bool {
    modes.output_modes.contains(OutputModes::OPOST | OutputModes::ONLCR)
}

/// Returns whether standard input or output is a pipe or socket. Then other programs run beside this one, and
/// may use the terminal.
pub fn in_pipeline() -> bool {
    let (input, output) = (stdin(), stdout());
    [input.as_fd(), output.as_fd()].into_iter().any(|fd| {
        let kind = rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
        matches!(kind, Ok(FileType::Fifo | FileType::Socket))
    })
}

/// Reopens a terminal, to have a non-blocking file description that is not shared with the operator's shell.
fn again(terminal: BorrowedFd<'_>, flags: OFlags) -> Option<OwnedFd> {
    open(format!("/proc/self/fd/{}", terminal.as_raw_fd()), flags)
        // After su(1) the terminal belongs to another user. Then calls may block.
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
        // `modes` returns what the operator had set, not the raw modes.
        assert!(ends_lines(&outer.modes().unwrap()));
        outer.restore();
        assert!(!outer.is_raw() && !is_raw(&master));
    }
}
