//! The sequences that prepare the terminal for a prompt, and those that restore it.

use super::{Modes, ORIGIN, PASTE, REPORTS, SIDE_MARGINS};

/// Makes whatever is drawn next visible, and puts it where it belongs: output is shown at once (2026), positions count from
/// the first row and column (69, 6), all rows scroll (r), and characters replace others (4).
const VISIBLE: &[u8] = b"\x1b[?2026l\x1b[?69l\x1b[?6l\x1b[r\x1b[4l";

impl Modes {
    /// Returns the sequences that prepare the terminal for a prompt: all of the prompt is visible, each character in
    /// its cell, and only keys are typed. They move the cursor.
    ///
    /// What could hide the prompt is reset whatever was noted: a terminal also changes modes by itself, as when it
    /// restores those that a program has saved. Colours are reset only if the command has set some, because what
    /// the operator had set before is not known, and would be lost.
    ///
    /// Why: docs/decisions.md, "A prompt depends on no state of the terminal"
    pub fn cover(&self) -> Vec<u8> {
        let mut out = VISIBLE.to_vec();
        let mut set = |is_needed: bool, text: &[u8]| {
            if is_needed {
                out.extend_from_slice(text);
            }
        };
        set(self.pictures, b"\x1b_Ga=d\x1b\\");
        set(self.kitty_keys, b"\x1b[>0u");
        set(self.other_keys > 0, b"\x1b[>4;0m");
        set(self.sets_colours, b"\x1b]104\x1b\\\x1b]105\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\");
        set(true, b"\x0f\x1b(B\x1b[0m\x1b[?7l");
        for mode in self.reports() {
            set(true, format!("\x1b[?{mode}l").as_bytes());
        }
        set(true, b"\x1b[?2004h");
        out
    }

    fn reports(&self) -> impl Iterator<Item = &u16> {
        REPORTS.iter().filter(|mode| self.changed.contains(mode))
    }

    /// Returns the sequences that restore the modes after a prompt. They move the cursor.
    pub fn uncover(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut set = |is_needed: bool, text: &[u8]| {
            if is_needed {
                out.extend_from_slice(text);
            }
        };
        set(!self.changed.contains(&PASTE), b"\x1b[?2004l");
        for mode in self.reports() {
            set(true, format!("\x1b[?{mode}h").as_bytes());
        }
        set(self.wraps(), b"\x1b[?7h");
        set(true, &self.colours);
        set(self.other_keys > 0, format!("\x1b[>4;{}m", self.other_keys).as_bytes());
        set(self.kitty_keys, b"\x1b[<u");
        set(self.insert, b"\x1b[4h");
        set(self.changed.contains(&SIDE_MARGINS), b"\x1b[?69h");
        set(self.changed.contains(&ORIGIN), b"\x1b[?6h");
        out
    }

    /// Returns the sequence that sets the scrolling region, which a prompt resets. It moves the cursor.
    pub fn region(&self) -> Vec<u8> {
        match self.margins {
            Some((top, 0)) => format!("\x1b[{top}r").into_bytes(),
            Some((top, bottom)) => format!("\x1b[{top};{bottom}r").into_bytes(),
            None => Vec::new(),
        }
    }

    /// Returns the sequences that set the scrolling region and keep the cursor. They replace a cursor that was saved.
    pub fn region_only(&self) -> Vec<u8> {
        let region = self.region();
        if region.is_empty() { region } else { [b"\x1b7", &region[..], b"\x1b8"].concat() }
    }

    /// Returns the sequences that restore the pen, its character sets and the cursor's visibility. They do
    /// not move the cursor.
    pub fn pen(&self) -> Vec<u8> {
        let is_seen = !self.hides_cursor();
        let seen: &[u8] = if is_seen { b"\x1b[?25h" } else { b"\x1b[?25l" };
        [b"\x1b[0m", &self.pen[..], &self.sets[0], &self.sets[1], &self.shift, seen].concat()
    }

    /// Returns the sequences that initialize the model of a new screen.
    pub fn for_model(&self) -> Vec<u8> {
        let mut out = [&b"\x1b[?1049h"[..], &self.region()].concat();
        if self.counts_from_margin() {
            out.extend_from_slice(b"\x1b[?6h");
        }
        out.extend_from_slice(&self.pen);
        out
    }
}
