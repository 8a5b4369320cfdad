//! A human at a terminal of cells: what is shown where, and the terminal's own replies.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::termios::tcgetattr;

use crate::pty::{self, Pty};
use crate::{Still, limit, status_of};

/// How the terminal reacts to queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replies {
    /// It replies, as terminals do.
    Given,
    /// It does not reply.
    Silent,
}

/// A terminal of cells, with a command on it.
pub struct Emulator {
    child: Child,
    master: File,
    /// Stays open, so that nothing is lost between two commands that have it open.
    slave: OwnedFd,
    inside: Arc<Mutex<Inside>>,
    over: Arc<AtomicBool>,
}

struct Inside {
    parser: vt100::Parser<Questions>,
    shown: Vec<u8>,
    /// What was written and is not shown yet, if the terminal lags.
    late: Option<Vec<u8>>,
}

impl Inside {
    /// Shows output. Returns the replies that are due.
    fn show(&mut self, written: &[u8]) -> Vec<u8> {
        if let Some(late) = &mut self.late {
            late.extend_from_slice(written);
            return Vec::new();
        }
        self.shown.extend_from_slice(written);
        self.parser.process(written);
        std::mem::take(&mut self.parser.callbacks_mut().due)
    }
}

/// Replies that are due, and whether the terminal sends any.
struct Questions {
    replies: Replies,
    due: Vec<u8>,
    /// Keys to type at the moment of the next reply.
    meanwhile: Vec<u8>,
}

impl vt100::Callbacks for Questions {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        private: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let reply = match (private, params, last) {
            (None, [[6]], 'n') => {
                let (row, column) = screen.cursor_position();
                let (_, columns) = screen.size();
                format!("\x1b[{};{}R", row + 1, (column + 1).min(columns))
            }
            (None, [[5]], 'n') => "\x1b[0n".to_owned(),
            (None, [] | [[0]], 'c') => "\x1b[?62;22c".to_owned(),
            (None, [[21]], 't') => "\x1b]ltitle\x1b\\".to_owned(),
            _ => return,
        };
        if self.replies == Replies::Given {
            self.due.extend_from_slice(reply.as_bytes());
            self.due.append(&mut self.meanwhile);
        }
    }

    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.due.extend_from_slice(b"CLIPBOARD READ\r");
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.due.extend_from_slice(b"CLIPBOARD WRITTEN\r");
    }

    fn unhandled_control(&mut self, _: &mut vt100::Screen, control: u8) {
        if control == 5 {
            self.due.extend_from_slice(b"y\r");
        }
    }
}

/// What a terminal shows at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Each row as text.
    pub text: String,
    /// Each cell: its content, and how it is drawn.
    pub cells: Vec<String>,
    /// Row and column, from 0, and whether the cursor is visible.
    pub cursor: (u16, u16, bool),
    /// Alternate screen, keys, paste, mouse, pen.
    pub modes: String,
}

impl Emulator {
    /// Starts a command that leads a session on a new terminal of this many rows and columns.
    ///
    /// # Panics
    /// When that fails.
    #[must_use]
    pub fn start(command: &Command, (rows, columns): (u16, u16), replies: Replies) -> Emulator {
        let Pty { child, master, slave } = Pty::start(command, (rows, columns));
        let questions = Questions { replies, due: Vec::new(), meanwhile: Vec::new() };
        let parser = vt100::Parser::new_with_callbacks(rows, columns, 0, questions);
        let inside = Arc::new(Mutex::new(Inside { parser, shown: Vec::new(), late: None }));
        let over = Arc::<AtomicBool>::default();
        let (from, into, until) =
            (master.try_clone().expect("a descriptor"), Arc::clone(&inside), Arc::clone(&over));
        thread::spawn(move || emulate(from, &into, &until));
        Emulator { child, master, slave, inside, over }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Types keys.
    ///
    /// # Panics
    /// When nobody has the terminal open.
    pub fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("to type");
    }

    /// Types keys as soon as the terminal has replied to something, so that both are read at once.
    pub fn keys_with_an_answer(&mut self, keys: &str) {
        self.inside().parser.callbacks_mut().meanwhile.extend_from_slice(keys.as_bytes());
    }

    /// Makes the terminal show nothing of what is written from now on, as behind a slow line, until
    /// [`catch_up`](Emulator::catch_up).
    pub fn lag(&self) {
        self.inside().late.get_or_insert_default();
    }

    /// Shows what was written meanwhile, and replies to it.
    ///
    /// # Panics
    /// When nobody has the terminal open.
    pub fn catch_up(&mut self) {
        let due = {
            let mut inside = self.inside();
            let late = inside.late.take().unwrap_or_default();
            inside.show(&late)
        };
        self.master.write_all(&due).expect("to reply");
    }

    /// Returns what the terminal shows now.
    #[must_use]
    pub fn picture(&self) -> Picture {
        Picture::of(self.inside().parser.screen())
    }

    /// Waits until `is_so` accepts what is shown.
    ///
    /// # Panics
    /// When that never happens.
    pub fn wait(&self, what: &str, is_so: impl Fn(&Picture) -> bool) -> Picture {
        let end = Instant::now() + limit() / 5;
        loop {
            let picture = self.picture();
            if is_so(&picture) {
                return picture;
            }
            assert!(Instant::now() < end, "{what}: never; there is:\n{}", picture.text);
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until this text is shown.
    ///
    /// # Panics
    /// When that never happens.
    pub fn expect(&self, text: &str) -> Picture {
        self.wait(text, |picture| picture.text.contains(text))
    }

    /// Waits until nothing has changed for a while.
    #[must_use]
    pub fn rest(&self) -> Picture {
        let mut last = self.picture();
        let mut since = Instant::now();
        while since.elapsed() < Duration::from_millis(400) {
            thread::sleep(Duration::from_millis(20));
            let now = self.picture();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        last
    }

    /// Returns what the terminal shows now, with its colours.
    #[must_use]
    pub fn still(&self) -> Still {
        Still::new(self.inside().parser.screen())
    }

    /// Returns everything that was written to the terminal.
    #[must_use]
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.inside().shown).into_owned()
    }

    /// Resizes the terminal.
    ///
    /// # Panics
    /// When that fails.
    pub fn resize(&self, rows: u16, columns: u16) {
        self.inside().parser.screen_mut().set_size(rows, columns);
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(self.master.as_fd(), size).expect("to resize");
    }

    /// Returns the modes of the line discipline, as text that can be compared.
    ///
    /// # Panics
    /// When it cannot be asked.
    #[must_use]
    pub fn modes(&self) -> String {
        let modes = tcgetattr(&self.slave).expect("modes");
        format!("{:?} {:?} {:?}", modes.input_flags, modes.output_flags, modes.local_flags)
    }

    /// Returns the process id of the command.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the command's end. Returns its status.
    #[must_use]
    pub fn end(mut self) -> i32 {
        let status = status_of(&mut self.child);
        self.over.store(true, Ordering::Relaxed);
        status
    }
}

impl Picture {
    fn of(screen: &vt100::Screen) -> Picture {
        let (rows, columns) = screen.size();
        let cell = |row: u16, column: u16| {
            let cell = screen.cell(row, column).expect("a cell");
            // An erased cell and a blank one look the same.
            let text = if cell.has_contents() { cell.contents() } else { " " };
            let flags =
                [cell.bold(), cell.dim(), cell.italic(), cell.underline(), cell.inverse(), cell.is_wide()];
            format!("{text}{:?}{:?}{flags:?}", cell.fgcolor(), cell.bgcolor())
        };
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| cell(row, column))).collect();
        let text: Vec<_> = screen.rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        let (row, column) = screen.cursor_position();
        let modes = format!(
            "alternate {} keypad {} cursor keys {} paste {} mouse {:?} {:?} pen {:?}",
            screen.alternate_screen(),
            screen.application_keypad(),
            screen.application_cursor(),
            screen.bracketed_paste(),
            screen.mouse_protocol_mode(),
            screen.mouse_protocol_encoding(),
            String::from_utf8_lossy(&screen.attributes_formatted()),
        );
        Picture { text: text.join("\n"), cells, cursor: (row, column, !screen.hide_cursor()), modes }
    }

    /// Asserts that another picture is the same.
    ///
    /// # Panics
    /// When it differs; the message shows where.
    pub fn assert_same(&self, other: &Picture) {
        assert_eq!(self.text, other.text);
        for (at, (one, two)) in self.cells.iter().zip(&other.cells).enumerate() {
            assert_eq!(one, two, "cell {at} of\n{}", self.text);
        }
        assert_eq!((self.cursor, &self.modes), (other.cursor, &other.modes), "{}", self.text);
    }
}

/// Reads until the end, and replies to queries.
fn emulate(master: File, inside: &Mutex<Inside>, over: &AtomicBool) {
    pty::read(master, over, |master, shown| {
        let due = inside.lock().unwrap_or_else(PoisonError::into_inner).show(shown);
        // A full buffer must not stop the reader.
        let _ = master.write(&due);
    });
}
