//! A model of the operator's screen while the command uses the alternate screen, so that what a prompt covers
//! can be restored.
//!
//! The vt100 crate keeps the model. It knows fewer sequences than terminals do, so some are translated for it
//! here. Where that is not possible, the model is marked as uncertain, and the program has to redraw.

mod emulator;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::filter::{Filtered, PieceKind};
use super::modes::Modes;
use super::quiet::quietly;
use emulator::{Screen, is_tracked};

/// The model of the screen, and the modes.
#[derive(Default)]
pub struct ScreenModel {
    modes: Modes,
    size: (u16, u16),
    /// None on the main screen, which terminals restore by themselves, and if the screen cannot be modelled.
    screen: Option<Screen>,
    /// Whether the terminal has only one screen, which is then always modelled.
    is_single: bool,
}

impl ScreenModel {
    /// Creates the model of a terminal with `size` rows and columns. `is_single`: it has no alternate screen.
    pub fn new(size: (u16, u16), is_single: bool) -> ScreenModel {
        let mut model = ScreenModel { size, is_single, ..ScreenModel::default() };
        if is_single {
            model.screen = Screen::new(size);
        }
        model
    }

    /// Returns the modes.
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// Returns whether the current screen must be restored from the model.
    pub fn is_tracked(&self) -> bool {
        self.is_single || self.modes.alternate()
    }

    /// Updates the model by output that is shown.
    pub fn feed(&mut self, passed: &Filtered) {
        // Nothing that the command writes may end this process.
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
                    // The other modes do not clear the screen, so its content is unknown.
                    screen.is_certain = bytes.windows(4).any(|part| part == b"1049");
                }
            }
            (true, false) => self.screen = None,
            _ => {}
        }
    }

    /// Handles a changed size. The terminal may show old content in its own way, so the model becomes
    /// uncertain.
    pub fn resize(&mut self, size: (u16, u16)) {
        if size == self.size {
            return;
        }
        self.size = size;
        self.modes.resized();
        if let Some(screen) = &mut self.screen {
            screen.is_certain = false;
            let resized = catch_unwind(AssertUnwindSafe(|| {
                quietly(|| screen.parser.screen_mut().set_size(size.0, size.1))
            }));
            if resized.is_err() || !is_tracked(size) {
                self.screen = None;
            }
        }
    }

    /// Returns rows and columns.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Returns whether the model has everything that is on the screen.
    pub fn is_certain(&self) -> bool {
        self.screen.as_ref().is_some_and(|screen| screen.is_certain) && !self.modes.is_beyond_cells()
    }

    /// Returns whether there is a model of the screen.
    pub fn is_drawn(&self) -> bool {
        self.screen.is_some()
    }

    /// Returns the row and column of the cursor, from 1, as a terminal reports them.
    pub fn cursor_position(&self) -> Option<(u16, u16)> {
        let (row, column) = self.screen.as_ref()?.parser.screen().cursor_position();
        Some((row + 1, (column + 1).min(self.size.1)))
    }

    /// Returns the sequences that draw these rows from the model.
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

    /// Returns the sequences that put the cursor back. Origin mode must be restored already.
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
