//! The terminal of a command outside the guard, shown on this one.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::termios::{OptionalActions, Termios};

/// How much is carried at once.
const PART: usize = 8192;

/// Carries keys to the command's terminal, and its output back.
pub struct Relay {
    master: File,
    /// This process's terminal, for output.
    screen: File,
    /// This process's terminal, for keys, if descriptor 0 is a terminal.
    keyboard: Option<File>,
    /// The modes to restore, while the terminal is raw.
    usual: Option<Termios>,
    /// Keys that the command's terminal did not take yet.
    typed: Vec<u8>,
    has_output: bool,
}

impl Relay {
    /// Relays this terminal. `None` if this process has none.
    pub fn new(master: OwnedFd) -> Option<Relay> {
        rustix::io::ioctl_fionbio(&master, true).ok()?;
        let duplicate = |fd: BorrowedFd<'_>| {
            rustix::termios::isatty(fd).then(|| fd.try_clone_to_owned().ok()).flatten().map(File::from)
        };
        let (input, output, error) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
        let keyboard = duplicate(input.as_fd());
        let screen = duplicate(output.as_fd()).or_else(|| duplicate(error.as_fd()));
        let screen = screen.or_else(|| duplicate(input.as_fd()))?;
        let mut relay = Relay {
            master: master.into(),
            screen,
            keyboard,
            usual: None,
            typed: Vec::new(),
            has_output: true,
        };
        relay.settle();
        Some(relay)
    }

    /// What to wait for.
    pub fn sources(&self) -> Vec<PollFd<'_>> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::POLLIN, self.has_output);
        flags.set(PollFlags::POLLOUT, !self.typed.is_empty());
        let mut sources = Vec::new();
        if !flags.is_empty() {
            sources.push(PollFd::new(self.master.as_fd(), flags));
        }
        sources.extend(self.keys().map(|keyboard| PollFd::new(keyboard.as_fd(), PollFlags::POLLIN)));
        sources
    }

    /// The keyboard, if it is this process's now and there is room for more keys.
    fn keys(&self) -> Option<&File> {
        self.keyboard.as_ref().filter(|_| self.usual.is_some() && self.typed.len() < PART)
    }

    /// Carries what is there.
    pub fn carry(&mut self) {
        let mut part = [0; PART];
        if let Some(keyboard) = self.keys()
            && is_readable(keyboard)
        {
            let mut from = keyboard;
            match from.read(&mut part) {
                Ok(count @ 1..) => self.typed.extend_from_slice(&part[..count]),
                _ => self.keyboard = None,
            }
        }
        if !self.typed.is_empty()
            && let Ok(count) = self.master.write(&self.typed)
        {
            self.typed.drain(..count);
        }
        self.show(&mut part);
    }

    /// Shows one part of the output. Returns whether there was some.
    fn show(&mut self, part: &mut [u8]) -> bool {
        match self.master.read(part) {
            Ok(count @ 1..) => self.screen.write_all(&part[..count]).is_ok(),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => false,
            // Nobody has the terminal open any more.
            _ => {
                self.has_output = false;
                false
            }
        }
    }

    /// Shows the remaining output, and gives the terminal back.
    pub fn drain(&mut self) {
        let mut part = [0; PART];
        while self.has_output && self.show(&mut part) {}
        self.restore();
    }

    /// Takes the terminal if this process is in its foreground, and gives its size to the command's terminal.
    pub fn settle(&mut self) {
        if let Ok(size) = rustix::termios::tcgetwinsize(&self.screen) {
            let _ = rustix::termios::tcsetwinsize(&self.master, size);
        }
        let Some(keyboard) = self.keyboard.as_ref().filter(|_| self.usual.is_none()) else { return };
        if !is_foreground(keyboard) {
            return;
        }
        let Ok(usual) = rustix::termios::tcgetattr(keyboard) else { return };
        let mut raw = usual.clone();
        raw.make_raw();
        if rustix::termios::tcsetattr(keyboard, OptionalActions::Drain, &raw).is_ok() {
            self.usual = Some(usual);
        }
    }

    /// Restores the modes of the terminal.
    pub fn restore(&mut self) {
        let usual = self.usual.take();
        if let (Some(usual), Some(keyboard)) = (usual, &self.keyboard)
            && is_foreground(keyboard)
        {
            let _ = rustix::termios::tcsetattr(keyboard, OptionalActions::Drain, &usual);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.restore();
    }
}

fn is_foreground(keyboard: &File) -> bool {
    // If the keyboard is not the terminal of this session, there is no job control.
    rustix::termios::tcgetpgrp(keyboard).map_or(true, |group| group == rustix::process::getpgrp())
}

fn is_readable(file: &File) -> bool {
    poll(&mut [PollFd::new(file.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
