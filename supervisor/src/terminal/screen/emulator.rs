//! The model of a screen, kept by the vt100 crate.

use unicode_width::UnicodeWidthStr;

use super::super::filter::{PieceKind, Text};
use super::super::modes::Modes;
use super::super::sequence::Csi;

/// The maximum rows and columns of a screen that is modelled.
const LARGEST: u16 = 1000;

/// A screen and its content.
pub struct Screen {
    pub parser: vt100::Parser,
    /// The last character, for sequences that repeat it.
    last: Vec<u8>,
    pub is_certain: bool,
}

impl Screen {
    pub fn new(size: (u16, u16)) -> Option<Screen> {
        let parser = is_tracked(size).then(|| vt100::Parser::new(size.0, size.1, 0))?;
        Some(Screen { parser, last: Vec::new(), is_certain: true })
    }

    pub fn feed(&mut self, kind: PieceKind, bytes: &[u8], modes: &Modes) {
        match kind {
            PieceKind::Text => self.text(bytes, modes),
            PieceKind::Escape => self.escape(bytes),
            PieceKind::Csi => match Csi::read(bytes) {
                Some(csi) => self.csi(&csi, bytes, modes),
                None => self.is_certain = false,
            },
            // Links are not modelled.
            PieceKind::String(Text::Osc) if bytes.starts_with(b"\x1b]8;") => self.is_certain = false,
            PieceKind::String(_) | PieceKind::More => {}
        }
    }

    pub fn has_background(&self) -> bool {
        self.parser.screen().bgcolor() != vt100::Color::Default
    }

    /// Notes that the screen may scroll: vt100 does not give new lines the background that terminals give
    /// them.
    pub fn scrolls(&mut self) {
        self.is_certain &= !self.has_background();
    }

    fn text(&mut self, bytes: &[u8], modes: &Modes) {
        if bytes.contains(&b'\n') {
            self.scrolls();
        }
        let (inserts, wraps) = (modes.inserts(), modes.wraps());
        // Shifts change the character set within the text.
        let shifts = memchr::memchr2(0x0e, 0x0f, bytes).is_some();
        if shifts || inserts || !wraps || modes.draws_boxes() {
            self.text_by_character(bytes, modes);
        } else {
            self.parser.process(bytes);
        }
        if let Some(last) =
            String::from_utf8_lossy(bytes).chars().next_back().filter(|last| !last.is_control())
        {
            self.last = last.to_string().into_bytes();
        }
    }

    fn text_by_character(&mut self, bytes: &[u8], modes: &Modes) {
        let mut modes = modes.clone();
        for character in String::from_utf8_lossy(bytes).chars() {
            if matches!(character, '\u{e}' | '\u{f}') {
                modes.note(PieceKind::Text, &[character as u8]);
                continue;
            }
            let drawn = if modes.draws_boxes() { box_character(character) } else { character };
            let text = drawn.to_string();
            if !drawn.is_control() {
                let width = text.width() as u16;
                let (_, column) = self.parser.screen().cursor_position();
                let (_, columns) = self.parser.screen().size();
                if !modes.wraps() && column + width > columns {
                    // The new character replaces the one at the end of the line.
                    self.parser.process(format!("\x1b[{}G", columns + 1 - width.max(1)).as_bytes());
                }
                if modes.inserts() && width > 0 {
                    self.parser.process(format!("\x1b[{width}@").as_bytes());
                }
            }
            self.parser.process(text.as_bytes());
        }
    }

    fn escape(&mut self, bytes: &[u8]) {
        let words: &[u8] = match bytes {
            // Next line (NEL), index (IND).
            [_, b'E'] => b"\r\n",
            [_, b'D'] => b"\n",
            [_, b'7' | b'8' | b'=' | b'>' | b'M' | b'c' | b'\\'] => bytes,
            // The modes track character sets, but not single shifts and tab stops.
            [_, b'(' | b')' | b'%' | b' ', ..] => return,
            _ => {
                self.is_certain = false;
                return;
            }
        };
        if matches!(bytes[1], b'E' | b'D' | b'M') {
            self.scrolls();
        }
        self.parser.process(words);
    }

    fn csi(&mut self, csi: &Csi<'_>, bytes: &[u8], modes: &Modes) {
        let (rows, columns) = self.parser.screen().size();
        let (row, column) = self.parser.screen().cursor_position();
        let (top, bottom) = modes.scrolling(rows);
        let across = csi.times(0).min(columns);
        let down = csi.times(0).min(rows);
        let words = match csi.name() {
            (None, b"", b'm') => {
                self.is_certain &= !has_more_than_vt100(csi);
                return self.parser.process(bytes);
            }
            (None, b"", b'f') => format!("\x1b[{};{}H", csi.times(0), csi.times(1)),
            (None, b"", b'`') => format!("\x1b[{across}G"),
            (None, b"", b'a') => format!("\x1b[{across}C"),
            (None, b"", b'e') => format!("\x1b[{down}B"),
            (None, b"", b's') if csi.numbers().is_empty() => "\x1b7".to_owned(),
            (None, b"", b'u') => "\x1b8".to_owned(),
            (None, b"", b'b') => {
                let times = usize::from(csi.times(0)).min(usize::from(rows) * usize::from(columns));
                let repeated = self.last.repeat(times);
                return self.text(&repeated, modes);
            }
            (None, b"", b'I') => "\t".repeat(usize::from(across)),
            (None, b"", b'Z') => {
                let back = (column.saturating_sub(1) / 8).saturating_sub(across - 1) * 8;
                format!("\x1b[{}G", back + 1)
            }
            (None, b"", b'L' | b'M') => {
                if !(top..=bottom).contains(&row) {
                    return;
                }
                self.scrolls();
                format!("\x1b[{}{}", down.min(bottom - row + 1), csi.last as char)
            }
            (None, b"", b'S' | b'T') => {
                self.scrolls();
                format!("\x1b[{}{}", down.min(bottom - top + 1), csi.last as char)
            }
            (None, b"", b'@' | b'P') => {
                self.scrolls();
                format!("\x1b[{across}{}", csi.last as char)
            }
            (None, b"", b'X') => format!("\x1b[{across}X"),
            (None, b"", b'J') if csi.number(0) == 3 => return,
            (None, b"", b'J') if csi.number(0) == 2 => {
                self.is_certain = true;
                return self.parser.process(bytes);
            }
            (None, b"", b'A'..=b'H' | b'J' | b'K' | b'd' | b'r') => return self.parser.process(bytes),
            (Some(b'?'), b"", b'h' | b'l') => {
                return csi.numbers().iter().for_each(|mode| self.mode(*mode, csi.last));
            }
            (None, b"!", b'p') => "\x1b[r\x1b[?6l\x1b[?25h\x1b[0m\x1b8".to_owned(),
            // Tracked by the modes, or without visible effect.
            (None, b"", b'h' | b'l') if csi.numbers() == [4] => return,
            (None, b"", b'n' | b'c' | b't' | b'x') => return,
            // No visible effect. Vim sends some of these to learn which keys the terminal sends.
            (None, b" ", b'q')
            | (None, b"%", b'm')
            | (_, b"$", b'p')
            | (Some(_), b"", b'n' | b'c' | b'q' | b'u' | b'm' | b't' | b's') => {
                return;
            }
            _ => {
                self.is_certain = false;
                return;
            }
        };
        self.parser.process(words.as_bytes());
    }

    /// Sets or resets a private mode. vt100 uses another number for some, or does not know them.
    fn mode(&mut self, mode: u16, set: u8) {
        match mode {
            // Terminals with only one screen ignore these; for others, `ScreenModel` handles them.
            47 | 1047 | 1049 => {}
            1048 => self.parser.process(if set == b'h' { b"\x1b7" } else { b"\x1b8" }),
            3 | 69 => self.is_certain = false,
            _ => self.parser.process(format!("\x1b[?{mode}{}", set as char).as_bytes()),
        }
    }

    pub fn row(&self, row: u16, out: &mut Vec<u8>) {
        let screen = self.parser.screen();
        let (_, columns) = screen.size();
        let mut pen = Vec::new();
        let mut at = 0;
        let mut column = 0;
        while column < columns {
            let Some(cell) = screen.cell(row, column) else { return };
            let start = column;
            column += 1;
            if cell.is_wide_continuation() {
                continue;
            }
            let attributes = attributes(cell);
            if !cell.has_contents() && attributes == b"\x1b[0m" {
                continue;
            }
            if at != start {
                out.extend_from_slice(format!("\x1b[{};{}H", row + 1, start + 1).as_bytes());
                at = start;
            }
            if attributes != pen {
                out.extend_from_slice(&attributes);
                pen = attributes;
            }
            if cell.has_contents() {
                out.extend_from_slice(cell.contents().as_bytes());
                at += if cell.is_wide() { 2 } else { 1 };
            } else {
                // An erased cell with a background has no character.
                out.extend_from_slice(b"\x1b[X");
            }
        }
    }
}

/// Returns the sequence that resets the pen and sets it for a cell.
fn attributes(cell: &vt100::Cell) -> Vec<u8> {
    let mut out = String::from("\x1b[0");
    let flags = [
        (cell.bold(), ";1"),
        (cell.dim(), ";2"),
        (cell.italic(), ";3"),
        (cell.underline(), ";4"),
        (cell.inverse(), ";7"),
    ];
    flags.into_iter().filter(|(is_set, _)| *is_set).for_each(|(_, code)| out.push_str(code));
    for (colour, base) in [(cell.fgcolor(), 30), (cell.bgcolor(), 40)] {
        match colour {
            vt100::Color::Default => {}
            vt100::Color::Idx(index @ 0..=7) => out.push_str(&format!(";{}", base + u16::from(index))),
            vt100::Color::Idx(index @ 8..=15) => out.push_str(&format!(";{}", base + 52 + u16::from(index))),
            vt100::Color::Idx(index) => out.push_str(&format!(";{};5;{index}", base + 8)),
            vt100::Color::Rgb(red, green, blue) => {
                out.push_str(&format!(";{};2;{red};{green};{blue}", base + 8));
            }
        }
    }
    out.push('m');
    out.into_bytes()
}

/// Returns whether the pen gets attributes that vt100 does not know: blinking, hidden, struck through, other
/// underlines.
fn has_more_than_vt100(csi: &Csi<'_>) -> bool {
    if csi.has_parts {
        return true;
    }
    let mut numbers = csi.numbers().iter();
    while let Some(number) = numbers.next() {
        match number {
            38 | 48 | 58 => {
                let skip = match numbers.next() {
                    Some(5) => 1,
                    Some(2) => 3,
                    _ => return true,
                };
                numbers.by_ref().take(skip).for_each(drop);
                if *number == 58 {
                    return true;
                }
            }
            5 | 6 | 8 | 9 | 11..=21 | 26 | 50..=53 | 60..=75 => return true,
            _ => {}
        }
    }
    false
}

/// Returns the character of DEC's special graphics for this letter.
fn box_character(character: char) -> char {
    const GRAPHICS: [char; 31] = [
        '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽',
        '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
    ];
    match character {
        '`'..='~' => GRAPHICS[character as usize - '`' as usize],
        other => other,
    }
}

/// Returns whether a screen of this size is modelled.
pub fn is_tracked((rows, columns): (u16, u16)) -> bool {
    (1..=LARGEST).contains(&rows) && (2..=LARGEST).contains(&columns)
}
