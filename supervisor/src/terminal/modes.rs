//! The modes that the command has set in the operator's terminal: which of them to change while a prompt is
//! drawn, and how to restore them.

use std::collections::BTreeSet;

use memchr::memrchr2;

use super::filter::{PieceKind, Text};
use super::sequence::Csi;

/// A limit for the private modes, and for the bytes of the pen and of the colours: more than programs use.
const MAX_LEN: usize = 8192;

/// The modes in which the terminal types reports: of the mouse, the focus, the size and colours.
const REPORTS: [u16; 12] = [9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2031, 2048];
const ORIGIN: u16 = 6;
const WRAP: u16 = 7;
const CURSOR: u16 = 25;
const SIDE_MARGINS: u16 = 69;
const PASTE: u16 = 2004;
const TOGETHER: u16 = 2026;

/// The modes that are set.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    /// The private modes that differ from their initial state.
    changed: BTreeSet<u16>,
    insert: bool,
    /// The sequences that set the pen since its last reset.
    pen: Vec<u8>,
    /// The sequences that chose the first two character sets, and in `shift` the one that chose between
    /// these.
    sets: [Vec<u8>; 2],
    shift: Vec<u8>,
    /// The first and last row of the scrolling region, from 1.
    margins: Option<(u16, u16)>,
    /// The sequences that set colours, in their order.
    colours: Vec<u8>,
    kitty_keys: bool,
    other_keys: u16,
    pictures: bool,
    wide_lines: bool,
}

impl Modes {
    /// Updates the modes by a piece of output.
    pub fn note(&mut self, kind: PieceKind, bytes: &[u8]) {
        match kind {
            PieceKind::Text => {
                if let Some(at) = memrchr2(0x0e, 0x0f, bytes) {
                    self.shift = bytes[at..=at].to_vec();
                }
            }
            PieceKind::Escape => self.escape(bytes),
            PieceKind::Csi => {
                if let Some(csi) = Csi::read(bytes) {
                    self.csi(&csi, bytes);
                }
            }
            PieceKind::String(kind) => self.string(kind, bytes),
            PieceKind::More => {}
        }
    }

    fn escape(&mut self, bytes: &[u8]) {
        match bytes {
            [_, b'c'] => *self = Modes::default(),
            [_, b'(', _] | [_, b'(', _, _] => self.sets[0] = bytes.to_vec(),
            [_, b')', _] | [_, b')', _, _] => self.sets[1] = bytes.to_vec(),
            [_, b'n' | b'o'] => self.shift = bytes.to_vec(),
            [_, b'#', b'3' | b'4' | b'6'] => self.wide_lines = true,
            _ => {}
        }
    }

    fn csi(&mut self, csi: &Csi<'_>, bytes: &[u8]) {
        match csi.name() {
            (None, b"", b'm') => {
                if matches!(csi.numbers(), [] | [0, ..]) {
                    self.pen.clear();
                }
                let is_reset = csi.numbers().iter().all(|number| *number == 0);
                if !is_reset && self.pen.len() < MAX_LEN {
                    self.pen.extend_from_slice(bytes);
                }
            }
            (None, b"", b'h' | b'l') if csi.numbers().contains(&4) => self.insert = csi.last == b'h',
            (Some(b'?'), b"", b'h' | b'l') => {
                for number in csi.numbers() {
                    let is_first = matches!(*number, WRAP | CURSOR) == (csi.last == b'h');
                    if is_first {
                        self.changed.remove(number);
                    } else if self.changed.len() < MAX_LEN {
                        self.changed.insert(*number);
                    }
                }
            }
            (None, b"!", b'p') => {
                self.insert = false;
                self.changed.retain(|mode| ![1, ORIGIN, WRAP, CURSOR].contains(mode));
                (self.pen, self.sets, self.shift, self.margins) = Default::default();
            }
            (None, b"", b'r') => {
                let given = (csi.times(0), csi.number(1));
                self.margins = (given != (1, 0)).then_some(given);
            }
            (Some(b'<'..=b'>'), b"", b'u') => self.kitty_keys = true,
            (Some(b'>'), b"", b'm') if csi.number(0) == 4 => self.other_keys = csi.number(1),
            _ => {}
        }
    }

    fn string(&mut self, kind: Text, bytes: &[u8]) {
        let begins = |number: &str| bytes[2..].starts_with(number.as_bytes());
        match kind {
            Text::Apc | Text::Dcs => self.pictures |= !begins("+"),
            Text::Osc if begins("1337;") => self.pictures = true,
            Text::Osc => {
                let number: u16 = bytes[2..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit())
                    .fold(0, |number, digit| number * 10 % 10_000 + u16::from(digit - b'0'));
                let is_colour = matches!(number, 4 | 5 | 10..=19 | 104 | 105 | 110..=119);
                if is_colour && !bytes.contains(&b'?') && self.colours.len() + bytes.len() <= MAX_LEN {
                    self.colours.extend_from_slice(bytes);
                }
            }
            _ => {}
        }
    }

    /// Returns whether the alternate screen is in use.
    pub fn alternate(&self) -> bool {
        [47, 1047, 1049].iter().any(|mode| self.changed.contains(mode))
    }

    /// Returns whether the cursor is hidden.
    pub fn hides_cursor(&self) -> bool {
        self.changed.contains(&CURSOR)
    }

    /// Returns whether letters are drawn as line graphics.
    pub fn draws_boxes(&self) -> bool {
        let set = match &self.shift[..] {
            [] | [0x0f] => &self.sets[0],
            [0x0e] => &self.sets[1],
            _ => return false,
        };
        set.last() == Some(&b'0')
    }

    /// Returns whether a new character shifts those after it.
    pub fn inserts(&self) -> bool {
        self.insert
    }

    /// Returns whether a full line continues in the next one.
    pub fn wraps(&self) -> bool {
        !self.changed.contains(&WRAP)
    }

    /// Returns whether positions count from the first row of the scrolling region (origin mode).
    pub fn counts_from_margin(&self) -> bool {
        self.changed.contains(&ORIGIN)
    }

    /// Returns the first and last row of the scrolling region, from 0.
    pub fn scrolling(&self, rows: u16) -> (u16, u16) {
        match self.margins {
            Some((top, bottom)) if bottom == 0 || top < bottom => {
                (top - 1, if bottom == 0 { rows } else { bottom.min(rows) }.saturating_sub(1))
            }
            _ => (0, rows.saturating_sub(1)),
        }
    }

    /// Returns whether the screen may hold more than one character per cell: pictures, wide lines or side
    /// margins.
    pub fn is_beyond_cells(&self) -> bool {
        self.pictures || self.wide_lines || self.changed.contains(&SIDE_MARGINS)
    }

    /// Returns the sequences that prepare the terminal for a prompt: all of the prompt is visible, each character in
    /// its cell, and only keys are typed.
    pub fn cover(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut set = |is_needed: bool, text: &[u8]| {
            if is_needed {
                out.extend_from_slice(text);
            }
        };
        set(self.changed.contains(&TOGETHER), b"\x1b[?2026l");
        set(self.pictures, b"\x1b_Ga=d\x1b\\");
        set(self.changed.contains(&SIDE_MARGINS), b"\x1b[?69l");
        set(self.changed.contains(&ORIGIN), b"\x1b[?6l");
        set(self.insert, b"\x1b[4l");
        set(self.kitty_keys, b"\x1b[>0u");
        set(self.other_keys > 0, b"\x1b[>4;0m");
        set(!self.colours.is_empty(), b"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\");
        set(true, b"\x0f\x1b(B\x1b[0m\x1b[?7l");
        for mode in self.reports() {
            set(true, format!("\x1b[?{mode}l").as_bytes());
        }
        set(true, b"\x1b[?2004h");
        out
    }

    /// Returns whether some lines may be double-width. A prompt must reset the lines that it is drawn on.
    pub fn has_wide_lines(&self) -> bool {
        self.wide_lines
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

    /// Returns the sequences that restore the pen, its character sets and the cursor's visibility. They do
    /// not move the cursor.
    pub fn pen(&self) -> Vec<u8> {
        let is_seen = !self.hides_cursor();
        let seen: &[u8] = if is_seen { b"\x1b[?25h" } else { b"\x1b[?25l" };
        [b"\x1b[0m", &self.pen[..], &self.sets[0], &self.sets[1], &self.shift, seen].concat()
    }

    /// Returns the sequences that initialize the model of a new screen.
    pub fn for_model(&self) -> Vec<u8> {
        let mut out = b"\x1b[?1049h".to_vec();
        if let Some((top, bottom)) = self.margins {
            out.extend_from_slice(format!("\x1b[{top};{bottom}r").as_bytes());
        }
        if self.counts_from_margin() {
            out.extend_from_slice(b"\x1b[?6h");
        }
        out.extend_from_slice(&self.pen);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::{Filter, Filtered};
    use super::*;

    fn after(text: &str) -> Modes {
        let (mut filter, mut passed, mut modes) = (Filter::default(), Filtered::default(), Modes::default());
        filter.feed(text.as_bytes(), &mut passed);
        passed.pieces().for_each(|(kind, bytes)| modes.note(kind, bytes));
        modes
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn modes_are_set_again_after_the_prompt() {
        let set = "\x1b[?1002;1006h\x1b[?2004h\x1b[4h\x1b[?7l\x1b[?25l\x1b[>4;2m\x1b[1;31m\x1b)0\x0e\x1b]11;#000\x07";
        let modes = after(set);
        let cover = text(modes.cover());
        for needed in ["\x1b[?1002l", "\x1b[?1006l", "\x1b[4l", "\x1b[>4;0m", "\x1b]111\x1b\\", "\x0f\x1b(B"]
        {
            assert!(cover.contains(needed), "{needed:?}");
        }
        let (uncover, pen) = (text(modes.uncover()), text(modes.pen()));
        for needed in ["\x1b[?1002h", "\x1b[?1006h", "\x1b[4h", "\x1b[>4;2m", "\x1b]11;#000\x07"] {
            assert!(uncover.contains(needed), "{needed:?}");
        }
        assert!(!uncover.contains("\x1b[?7h") && !uncover.contains("2004l"));
        assert_eq!(pen, "\x1b[0m\x1b[1;31m\x1b)0\x0e\x1b[?25l");
        assert!(modes.draws_boxes() && modes.inserts() && !modes.wraps());
    }

    #[test]
    fn a_reset_sequence_clears_the_modes() {
        let modes = after("\x1b[?1002h\x1b[4h\x1b[?25l\x1b[31m\x1b(0\x1b[2;5r\x1bc");
        assert_eq!(text(modes.uncover()), "\x1b[?2004l\x1b[?7h");
        assert_eq!(text(modes.pen()), "\x1b[0m\x1b[?25h");
        let modes = after("\x1b[4h\x1b[?25l\x1b[31m\x1b[2;5r\x1b[!p\x1b[32m\x1b[0;1m");
        assert_eq!(text(modes.pen()), "\x1b[0m\x1b[0;1m\x1b[?25h");
        assert_eq!(modes.scrolling(24), (0, 23));
    }

    #[test]
    fn screens_and_margins_are_known() {
        assert!(after("\x1b[?1049h").alternate() && !after("\x1b[?1049h\x1b[?1049l").alternate());
        assert_eq!(after("\x1b[2;5r").scrolling(24), (1, 4));
        assert_eq!(after("\x1b[5r").scrolling(24), (4, 23));
        assert_eq!(after("\x1b[2;5r\x1b[r").scrolling(24), (0, 23));
        assert_eq!(after("\x1b[9;5r").scrolling(24), (0, 23));
    }
}
