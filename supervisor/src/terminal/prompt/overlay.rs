//! Onto the screen, and off it.
//!
//! On the screen that scrolls a prompt has the terminal's alternate screen for itself: what was there before the guard
//! is known to the terminal only, which puts it back. What has the alternate screen already is covered from below, and
//! put back from the model. A terminal that knows no sequences has lines written to it.

use super::super::screen::ScreenModel;
use super::query::{CursorPosition, Query};

/// The operator's screen.
pub struct Surface<'a> {
    /// What the command has shown.
    pub model: &'a ScreenModel,
    /// What the terminal can do.
    pub terminal: TerminalFeatures,
}

/// What the terminal can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalFeatures {
    /// It has an alternate screen.
    Full,
    /// It has none.
    Single,
    /// It knows no sequences.
    Dumb,
}

impl TerminalFeatures {
    /// Of this kind (`TERM`).
    pub fn from_term(term: &str) -> TerminalFeatures {
        match term {
            "" | "dumb" | "unknown" | "emacs" => TerminalFeatures::Dumb,
            "linux" | "cons25" | "ansi" | "vt100" | "vt102" | "vt220" => TerminalFeatures::Single,
            _ => TerminalFeatures::Full,
        }
    }
}

impl Surface<'_> {
    /// Rows and columns.
    pub fn size(&self) -> (u16, u16) {
        self.model.size()
    }
}

/// How a prompt stands on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// On the alternate screen.
    Alone,
    /// Over what is there.
    Over,
    /// In lines.
    Lines,
}

/// A prompt's place on the screen.
pub struct Overlay {
    manner: Placement,
    size: (u16, u16),
    /// The first row that is covered.
    top: u16,
    /// Where the cursor was.
    cursor: Option<CursorPosition>,
    /// The whole screen is to be drawn again.
    is_stale: bool,
}

impl Overlay {
    /// The one for this screen.
    pub fn new(surface: &Surface<'_>) -> Overlay {
        let manner = match surface.terminal {
            TerminalFeatures::Dumb => Placement::Lines,
            _ if surface.model.is_kept() => Placement::Over,
            _ => Placement::Alone,
        };
        Overlay { manner, size: surface.size(), top: surface.size().0, cursor: None, is_stale: false }
    }

    /// The question to the terminal that fits.
    pub fn query(&self, surface: &Surface<'_>) -> Query {
        // From the margin, its answer would say little.
        let with_cursor = self.manner == Placement::Over && !surface.model.modes().counts_from_margin();
        Query::new(surface.size(), with_cursor)
    }

    /// Whether the terminal is asked at all.
    pub fn asks(&self) -> bool {
        self.manner != Placement::Lines
    }

    /// Rows and columns.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Before anything is drawn.
    pub fn begin(&self, surface: &Surface<'_>, query: &Query) -> Vec<u8> {
        match self.manner {
            Placement::Alone => {
                [b"\x1b[?1049h", &surface.model.modes().cover()[..], b"\x1b[H\x1b[2J"].concat()
            }
            Placement::Over => [query.before(), &surface.model.modes().cover()].concat(),
            Placement::Lines => b"\r\n".to_vec(),
        }
    }

    /// The terminal has said where the cursor was.
    pub fn cursor_found(&mut self, cursor: Option<CursorPosition>) {
        // Behind the last column it is on it, in most terminals' words.
        let columns = self.size.1;
        self.cursor = self.cursor.or(cursor.map(|(row, column)| (row, column.min(columns))));
    }

    /// Draws all of it, the next time.
    pub fn forget(&mut self) {
        self.is_stale = true;
    }

    /// The screen has another size, or other things on it.
    pub fn again(&mut self, surface: &Surface<'_>) -> Vec<u8> {
        if self.manner == Placement::Lines {
            return Vec::new();
        }
        self.is_stale = false;
        let (rows, _) = surface.size();
        if self.size != surface.size() {
            // What the terminal said of the cursor was said of another screen.
            self.cursor = None;
        }
        (self.size, self.top) = (surface.size(), rows);
        let mut out = b"\x1b[0m\x1b[H\x1b[2J".to_vec();
        if self.manner == Placement::Over {
            out.extend(surface.model.rows(0..rows));
        }
        out
    }

    /// Draws these lines, and asks.
    pub fn draw(&mut self, surface: &Surface<'_>, lines: &[String], query: Option<&Query>) -> Vec<u8> {
        if self.manner == Placement::Lines {
            // Only what is new: nothing can be drawn over.
            let is_new = query.is_some() || lines.len() == 1;
            return if is_new { (lines.join("\r\n") + " ").into_bytes() } else { Vec::new() };
        }
        let mut out = Vec::new();
        if self.is_stale {
            out.extend(self.again(surface));
        }
        let (rows, columns) = self.size;
        let top = rows.saturating_sub(lines.len() as u16);
        // Rows that a larger one has covered.
        if self.top < top {
            match self.manner {
                Placement::Over => out.extend(surface.model.rows(self.top..top)),
                _ => {
                    (self.top..top).for_each(|row| out.extend(format!("\x1b[{};1H\x1b[2K", row + 1).bytes()))
                }
            }
        }
        self.top = top;
        out.extend_from_slice(b"\x1b[?25l");
        for (n, line) in lines.iter().enumerate() {
            let row = top + n as u16 + 1;
            let is_title = n == 0;
            out.extend_from_slice(format!("\x1b[{row};1H\x1b[0m").as_bytes());
            if surface.model.modes().has_wide_lines() {
                out.extend_from_slice(b"\x1b#5");
            }
            out.extend_from_slice(b"\x1b[2K");
            // No colours: the command can make some of them the background's.
            out.extend_from_slice(if is_title { b"\x1b[1;7m" } else { b"" });
            out.extend_from_slice(line.as_bytes());
        }
        out.extend_from_slice(b"\x1b[0m");
        if let Some(query) = query {
            out.extend(query.after());
        }
        let typed =
            lines.last().map_or(0, |line| unicode_width::UnicodeWidthStr::width(line.as_str()) as u16);
        let column = (typed + 1).min(columns);
        out.extend_from_slice(format!("\x1b[{rows};{column}H\x1b[?25h").as_bytes());
        out
    }

    /// Puts everything back.
    pub fn end(&mut self, surface: &Surface<'_>) -> Vec<u8> {
        let model = surface.model;
        let modes = model.modes();
        match self.manner {
            Placement::Alone => [&modes.uncover()[..], b"\x1b[?1049l", &modes.pen()].concat(),
            Placement::Over => {
                let mut out = match model.is_drawn() {
                    true => model.rows(self.top..self.size.0),
                    // Nothing is known: the program draws again.
                    false => b"\x1b[0m\x1b[H\x1b[2J".to_vec(),
                };
                out.extend(modes.uncover());
                out.extend(model.cursor());
                if let Some((row, column)) = self.moved(model) {
                    out.extend_from_slice(format!("\x1b[{row};{column}H").as_bytes());
                }
                out.extend(modes.pen());
                out
            }
            Placement::Lines => b"\r\n".to_vec(),
        }
    }

    /// Where the terminal has the cursor, if that is not where the model has it.
    fn moved(&self, model: &ScreenModel) -> Option<CursorPosition> {
        let kept = model.cursor_position();
        self.cursor.filter(|cursor| Some(*cursor) != kept)
    }

    /// Whether the program must draw again for everything to be as it was.
    pub fn is_lossy(&self, model: &ScreenModel) -> bool {
        self.manner == Placement::Over && (!model.is_certain() || self.moved(model).is_some())
    }
}
