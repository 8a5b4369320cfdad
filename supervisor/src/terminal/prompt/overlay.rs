//! Draws a prompt on the screen, and removes it.
//!
//! Over the main screen, a prompt uses the terminal's alternate screen: only the terminal knows what was
//! shown before the guard started, and it restores that itself. If a program uses the alternate screen
//! already, the prompt covers its lower part, which is restored from the model. On a terminal without
//! sequences a prompt is plain lines.

use super::super::screen::ScreenModel;
use super::field::PanelLine;
use super::query::{CursorPosition, Query};

/// The colours of a prompt by their values, because the command can give the default and the numbered colours other
/// ones. A terminal that does not know colours by value takes each number alone: the last ones then reset the pen, and for
/// the title also choose bold and reversed.
const BODY: &[u8] = b"\x1b[0;38;2;255;255;255;48;2;0;0;0m";
const TITLE: &[u8] = b"\x1b[0;1;48;2;255;255;255;38;2;0;1;7m";
/// Moves the cursor to the last row, of as many as there are.
const LAST_ROW: &[u8] = b"\x1b[9999;1H";

/// The operator's screen.
pub struct Surface<'a> {
    /// The model of what the command has shown.
    pub model: &'a ScreenModel,
    /// The capabilities of the terminal.
    pub terminal: TerminalFeatures,
}

/// The capabilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalFeatures {
    /// It has an alternate screen.
    Full,
    /// It has sequences, but no alternate screen.
    Single,
    /// It has no sequences.
    Dumb,
}

impl TerminalFeatures {
    /// Returns the capabilities of a terminal of this kind (`TERM`).
    pub fn from_term(term: &str) -> TerminalFeatures {
        match term {
            "" | "dumb" | "unknown" | "emacs" => TerminalFeatures::Dumb,
            "linux" | "cons25" | "ansi" | "vt100" | "vt102" | "vt220" => TerminalFeatures::Single,
            _ => TerminalFeatures::Full,
        }
    }
}

impl Surface<'_> {
    /// Returns rows and columns.
    pub fn size(&self) -> (u16, u16) {
        self.model.size()
    }
}

/// Where a prompt is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// On the alternate screen.
    Alone,
    /// Over the program's screen.
    Over,
    /// As plain lines.
    Lines,
}

/// A prompt on the screen, and what it covers.
pub struct Overlay {
    manner: Placement,
    size: (u16, u16),
    /// The first row that is covered.
    top: u16,
    /// Where the cursor was, as the terminal reported it.
    cursor: Option<CursorPosition>,
    /// Whether the whole screen must be redrawn.
    is_stale: bool,
}

impl Overlay {
    /// Creates the overlay for this screen.
    pub fn new(surface: &Surface<'_>) -> Overlay {
        let manner = match surface.terminal {
            TerminalFeatures::Dumb => Placement::Lines,
            _ if surface.model.is_tracked() => Placement::Over,
            _ => Placement::Alone,
        };
        Overlay { manner, size: surface.size(), top: surface.size().0, cursor: None, is_stale: false }
    }

    /// Creates the query to send with this prompt.
    pub fn query(&self, surface: &Surface<'_>) -> Query {
        // In origin mode the position counts from the margin, so it would not be useful.
        let with_cursor = self.manner == Placement::Over && !surface.model.modes().counts_from_margin();
        Query::new(surface.size(), with_cursor)
    }

    /// Returns whether the terminal is queried at all.
    pub fn asks(&self) -> bool {
        self.manner != Placement::Lines
    }

    /// Returns rows and columns.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Returns the rows and columns that a prompt may take. Plain lines scroll.
    pub fn room(&self, surface: &Surface<'_>) -> (u16, u16) {
        let (rows, columns) = surface.size();
        if self.manner == Placement::Lines { (u16::MAX, columns) } else { (rows, columns) }
    }

    /// Returns the bytes to send before the prompt is drawn.
    pub fn begin(&self, surface: &Surface<'_>, query: &Query) -> Vec<u8> {
        match self.manner {
            Placement::Alone => {
                [b"\x1b[?1049h", &surface.model.modes().cover()[..], b"\x1b[H\x1b[2J"].concat()
            }
            Placement::Over => [query.before(), &surface.model.modes().cover()].concat(),
            // The terminal may know sequences all the same, and is then in the state in which the command left it.
            Placement::Lines if surface.model.modes().has_sequences() => {
                [&surface.model.modes().cover()[..], LAST_ROW, b"\r\n"].concat()
            }
            Placement::Lines => b"\r\n".to_vec(),
        }
    }

    /// Records where the cursor was, as the terminal reported it.
    pub fn cursor_found(&mut self, cursor: Option<CursorPosition>) {
        // Most terminals report a cursor past the last column as in the last column.
        let columns = self.size.1;
        self.cursor = self.cursor.or(cursor.map(|(row, column)| (row, column.min(columns))));
    }

    /// Makes the next draw redraw the whole screen.
    pub fn forget(&mut self) {
        self.is_stale = true;
    }

    /// Returns the bytes that redraw the screen under the prompt, after it was resized or drawn on.
    pub fn again(&mut self, surface: &Surface<'_>) -> Vec<u8> {
        if self.manner == Placement::Lines {
            return Vec::new();
        }
        self.is_stale = false;
        let (rows, _) = surface.size();
        if self.size != surface.size() {
            // The terminal reported the cursor for the old size.
            self.cursor = None;
        }
        (self.size, self.top) = (surface.size(), rows);
        let mut out = b"\x1b[0m\x1b[H\x1b[2J".to_vec();
        if self.manner == Placement::Over {
            out.extend(surface.model.rows(0..rows));
        }
        out
    }

    /// Returns the bytes that draw these lines, and send the query if there is one.
    pub fn draw(&mut self, surface: &Surface<'_>, lines: &[PanelLine], query: Option<&Query>) -> Vec<u8> {
        if self.manner == Placement::Lines {
            // Only new lines are written: nothing can be overwritten.
            let is_new = query.is_some() || lines.len() == 1;
            let text = |line: &PanelLine| line.text.clone();
            let text = lines.iter().map(text).collect::<Vec<_>>().join("\r\n");
            let (pen, end): (&[u8], &[u8]) =
                if surface.model.modes().has_sequences() { (BODY, b"\x1b[0m") } else { (b"", b"") };
            return if is_new { [pen, text.as_bytes(), b" ", end].concat() } else { Vec::new() };
        }
        let mut out = Vec::new();
        if self.is_stale {
            out.extend(self.again(surface));
        }
        let (rows, columns) = self.size;
        let top = rows.saturating_sub(lines.len() as u16);
        // Rows that a larger panel has covered.
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
            out.extend_from_slice(format!("\x1b[{row};1H").as_bytes());
            out.extend_from_slice(if n == 0 { TITLE } else { BODY });
            if surface.model.modes().has_wide_lines() {
                out.extend_from_slice(b"\x1b#5");
            }
            out.extend_from_slice(b"\x1b[2K");
            out.extend_from_slice(line.text.as_bytes());
        }
        out.extend_from_slice(b"\x1b[0m");
        if let Some(query) = query {
            out.extend(query.after());
        }
        let typed =
            lines.last().map_or(0, |line| unicode_width::UnicodeWidthStr::width(line.text.as_str()) as u16);
        let column = (typed + 1).min(columns);
        out.extend_from_slice(format!("\x1b[{rows};{column}H\x1b[?25h").as_bytes());
        out
    }

    /// Returns the bytes that restore the screen and the modes.
    pub fn end(&mut self, surface: &Surface<'_>) -> Vec<u8> {
        let model = surface.model;
        let modes = model.modes();
        match self.manner {
            // Some terminals have a scrolling region for each screen.
            Placement::Alone => {
                [&modes.uncover()[..], b"\x1b[?1049l", &modes.region_only(), &modes.pen()].concat()
            }
            Placement::Over => {
                let mut out = match model.is_drawn() {
                    true => model.rows(self.top..self.size.0),
                    // Without a model, the program must redraw.
                    false => b"\x1b[0m\x1b[H\x1b[2J".to_vec(),
                };
                out.extend(modes.uncover());
                out.extend(modes.region());
                out.extend(model.cursor());
                if let Some((row, column)) = self.moved(model) {
                    out.extend_from_slice(format!("\x1b[{row};{column}H").as_bytes());
                }
                out.extend(modes.pen());
                out
            }
            Placement::Lines if modes.has_sequences() => {
                [b"\r\n", &modes.uncover()[..], &modes.region_only(), &modes.pen()].concat()
            }
            Placement::Lines => b"\r\n".to_vec(),
        }
    }

    /// Returns where the terminal had the cursor, if the model disagrees.
    fn moved(&self, model: &ScreenModel) -> Option<CursorPosition> {
        let modelled = model.cursor_position();
        self.cursor.filter(|cursor| Some(*cursor) != modelled)
    }

    /// Returns whether the program must redraw to restore the screen in full.
    pub fn is_lossy(&self, model: &ScreenModel) -> bool {
        self.manner == Placement::Over && (!model.is_certain() || self.moved(model).is_some())
    }
}
