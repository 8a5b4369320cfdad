//! A human at a terminal: a command on its own pseudoterminal, keys typed to it, and what it shows.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::termios::tcgetattr;

use crate::pty::{self, Pty};
use crate::{limit, status_of};

/// A command on a terminal.
#[derive(Debug)]
pub struct Screen {
    child: Child,
    master: File,
    /// Stays open, so that nothing is lost between two commands that have it open.
    slave: OwnedFd,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    over: Arc<AtomicBool>,
    /// How much of the output earlier waits have consumed.
    seen: usize,
}

/// 30 rows of 100 columns.
const SIZE: (u16, u16) = (30, 100);

impl Screen {
    /// Starts a command that leads a session on a new terminal.
    ///
    /// # Panics
    /// When that fails.
    #[must_use]
    pub fn start(command: &Command) -> Screen {
        let Pty { child, master, slave } = Pty::start(command, SIZE);
        let (shown, over) = (Arc::<Mutex<Vec<u8>>>::default(), Arc::<AtomicBool>::default());
        let from = master.try_clone().expect("a descriptor");
        let (into, until) = (Arc::clone(&shown), Arc::clone(&over));
        let reader = thread::spawn(move || {
            pty::read(from, &until, |_, shown| {
                into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(shown);
            });
        });
        Screen { child, master, slave, shown, reader, over, seen: 0 }
    }

    /// Types keys.
    ///
    /// # Panics
    /// When nobody has the terminal open.
    pub fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("to type");
    }

    /// Waits until this is shown, after the text of the previous wait.
    ///
    /// # Panics
    /// When that never happens.
    pub fn expect(&mut self, text: &str) {
        let end = Instant::now() + limit();
        loop {
            let shown = self.text();
            if let Some(at) = shown[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            assert!(Instant::now() < end, "{text:?} is never shown; there is:\n{shown}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns everything shown so far.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Returns the terminal's modes, as text that can be compared.
    ///
    /// # Panics
    /// When it cannot be asked.
    #[must_use]
    pub fn modes(&self) -> String {
        let modes = tcgetattr(&self.slave).expect("modes");
        format!("{:?} {:?} {:?}", modes.input_flags, modes.output_flags, modes.local_flags)
    }

    /// Resizes the terminal.
    ///
    /// # Panics
    /// When that fails.
    pub fn resize(&self, rows: u16, columns: u16) {
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(self.master.as_fd(), size).expect("to resize");
    }

    /// Returns the process id of the command.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the command's end. Returns its status and everything that was shown.
    #[must_use]
    pub fn end(mut self) -> (i32, String) {
        let status = status_of(&mut self.child);
        // The reader may still have to take what was written before the end.
        let mut last = usize::MAX;
        while last != self.text().len() {
            last = self.text().len();
            thread::sleep(Duration::from_millis(50));
        }
        (status, self.text())
    }

    /// Closes the terminal while the command runs, as when a connection breaks.
    ///
    /// # Panics
    /// When the reader has panicked.
    #[must_use]
    pub fn hang_up(self) -> Child {
        self.over.store(true, Ordering::Relaxed);
        self.reader.join().expect("a reader");
        self.child
    }
}
