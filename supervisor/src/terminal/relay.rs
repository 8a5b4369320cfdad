//! Relays typed keys to the command's terminal, and the command's output to the operator's.
//!
//! Why: docs/decisions.md, "The front relays, not the supervisor."

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use super::filter::{Filter, Filtered};
use super::keys::Keys;
use super::prompt::{Prompt, TerminalFeatures};
use super::screen::ScreenModel;
use super::screen_state::{ScreenState, SharedScreenState};
use super::tty::{Tty, ends_lines};

/// The number of bytes relayed at once. No more is read before they are written.
const CHUNK: usize = 16 * 1024;
/// More than a pseudoterminal can hold (drivers/tty: twice 8 KiB, and the line discipline's 4). After reading
/// this many bytes, everything that was written before has been read.
const MAX_HELD_BYTES: usize = 64 * 1024;

/// An event that the relay waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// The operator has typed something.
    Keyboard,
    /// The operator's terminal can take more output.
    Screen,
    /// The command's terminal has output, or can take more input.
    Master,
    /// The supervisor has sent a message.
    Supervisor,
}

/// Both terminals, and the data in transit between them.
pub struct Relay {
    pub(super) outer: Tty,
    /// The command's terminal; None if the operator's terminal is gone.
    pub(super) master: Option<OwnedFd>,
    pub(super) typed: Vec<u8>,
    pub(super) shown: Vec<u8>,
    pub(super) filter: Filter,
    passed: Filtered,
    pub(super) model: ScreenModel,
    /// What the operator's terminal can do.
    pub(super) terminal: TerminalFeatures,
    pub(super) prompt: Option<Prompt>,
    /// When the command's terminal gets its right size back, after a change that makes programs redraw.
    pub(super) redraws: Option<Instant>,
    keys: Keys,
    /// The modes that the guard set last on the command's terminal.
    given: Option<Termios>,
    /// Whether typed keys go to the command. The operator's terminal is then raw.
    pub(super) attentive: bool,
    /// Whether the output so far ends in a carriage return that is held back.
    returned: bool,
    /// The number of bytes read of the command's output.
    taken: usize,
    /// The shared state by which the supervisor learns what is on the screen, and what was written last.
    screen_state: Option<SharedScreenState>,
    shared: ScreenState,
}

impl Relay {
    /// Creates a relay between these two terminals.
    pub fn new(outer: Tty, master: OwnedFd) -> Relay {
        let term = std::env::var("TERM").unwrap_or_default();
        let terminal = TerminalFeatures::from_term(&term);
        Relay {
            filter: Filter::new(&term),
            passed: Filtered::default(),
            model: ScreenModel::new(outer.rows_and_columns(), terminal == TerminalFeatures::Single),
            terminal,
            prompt: None,
            redraws: None,
            given: rustix::termios::tcgetattr(&master).ok(),
            outer,
            master: Some(master),
            typed: Vec::new(),
            shown: Vec::new(),
            keys: Keys::default(),
            attentive: false,
            returned: false,
            taken: 0,
            screen_state: SharedScreenState::new().ok(),
            shared: ScreenState::default(),
        }
    }

    /// Returns the operator's terminal.
    pub fn outer(&self) -> &Tty {
        &self.outer
    }

    /// Returns the shared state of the screen, which the supervisor reads.
    pub fn screen_state(&self) -> Option<SharedScreenState> {
        self.screen_state.clone()
    }

    /// Returns whether typed keys go to the command.
    pub fn is_attentive(&self) -> bool {
        self.attentive
    }

    /// Takes the keyboard. Call this in the foreground only.
    pub fn attend(&mut self) {
        let Some(master) = &self.master else { return };
        // A shell that edits lines has other modes set when it starts a job in the background than when it
        // brings the job to the foreground. Modes that the command has set itself are kept.
        if !self.attentive
            && let (Ok(now), Ok(theirs)) = (self.outer.modes(), rustix::termios::tcgetattr(master))
            && self.given.as_ref().is_none_or(|given| same(given, &theirs))
        {
            let _ = rustix::termios::tcsetattr(master, OptionalActions::Now, &now);
            self.given = Some(now);
        }
        if !self.attentive && !self.outer.is_raw() {
            self.take_lines();
        }
        self.outer.make_raw();
        self.attentive = true;
        self.update();
    }

    /// Reads the lines that were typed ahead: in raw mode an end of input among them would be read as a zero
    /// byte.
    fn take_lines(&mut self) {
        let Some(Ok(inner)) = self.master.as_ref().map(rustix::termios::tcgetattr) else { return };
        let Ok(outer) = self.outer.modes() else { return };
        if !outer.local_modes.contains(LocalModes::ICANON) {
            return;
        }
        let line_ends = [
            b'\n',
            outer.special_codes[SpecialCodeIndex::VEOL],
            outer.special_codes[SpecialCodeIndex::VEOL2],
        ];
        let mut buffer = [0; CHUNK];
        while self.typed.len() < CHUNK && has_input(self.outer.keyboard()) {
            let Ok(count) = rustix::io::read(self.outer.keyboard(), &mut buffer) else { return };
            self.typed.extend_from_slice(&buffer[..count]);
            if !buffer[..count].last().is_some_and(|last| line_ends.contains(last)) {
                self.typed.push(inner.special_codes[SpecialCodeIndex::VEOF]);
            }
        }
    }

    /// Releases the keyboard.
    pub fn ignore(&mut self) {
        self.lower();
        self.outer.restore();
        self.attentive = false;
    }

    /// Gives the command's terminal the size of the operator's. The kernel signals the change to its
    /// foreground group.
    pub fn resize(&mut self) {
        if let (Some(master), Ok(size)) = (&self.master, self.outer.size()) {
            // A wrong size is harmless.
            let _ = rustix::termios::tcsetwinsize(master, size);
        }
        self.resized();
    }

    /// Ends the input of a command that waits for a keyboard that it will never get.
    pub fn end_input(&mut self) {
        if let Some(modes) = self.master.as_ref().and_then(|master| rustix::termios::tcgetattr(master).ok()) {
            self.typed.push(modes.special_codes[SpecialCodeIndex::VEOF]);
        }
    }

    /// Returns the descriptors to wait for.
    pub fn sources(&self) -> Vec<(RelayEvent, BorrowedFd<'_>, PollFlags)> {
        let mut sources = Vec::new();
        let Some(master) = &self.master else { return sources };
        let is_up = self.prompt.as_ref().is_some_and(Prompt::is_up);
        sources.extend(
            self.prompt.as_ref().map(|prompt| (RelayEvent::Supervisor, prompt.link(), PollFlags::POLLIN)),
        );
        // A prompt can be answered even if the command does not read.
        if self.attentive && (self.typed.is_empty() || is_up && self.typed.len() < CHUNK) {
            sources.push((RelayEvent::Keyboard, self.outer.keyboard(), PollFlags::POLLIN));
        }
        let mut events = PollFlags::empty();
        events.set(PollFlags::POLLOUT, !self.typed.is_empty());
        // Under a prompt no output is read, so the kernel blocks writers.
        events.set(PollFlags::POLLIN, self.shown.is_empty() && !is_up);
        if !events.is_empty() {
            sources.push((RelayEvent::Master, master.as_fd(), events));
        }
        if !self.shown.is_empty() {
            sources.push((RelayEvent::Screen, self.outer.screen(), PollFlags::POLLOUT));
        }
        sources
    }

    /// Relays what is ready. If `job`, the command's group, is in the foreground, returns the signals of typed keys.
    /// Without the guard, these keys would send them to every process of the operator's job.
    pub fn carry(&mut self, source: RelayEvent, job: Option<i32>) -> Vec<Signal> {
        match source {
            RelayEvent::Keyboard => return self.read_keyboard(job),
            RelayEvent::Screen => self.show(),
            RelayEvent::Master => {
                self.write_master();
                if !self.is_covered() {
                    self.read_master();
                }
            }
            RelayEvent::Supervisor => self.hear(),
        }
        Vec::new()
    }

    fn read_keyboard(&mut self, job: Option<i32>) -> Vec<Signal> {
        let mut buffer = [0; CHUNK];
        let count = match rustix::io::read(self.outer.keyboard(), &mut buffer) {
            Ok(0) => 0,
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Vec::new(),
            // EIO in the background, in an orphaned process group: no shell can bring it to the foreground.
            Err(_) if !self.outer.is_foreground() => {
                self.ignore();
                return Vec::new();
            }
            Err(_) => 0,
        };
        if self.master.is_none() || count == 0 {
            self.hang_up();
            return Vec::new();
        }
        let (keys, suspends) = self.answered(&buffer[..count]);
        if suspends {
            return vec![Signal::SIGTSTP];
        }
        let Some(master) = &self.master else { return Vec::new() };
        let front = rustix::termios::tcgetpgrp(master).map(|group| group.as_raw_nonzero().get());
        let signals = match rustix::termios::tcgetattr(master) {
            Ok(modes) if front.ok() == job => self.keys.signals(&keys, &modes),
            _ => Vec::new(),
        };
        self.typed.extend_from_slice(&keys);
        self.write_master();
        signals
    }

    pub(super) fn write_master(&mut self) {
        let Some(master) = self.master.as_ref().filter(|_| !self.typed.is_empty()) else { return };
        match rustix::io::write(master, &self.typed) {
            Ok(count) => drop(self.typed.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // No process has the terminal open: typed keys are lost, as on a terminal that is not read.
            Err(_) => self.typed.clear(),
        }
    }

    /// Reads the command's output. Returns false if no more can come.
    fn read_master(&mut self) -> bool {
        let Some(master) = self.master.as_ref().filter(|_| self.shown.is_empty()) else { return true };
        let mut buffer = [0; CHUNK];
        match rustix::io::read(master, &mut buffer) {
            Ok(count) if count > 0 => {
                self.taken = self.taken.wrapping_add(count);
                let plain = self.outer.ends_lines()
                    && rustix::termios::tcgetattr(master).is_ok_and(|modes| ends_lines(&modes));
                self.passed.clear();
                self.filter.feed(&buffer[..count], &mut self.passed);
                self.passed.leave_before_resets();
                self.model.feed(&self.passed);
                self.share_state(&buffer[..count]);
                plain_lines(&self.passed.bytes, plain, &mut self.returned, &mut self.shown);
                self.show();
                true
            }
            Err(Errno::AGAIN | Errno::INTR) => true,
            // EIO: no process has the other end open.
            Ok(_) | Err(_) => false,
        }
    }

    /// Tells the supervisor what is on the screen after this output.
    fn share_state(&mut self, output: &[u8]) {
        let state = match output.last() {
            _ if self.model.modes().alternate() => ScreenState::Alternate,
            _ if self.model.modes().hides_cursor() => ScreenState::CursorHidden,
            Some(b'\n') => ScreenState::LineStart,
            _ => ScreenState::MidLine,
        };
        if let Some(shared) = self.screen_state.as_ref().filter(|_| state != self.shared) {
            shared.set(state);
            self.shared = state;
        }
    }

    pub(super) fn show(&mut self) {
        if self.shown.is_empty() {
            return;
        }
        match rustix::io::write(self.outer.screen(), &self.shown) {
            Ok(count) => drop(self.shown.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.hang_up(),
        }
    }

    /// Closes the command's terminal, because the operator's is gone.
    pub fn hang_up(&mut self) {
        self.prompt = None;
        self.ignore();
        self.master = None;
        self.typed.clear();
        self.shown.clear();
    }

    /// Shows the output written so far, and a bounded part of what is written meanwhile. Returns false if no
    /// process can write more.
    pub fn drain(&mut self) -> bool {
        self.lower();
        let before = self.taken;
        loop {
            if self.master.is_none() {
                return false;
            }
            if !self.shown.is_empty() {
                // A stopped terminal blocks writers, so this waits without a timeout.
                let _ = ready(self.outer.screen(), PollFlags::POLLOUT, PollTimeout::NONE);
                self.show();
            } else if self.taken.wrapping_sub(before) >= MAX_HELD_BYTES {
                return true;
            } else if !self.read_master() {
                self.finish();
                return false;
            } else if self.shown.is_empty() && !self.has_more() {
                self.finish();
                return true;
            }
        }
    }

    fn has_more(&self) -> bool {
        let Some(master) = &self.master else { return false };
        ready(master.as_fd(), PollFlags::POLLIN, PollTimeout::ZERO).is_some()
    }

    /// Shows what was held back at the end: a carriage return, or part of a character.
    fn finish(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.shown.push(b'\r');
        }
        self.passed.clear();
        self.filter.finish(&mut self.passed);
        self.shown.extend_from_slice(&self.passed.bytes);
        self.show();
    }

    /// Relays output until no process has the terminal open.
    pub fn linger(mut self) {
        self.ignore();
        while self.drain() {
            let Some(master) = &self.master else { return };
            let _ = ready(master.as_fd(), PollFlags::POLLIN, PollTimeout::NONE);
        }
    }
}

impl Drop for Relay {
    /// Restores the screen, after a panic too.
    fn drop(&mut self) {
        self.lower();
    }
}

/// Waits for events on a terminal. Returns the events, which may be a hangup, or None at the timeout.
pub(super) fn ready(terminal: BorrowedFd<'_>, events: PollFlags, timeout: PollTimeout) -> Option<PollFlags> {
    let mut polled = [PollFd::new(terminal, events)];
    let count = poll(&mut polled, timeout).ok()?;
    polled[0].revents().filter(|_| count > 0)
}

/// Returns whether the terminal has input and was not hung up.
fn has_input(terminal: BorrowedFd<'_>) -> bool {
    ready(terminal, PollFlags::POLLIN, PollTimeout::ZERO).is_some_and(|events| events == PollFlags::POLLIN)
}

/// Returns whether two terminals have the same modes.
fn same(one: &Termios, other: &Termios) -> bool {
    one.input_modes == other.input_modes
        && one.output_modes == other.output_modes
        && one.local_modes == other.local_modes
        && one.control_modes == other.control_modes
}

/// Appends output to `shown`; with `plain`, without the carriage returns that the operator's terminal adds
/// itself. `returned` is whether a carriage return is held back.
fn plain_lines(written: &[u8], plain: bool, returned: &mut bool, shown: &mut Vec<u8>) {
    for &byte in written {
        if std::mem::take(returned) && !(plain && byte == b'\n') {
            shown.push(b'\r');
        }
        if byte == b'\r' && plain {
            *returned = true;
        } else {
            shown.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_made_once() {
        let shown = |chunks: &[&[u8]], plain| {
            let (mut shown, mut returned) = (Vec::new(), false);
            for chunk in chunks {
                plain_lines(chunk, plain, &mut returned, &mut shown);
            }
            if returned {
                shown.push(b'\r');
            }
            shown
        };
        assert_eq!(shown(&[b"a\r\nb\r\n"], true), b"a\nb\n");
        assert_eq!(shown(&[b"a\r", b"\nb"], true), b"a\nb");
        assert_eq!(shown(&[b"50%\r60%\r\r\n\r"], true), b"50%\r60%\r\n\r");
        assert_eq!(shown(&[b"a\r\n"], false), b"a\r\n");
    }
}
