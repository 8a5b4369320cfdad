//! What stands on the operator's screen while the command has it for itself (the alternate screen): so that what a
//! prompt covers can be put back.
//!
//! Kept by vt100, which knows less than terminals do: some sequences are put in its words here. Where it cannot know,
//! the picture is uncertain, and the program is to draw again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use unicode_width::UnicodeWidthStr;

use super::modes::Modes;
use super::quiet::quietly;
use super::sequence::Csi;
use super::sieve::{Kind, Passed, Text};

/// Screens beyond that are not kept.
const LARGEST: u16 = 1000;

/// The screen, and what is set.
#[derive(Default)]
pub struct Model {
    modes: Modes,
    size: (u16, u16),
    /// None on the screen that scrolls, which terminals put back by themselves, and where it cannot be kept.
    screen: Option<Screen>,
    /// Whether there is one screen only, which is kept always.
    is_single: bool,
}

struct Screen {
    parser: vt100::Parser,
    /// The last character, for those that are repeated.
    last: Vec<u8>,
    is_certain: bool,
}

impl Model {
    /// Of a terminal with so many rows and columns. `is_single`: it has no alternate screen.
    pub fn new(size: (u16, u16), is_single: bool) -> Model {
        let mut model = Model { size, is_single, ..Model::default() };
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
    pub fn take(&mut self, passed: &Passed) {
        // Whatever the command writes must not end this process.
        let taken = catch_unwind(AssertUnwindSafe(|| {
            quietly(|| passed.pieces().for_each(|(kind, bytes)| self.take_piece(kind, bytes)));
        }));
        if taken.is_err() {
            self.screen = None;
            passed.pieces().for_each(|(kind, bytes)| self.modes.note(kind, bytes));
        }
    }

    fn take_piece(&mut self, kind: Kind, bytes: &[u8]) {
        let was_alternate = self.modes.alternate();
        if let Some(screen) = &mut self.screen {
            screen.take(kind, bytes, &self.modes);
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
    pub fn place(&self) -> Option<(u16, u16)> {
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

fn is_kept((rows, columns): (u16, u16)) -> bool {
    (1..=LARGEST).contains(&rows) && (2..=LARGEST).contains(&columns)
}

impl Screen {
    fn new(size: (u16, u16)) -> Option<Screen> {
        let parser = is_kept(size).then(|| vt100::Parser::new(size.0, size.1, 0))?;
        Some(Screen { parser, last: Vec::new(), is_certain: true })
    }

    fn take(&mut self, kind: Kind, bytes: &[u8], modes: &Modes) {
        match kind {
            Kind::Text => self.text(bytes, modes),
            Kind::Escape => self.escape(bytes),
            Kind::Csi => match Csi::read(bytes) {
                Some(csi) => self.csi(&csi, bytes, modes),
                None => self.is_certain = false,
            },
            // A link is not kept.
            Kind::String(Text::Osc) if bytes.starts_with(b"\x1b]8;") => self.is_certain = false,
            Kind::String(_) | Kind::More => {}
        }
    }

    fn has_background(&self) -> bool {
        self.parser.screen().bgcolor() != vt100::Color::Default
    }

    /// vt100 scrolls in lines without the background that terminals give them.
    fn scrolls(&mut self) {
        self.is_certain &= !self.has_background();
    }

    fn text(&mut self, bytes: &[u8], modes: &Modes) {
        if bytes.contains(&b'\n') {
            self.scrolls();
        }
        let (inserts, wraps) = (modes.inserts(), modes.wraps());
        // A shift among them: the part before is drawn with the set before.
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
                modes.note(Kind::Text, &[character as u8]);
                continue;
            }
            let drawn = if modes.draws_boxes() { box_character(character) } else { character };
            let text = drawn.to_string();
            if !drawn.is_control() {
                let width = text.width() as u16;
                let (_, column) = self.parser.screen().cursor_position();
                let (_, columns) = self.parser.screen().size();
                if !modes.wraps() && column + width > columns {
                    // It is drawn over the last.
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
            // Next line, index.
            [_, b'E'] => b"\r\n",
            [_, b'D'] => b"\n",
            [_, b'7' | b'8' | b'=' | b'>' | b'M' | b'c' | b'\\'] => bytes,
            // Character sets are known to the modes; single shifts and tabs are not.
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
            // Known to the modes, or nothing that is seen.
            (None, b"", b'h' | b'l') if csi.numbers() == [4] => return,
            (None, b"", b'n' | b'c' | b't' | b'x') => return,
            // The last is Vim's, to learn what keys are sent.
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

    /// A private mode. vt100 has other numbers, or none, for some.
    fn mode(&mut self, mode: u16, set: u8) {
        match mode {
            // With one screen only, terminals that have no other do nothing.
            47 | 1047 | 1049 => {}
            1048 => self.parser.process(if set == b'h' { b"\x1b7" } else { b"\x1b8" }),
            3 | 69 => self.is_certain = false,
            _ => self.parser.process(format!("\x1b[?{mode}{}", set as char).as_bytes()),
        }
    }

    fn row(&self, row: u16, out: &mut Vec<u8>) {
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
                // Erased with a background: no character is there.
                out.extend_from_slice(b"\x1b[X");
            }
        }
    }
}

/// Sets the pen for a cell, from nothing.
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

/// Whether the pen is set to what vt100 does not know: blinking, hidden, struck through, other underlines.
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

/// The character of DEC's special graphics in this place.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sieve::Sieve;
    use super::*;

    fn shown(text: &[u8], size: (u16, u16)) -> Model {
        let (mut sieve, mut model, mut passed) =
            (Sieve::default(), Model::new(size, false), Passed::default());
        sieve.take(text, &mut passed);
        model.take(&passed);
        model
    }

    /// The text of a terminal to which the model is drawn, over something else.
    fn drawn(model: &Model) -> vt100::Parser {
        let (rows, columns) = model.size();
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(b"\x1b[?1049h\x1b[44;1mcovered covered covered\x1b[2;1Hcovered");
        parser.process(b"\x1b[?7l");
        parser.process(&model.rows(0..rows));
        parser.process(&model.cursor());
        parser
    }

    fn text(bytes: &str) -> (String, bool) {
        let model = shown(format!("\x1b[?1049h\x1b[H\x1b[2J{bytes}").as_bytes(), (4, 12));
        let drawn = drawn(&model);
        (drawn.screen().contents(), model.is_certain())
    }

    #[test]
    fn what_vt100_does_not_know_is_put_in_other_words() {
        for (bytes, expected) in [
            ("a\x1b[3bb", "aaaab"),
            ("\x1b(0lqk\x1b(Bx", "┌─┐x"),
            ("\x1b)0\x0elqk\x0fx", "┌─┐x"),
            ("world\r\x1b[4hhello ", "hello world"),
            ("\x1b[?7l0123456789abcdef", "0123456789af"),
            ("\x1b[2;3fx\x1b[5`y\x1b[1ez", "\n  x y\n     z"),
            ("a\x1b[Ib\x1b[Zc", "a       c"),
            ("one\x1bEtwo\x1bDthree", "one\ntwo\n   three"),
            ("a\x1b[s\x1b[3;3Hb\x1b[uc", "ac\n\n  b"),
            ("1\r\n2\r\n3\x1b[2;1H\x1b[9Lx", "1\nx"),
        ] {
            assert_eq!(text(bytes), (expected.to_owned(), true), "{bytes:?}");
        }
    }

    #[test]
    fn what_cannot_be_put_is_uncertain() {
        for bytes in [
            "\x1b[9mstruck",
            "\x1b[4:3mcurly",
            "\x1b[58;5;1mcolour",
            "\x1b]8;;http://a/\x07link",
            "\x1b#6wide",
            "\x1b#8",
            "\x1bPq~\x1b\\",
            "\x1b[41m\n\n\n\n\n",
            "\x1b[?69h",
            "\x1b[2 @",
            "\x1bHtab",
        ] {
            assert!(!text(bytes).1, "{bytes:?}");
        }
        assert!(text("\x1b[9mstruck\x1b[m\x1b[2Jnew").1);
    }

    #[test]
    fn the_screen_that_scrolls_is_not_kept() {
        let model = shown(b"text", (4, 12));
        assert!(!model.is_kept() && !model.is_drawn());
        let model = shown(b"\x1b[?1049hx\x1b[?1049l", (4, 12));
        assert!(!model.is_kept() && !model.is_drawn());
        let model = shown(b"\x1b[?1049hx", (u16::MAX, u16::MAX));
        assert!(model.is_kept() && !model.is_drawn() && !model.is_certain());
        assert!(!shown(b"\x1b[?47hx", (4, 12)).is_certain());
    }

    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let number = prop_oneof![0u16..30, Just(u16::MAX)];
        let csi =
            (number.clone(), number, proptest::sample::select(b"@ABCDEFGHIJKLMPSTXZ`abdefhlmrsu".to_vec()))
                .prop_map(|(one, two, last)| format!("\x1b[{one};{two}{}", last as char).into_bytes());
        let mode = (proptest::sample::select(vec![1, 3, 6, 7, 25, 47, 69, 1047, 1048, 1049]), any::<bool>())
            .prop_map(|(mode, set)| format!("\x1b[?{mode}{}", if set { 'h' } else { 'l' }).into_bytes());
        let text = proptest::sample::select(vec![
            "a",
            "日本",
            "e\u{301}",
            "\r\n",
            "\t",
            "\x08",
            "\n\n\n",
            "long text that wraps at the end",
            "\x0e",
            "\x0f",
            "\x1b7",
            "\x1b8",
            "\x1bM",
            "\x1bD",
            "\x1bE",
            "\x1bc",
            "\x1b(0",
            "\x1b(B",
            "\x1b[4h",
            "\u{200d}",
        ]);
        let part = prop_oneof![
            6 => csi,
            1 => mode,
            6 => text.prop_map(|text| text.as_bytes().to_vec()),
            1 => proptest::collection::vec(any::<u8>(), 0..8),
        ];
        proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        /// Nothing that a command writes ends the front, whatever the size.
        #[test]
        fn nothing_ends_it(bytes in hostile(), rows in 1u16..8, columns in 1u16..14, later in (1u16..8, 1u16..14)) {
            let bytes = [b"\x1b[?1049h", &bytes[..]].concat();
            let mut model = shown(&bytes, (rows, columns));
            model.resize(later);
            model.rows(0..rows.max(later.0));
            model.cursor();
            model.place();
        }

        /// What is drawn over is drawn as it was: the same again, when the terminal is the model's.
        #[test]
        fn rows_are_drawn_as_they_were(bytes in hostile()) {
            let bytes = [b"\x1b[?1049h\x1b[H\x1b[2J", &bytes[..]].concat();
            let model = shown(&bytes, (6, 12));
            prop_assume!(model.is_drawn());
            let (kept, drawn) = (model.screen.as_ref().unwrap().parser.screen(), drawn(&model));
            for row in 0..6 {
                for column in 0..12 {
                    let cell = |screen: &vt100::Screen| {
                        let cell = screen.cell(row, column).unwrap();
                        (cell.contents().to_owned(), cell.fgcolor(), cell.bgcolor(), cell.bold(), cell.inverse())
                    };
                    prop_assert_eq!(cell(kept), cell(drawn.screen()), "row {} column {}", row, column);
                }
            }
        }
    }
}
