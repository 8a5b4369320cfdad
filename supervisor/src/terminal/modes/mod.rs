//! The modes that the command has set in the operator's terminal: which of them to change while a prompt is
//! drawn, and how to restore them. `restore` has the sequences for both.

mod restore;

use std::collections::BTreeSet;

use memchr::memrchr2;

use super::filter::{PieceKind, Text};
use super::sequence::Csi;

/// A limit for the bytes of the pen and of the colours: more than programs use.
const MAX_LEN: usize = 8192;

/// The modes in which the terminal types reports: of the mouse, the focus, the size and colours.
const REPORTS: [u16; 12] = [9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2031, 2048];
const ORIGIN: u16 = 6;
const WRAP: u16 = 7;
const CURSOR: u16 = 25;
const SIDE_MARGINS: u16 = 69;
const PASTE: u16 = 2004;
/// The modes that choose between the two screens.
const SCREENS: [u16; 3] = [47, 1047, 1049];

/// The modes that are set.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    /// The private modes that differ from their initial state, of those that matter here.
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
    /// Whether there was any such sequence. Not every terminal resets all colours together with the rest.
    sets_colours: bool,
    kitty_keys: bool,
    other_keys: u16,
    pictures: bool,
    wide_lines: bool,
    /// Whether there was anything but text.
    has_sequences: bool,
}

impl Modes {
    /// Updates the modes by a piece of output.
    pub fn note(&mut self, kind: PieceKind, bytes: &[u8]) {
        self.has_sequences |= kind != PieceKind::Text;
        match kind {
            PieceKind::Text => {
                if let Some(at) = memrchr2(0x0e, 0x0f, bytes) {
                    self.has_sequences = true;
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
            [_, b'c'] => self.reset(),
            [_, b'(', _] | [_, b'(', _, _] => self.sets[0] = bytes.to_vec(),
            [_, b')', _] | [_, b')', _, _] => self.sets[1] = bytes.to_vec(),
            [_, b'n' | b'o'] => self.shift = bytes.to_vec(),
            [_, b'#', b'3' | b'4' | b'6'] => self.wide_lines = true,
            _ => {}
        }
    }

    /// Handles a reset of the terminal. What some terminals keep stays noted.
    fn reset(&mut self) {
        *self = Modes {
            sets_colours: self.sets_colours,
            pictures: self.pictures,
            wide_lines: self.wide_lines,
            has_sequences: self.has_sequences,
            ..Modes::default()
        };
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
                for number in csi.numbers().iter().filter(|number| matters(**number)) {
                    let is_first = matches!(*number, WRAP | CURSOR) == (csi.last == b'h');
                    if is_first {
                        self.changed.remove(number);
                    } else {
                        self.changed.insert(*number);
                    }
                }
            }
            (None, b"!", b'p') => {
                self.insert = false;
                self.changed.retain(|mode| ![ORIGIN, WRAP, CURSOR].contains(mode));
                (self.pen, self.sets, self.shift, self.margins) = Default::default();
            }
            (None, b"", b'r') => {
                let (top, bottom) = (csi.times(0), csi.number(1));
                // Terminals ignore others.
                if bottom == 0 || top < bottom {
                    self.margins = ((top, bottom) != (1, 0)).then_some((top, bottom));
                }
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
                // The filter lets no sequence pass that both asks and sets.
                if is_colour && !bytes.contains(&b'?') {
                    self.sets_colours = true;
                    self.keep_colours(bytes);
                }
            }
            _ => {}
        }
    }

    fn keep_colours(&mut self, bytes: &[u8]) {
        let is_whole = bytes.ends_with(b"\x07") || bytes.ends_with(b"\x1b\\");
        if is_whole && self.colours.len() + bytes.len() <= MAX_LEN {
            self.colours.extend_from_slice(bytes);
        }
    }

    /// Handles a changed size: terminals then forget the scrolling region.
    pub fn resized(&mut self) {
        self.margins = None;
    }

    /// Returns whether the alternate screen is in use.
    pub fn alternate(&self) -> bool {
        SCREENS.iter().any(|mode| self.changed.contains(mode))
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
            Some((top, bottom)) => {
                (top - 1, if bottom == 0 { rows } else { bottom.min(rows) }.saturating_sub(1))
            }
            None => (0, rows.saturating_sub(1)),
        }
    }

    /// Returns whether the screen may hold more than one character per cell: pictures, wide lines or side
    /// margins.
    pub fn is_beyond_cells(&self) -> bool {
        self.pictures || self.wide_lines || self.changed.contains(&SIDE_MARGINS)
    }

    /// Returns whether the command has sent anything but text, so that the terminal may be in some state.
    pub fn has_sequences(&self) -> bool {
        self.has_sequences
    }

    /// Returns whether some lines may be double-width. A prompt must reset the lines that it is drawn on.
    pub fn has_wide_lines(&self) -> bool {
        self.wide_lines
    }
}

/// Returns whether a private mode changes what is shown where, or what is typed.
fn matters(mode: u16) -> bool {
    matches!(mode, ORIGIN | WRAP | CURSOR | SIDE_MARGINS | PASTE)
        || SCREENS.contains(&mode)
        || REPORTS.contains(&mode)
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

    /// A terminal may be in states that were not noted: saved ones that it has restored, or those that a reset keeps.
    #[test]
    fn what_could_hide_a_prompt_is_always_reset() {
        for set in ["", "\x1b[?6h\x1b7\x1b[?6l\x1b8", "\x1b[?2026h\x1b[?69h\x1b[4h\x1bc", "\x1b[?6h\x1b[!p"] {
            let cover = text(after(set).cover());
            for needed in ["\x1b[?2026l", "\x1b[?69l", "\x1b[?6l", "\x1b[r", "\x1b[4l", "\x0f\x1b(B\x1b[0m"] {
                assert!(cover.contains(needed), "{set:?}: {needed:?}");
            }
            // The operator's own colours stay.
            assert!(!cover.contains("\x1b]1"), "{set:?}: {cover:?}");
        }
        for set in ["\x1b]10;#000\x07\x1bc", "\x1b]4;7;#000\x07\x1b]104\x07", "\x1b]111\x07"] {
            let cover = text(after(set).cover());
            for needed in ["\x1b]104\x1b\\", "\x1b]105\x1b\\", "\x1b]110\x1b\\", "\x1b]111\x1b\\"] {
                assert!(cover.contains(needed), "{set:?}: {needed:?}");
            }
        }
        assert!(text(after("\x1b_Ga=T;AAAA\x1b\\\x1bc").cover()).contains("\x1b_Ga=d"));
    }

    #[test]
    fn many_modes_hide_none() {
        let many: String = (10_000..30_000).map(|mode| format!("\x1b[?{mode}h")).collect();
        let modes = after(&format!("{many}\x1b[?1049h\x1b[?6h\x1b[?25l"));
        assert!(modes.alternate() && modes.counts_from_margin() && modes.hides_cursor());
        assert_eq!(modes.changed.len(), 3);
    }

    #[test]
    fn the_scrolling_region_is_set_again() {
        assert_eq!(text(after("\x1b[2;5r").region()), "\x1b[2;5r");
        assert_eq!(text(after("\x1b[5r").region_only()), "\x1b7\x1b[5r\x1b8");
        // Terminals ignore what is no region.
        assert_eq!(text(after("\x1b[2;5r\x1b[9;4r").region()), "\x1b[2;5r");
        assert_eq!(text(after("\x1b[2;5r\x1b[r").region_only()), "");
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
