//! What stands on the operator's screen while the command has it for itself (the alternate screen): so that what a
//! prompt covers can be put back.
//!
//! Kept by vt100, which knows less than terminals do: some sequences are put in its words here. Where it cannot know,
//! the picture is uncertain, and the program is to draw again.

mod emulator;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::filter::{Filtered, PieceKind};
use super::modes::Modes;
use super::quiet::quietly;
use emulator::{Screen, is_kept};

/// The screen, and what is set.
#[derive(Default)]
pub struct ScreenModel {
    modes: Modes,
    size: (u16, u16),
    /// None on the screen that scrolls, which terminals put back by themselves, and where it cannot be kept.
    screen: Option<Screen>,
    /// Whether there is one screen only, which is kept always.
    is_single: bool,
}

impl ScreenModel {
    /// Of a terminal with so many rows and columns. `is_single`: it has no alternate screen.
    pub fn new(size: (u16, u16), is_single: bool) -> ScreenModel {
        let mut model = ScreenModel { size, is_single, ..ScreenModel::default() };
        if is_single {
            model.screen = Screen::new(size);
        }
        model
    }

    /// What is set.
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// Whether the command has a screen for itself that is put back by what is kept here.
    pub fn is_kept(&self) -> bool {
        self.is_single || self.modes.alternate()
    }

    /// Takes what is shown.
    pub fn feed(&mut self, passed: &Filtered) {
        // Whatever the command writes must not end this process.
        let taken = catch_unwind(AssertUnwindSafe(|| {
            quietly(|| passed.pieces().for_each(|(kind, bytes)| self.feed_piece(kind, bytes)));
        }));
        if taken.is_err() {
            self.screen = None;
            passed.pieces().for_each(|(kind, bytes)| self.modes.note(kind, bytes));
        }
    }

    fn feed_piece(&mut self, kind: PieceKind, bytes: &[u8]) {
        let was_alternate = self.modes.alternate();
        if let Some(screen) = &mut self.screen {
            screen.feed(kind, bytes, &self.modes);
        }
        self.modes.note(kind, bytes);
        match (was_alternate, self.modes.alternate()) {
            _ if self.is_single => {}
            (false, true) => {
                self.screen = Screen::new(self.size);
                if let Some(screen) = &mut self.screen {
                    screen.parser.process(&self.modes.for_model());
                    // Another sequence leads to a screen as it was left.
                    screen.is_certain = bytes.windows(4).any(|part| part == b"1049");
                }
            }
            (true, false) => self.screen = None,
            _ => {}
        }
    }

    /// The terminal has another size, and shows what it can of what was there.
    pub fn resize(&mut self, size: (u16, u16)) {
        if size == self.size {
            return;
        }
        self.size = size;
        if let Some(screen) = &mut self.screen {
            screen.is_certain = false;
            let resized = catch_unwind(AssertUnwindSafe(|| {
                quietly(|| screen.parser.screen_mut().set_size(size.0, size.1))
            }));
            if resized.is_err() || !is_kept(size) {
                self.screen = None;
            }
        }
    }

    /// Rows and columns.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Whether what is kept is all that was on the screen.
    pub fn is_certain(&self) -> bool {
        self.screen.as_ref().is_some_and(|screen| screen.is_certain) && !self.modes.is_beyond_cells()
    }

    /// Whether anything is kept.
    pub fn is_drawn(&self) -> bool {
        self.screen.is_some()
    }

    /// Where the cursor is, row and column from 1, as a terminal tells it.
    pub fn cursor_position(&self) -> Option<(u16, u16)> {
        let (row, column) = self.screen.as_ref()?.parser.screen().cursor_position();
        Some((row + 1, (column + 1).min(self.size.1)))
    }

    /// Draws these rows as they were.
    pub fn rows(&self, rows: std::ops::Range<u16>) -> Vec<u8> {
        let mut out = Vec::new();
        for row in rows {
            out.extend_from_slice(format!("\x1b[{};1H\x1b[0m\x1b[2K", row + 1).as_bytes());
            if let Some(screen) = &self.screen {
                screen.row(row, &mut out);
            }
        }
        out
    }

    /// Puts the cursor where it was. Origin mode is as it was then.
    pub fn cursor(&self) -> Vec<u8> {
        let Some(screen) = self.screen.as_ref().map(|screen| screen.parser.screen()) else {
            return Vec::new();
        };
        if self.modes.counts_from_margin() {
            let (row, column) = screen.cursor_position();
            let (top, _) = self.modes.scrolling(self.size.0);
            return format!("\x1b[{};{}H", row.saturating_sub(top) + 1, column + 1).into_bytes();
        }
        let drawn = catch_unwind(AssertUnwindSafe(|| quietly(|| screen.cursor_state_formatted())));
        drawn.unwrap_or_default()
    }
}
