//! Parses the command's output, and drops what must not reach the operator's terminal (`deny`).
//!
//! However the input is split, the result ends between characters and sequences, so that other output can
//! follow.
//!
//! Why: docs/decisions.md, "Output of the command is filtered"

mod deny;
#[cfg(test)]
mod tests;

use std::ops::Range;

use memchr::{memchr, memchr2};

/// The maximum length of a control sequence; longer ones are dropped.
const MAX_CSI_LEN: usize = 256;
/// The number of bytes at the start of a string that decide about it.
const MAX_HEAD_LEN: usize = 4096;

const ESC: u8 = 0x1b;
const ENQ: u8 = 0x05;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// The kind of a piece of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Characters, and control characters among them.
    Text,
    /// Another escape sequence.
    Escape,
    /// A control sequence.
    Csi,
    /// A string, or its first part.
    String(Text),
    /// More of a long string.
    More,
}

/// Whom a string is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// The operating system: titles, colours, links.
    Osc,
    /// The device: pictures.
    Dcs,
    /// The application: kitty's pictures.
    Apc,
    /// The window of screen(1) and tmux: its title.
    Title,
    /// Unknown (SOS, PM).
    Other,
}

/// Output that may be shown.
#[derive(Debug, Default)]
pub struct Filtered {
    /// The bytes of all pieces.
    pub bytes: Vec<u8>,
    pieces: Vec<(PieceKind, Range<usize>)>,
}

/// The parser, with its state between two reads.
#[derive(Debug, Default)]
pub struct Filter {
    state: ParserState,
    /// The beginning of an incomplete character or sequence.
    held: Vec<u8>,
    /// Whether the terminal is screen(1) or tmux, in which `ESC k` begins a string.
    in_window: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ParserState {
    /// Between sequences; `held` may be the beginning of a character.
    #[default]
    Ground,
    Escape,
    Csi,
    /// In an invalid control sequence, until its end.
    NoCsi,
    String(Text, StringAction),
    /// After an ESC within a string.
    StringEscape(Text, StringAction),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StringAction {
    Held,
    Shown,
    Dropped,
}

impl Filtered {
    /// Returns the pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = (PieceKind, &[u8])> {
        self.pieces.iter().map(|(kind, range)| (*kind, &self.bytes[range.clone()]))
    }

    /// Removes all pieces.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
    }

    /// Makes the terminal leave the alternate screen before each reset. Otherwise only some terminals do, and
    /// it would be unknown which screen is in use.
    pub fn leave_before_resets(&mut self) {
        const RESET: &[u8] = b"\x1bc";
        if !self.pieces().any(|(kind, bytes)| kind == PieceKind::Escape && bytes == RESET) {
            return;
        }
        let mut passed = Filtered::default();
        for (kind, bytes) in self.pieces() {
            if kind == PieceKind::Escape && bytes == RESET {
                passed.push(PieceKind::Csi, b"\x1b[?1049l");
            }
            passed.push(kind, bytes);
        }
        *self = passed;
    }

    fn push(&mut self, kind: PieceKind, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        match self.pieces.last_mut() {
            Some((PieceKind::Text, range)) if kind == PieceKind::Text => range.end = self.bytes.len(),
            _ => self.pieces.push((kind, start..self.bytes.len())),
        }
    }
}

impl Filter {
    /// Creates a filter for a terminal of this kind (`TERM`).
    pub fn new(term: &str) -> Filter {
        let in_window = ["screen", "tmux"].iter().any(|name| term.starts_with(name));
        Filter { in_window, ..Filter::default() }
    }

    /// Parses output, and appends to `passed` what may be shown.
    pub fn feed(&mut self, mut bytes: &[u8], passed: &mut Filtered) {
        while !bytes.is_empty() {
            let count = match self.state {
                ParserState::Ground => self.ground(bytes, passed),
                ParserState::Escape => self.escape(bytes[0], passed),
                ParserState::Csi | ParserState::NoCsi => self.csi(bytes[0], passed),
                ParserState::String(kind, way) => self.string(kind, way, bytes, passed),
                ParserState::StringEscape(kind, way) => self.string_escape(kind, way, bytes[0], passed),
            };
            bytes = &bytes[count..];
        }
    }

    /// Returns whether the terminal is in the middle of a long string.
    #[cfg(test)]
    fn is_within(&self) -> bool {
        matches!(
            self.state,
            ParserState::String(_, StringAction::Shown) | ParserState::StringEscape(_, StringAction::Shown)
        )
    }

    /// Returns the bytes that end a string of which a part was shown. The rest of it is dropped.
    pub fn interrupt(&mut self) -> &'static [u8] {
        match self.state {
            ParserState::String(kind, StringAction::Shown) => {
                self.state = ParserState::String(kind, StringAction::Dropped)
            }
            ParserState::StringEscape(kind, StringAction::Shown) => {
                self.state = ParserState::StringEscape(kind, StringAction::Dropped)
            }
            _ => return b"",
        }
        b"\x18\x1b\\"
    }

    /// Passes on an incomplete character that was held back, at the end of the output.
    pub fn finish(&mut self, passed: &mut Filtered) {
        if self.state == ParserState::Ground {
            let rest = std::mem::take(&mut self.held);
            passed.push(PieceKind::Text, &rest);
        }
    }

    fn ground(&mut self, bytes: &[u8], passed: &mut Filtered) -> usize {
        let end = memchr2(ESC, ENQ, bytes);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        if self.held.is_empty() && text.is_ascii() {
            passed.push(PieceKind::Text, text);
        } else if self.held.is_empty() {
            self.text(text, end.is_none(), passed);
        } else {
            let mut whole = std::mem::take(&mut self.held);
            whole.extend_from_slice(text);
            self.text(&whole, end.is_none(), passed);
        }
        match end {
            Some(at) => {
                if bytes[at] == ESC {
                    self.begin();
                }
                at + 1
            }
            None => bytes.len(),
        }
    }

    /// Passes on text without C1 controls, whether in UTF-8 or not: some terminals take them for sequences.
    /// An incomplete character at the end is held back if more may come.
    fn text(&mut self, mut text: &[u8], may_go_on: bool, passed: &mut Filtered) {
        while let Some(chunk) = text.utf8_chunks().next() {
            let mut valid = chunk.valid().as_bytes();
            while let Some(at) = memchr(0xc2, valid) {
                let is_control = valid.get(at + 1).is_some_and(|byte| *byte < 0xa0);
                passed.push(PieceKind::Text, &valid[..if is_control { at } else { at + 2 }]);
                valid = &valid[at + 2..];
            }
            passed.push(PieceKind::Text, valid);
            let bad = chunk.invalid();
            text = &text[chunk.valid().len() + bad.len()..];
            let is_begun = str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
            if may_go_on && text.is_empty() && is_begun {
                self.held = bad.to_vec();
                return;
            }
            for byte in bad {
                let is_control = (0x80..0xa0).contains(byte);
                passed.push(
                    PieceKind::Text,
                    if is_control { "\u{fffd}".as_bytes() } else { std::slice::from_ref(byte) },
                );
            }
        }
    }

    fn begin(&mut self) {
        self.held.clear();
        self.held.push(ESC);
        self.state = ParserState::Escape;
    }

    fn end(&mut self) {
        self.held.clear();
        self.state = ParserState::Ground;
    }

    /// Handles a control character within a sequence. It acts at once, and the sequence continues. Returns
    /// false if the control ends the sequence.
    fn control(&mut self, byte: u8, passed: &mut Filtered) -> bool {
        match byte {
            ESC => self.begin(),
            CAN | SUB => self.end(),
            ENQ | 0x7f => {}
            _ => passed.push(PieceKind::Text, &[byte]),
        }
        !matches!(byte, ESC | CAN | SUB)
    }

    fn escape(&mut self, byte: u8, passed: &mut Filtered) -> usize {
        match byte {
            0x00..=0x1f | 0x7f => drop(self.control(byte, passed)),
            b' '..=b'/' if self.held.len() < 4 => self.held.push(byte),
            b'[' if self.held.len() == 1 => {
                self.held.push(byte);
                self.state = ParserState::Csi;
            }
            b']' | b'P' | b'_' | b'X' | b'^' if self.held.len() == 1 => {
                self.held.push(byte);
                let kind = match byte {
                    b']' => Text::Osc,
                    b'P' => Text::Dcs,
                    b'_' => Text::Apc,
                    _ => Text::Other,
                };
                self.state = ParserState::String(kind, StringAction::Held);
            }
            b'k' if self.in_window && self.held.len() == 1 => {
                self.held.push(byte);
                self.state = ParserState::String(Text::Title, StringAction::Held);
            }
            b'0'..=b'~' => {
                self.held.push(byte);
                if !deny::escape(&self.held) {
                    passed.push(PieceKind::Escape, &self.held);
                }
                self.end();
            }
            // No sequence has so many intermediate bytes.
            b' '..=b'/' => self.end(),
            0x80.. => {
                self.end();
                return 0;
            }
        }
        1
    }

    fn csi(&mut self, byte: u8, passed: &mut Filtered) -> usize {
        match byte {
            0x00..=0x1f | 0x7f => drop(self.control(byte, passed)),
            b' '..=b'?' => {
                let after_intermediate = self.held.last().is_some_and(|last| (b' '..=b'/').contains(last));
                let is_late = byte >= b'0' && after_intermediate || byte >= b'<' && self.held.len() > 2;
                if is_late || self.held.len() >= MAX_CSI_LEN {
                    self.state = ParserState::NoCsi;
                } else {
                    self.held.push(byte);
                }
            }
            b'@'..=b'~' => {
                self.held.push(byte);
                if self.state == ParserState::Csi && !deny::csi(&self.held) {
                    passed.push(PieceKind::Csi, &self.held);
                }
                self.end();
            }
            0x80.. => {
                self.end();
                return 0;
            }
        }
        1
    }

    fn string(&mut self, kind: Text, way: StringAction, bytes: &[u8], passed: &mut Filtered) -> usize {
        let ends = |byte: &u8| matches!(*byte, ESC | CAN | SUB) || (*byte == BEL && kind == Text::Osc);
        let end = bytes.iter().position(ends);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let way = self.more(kind, way, part, passed);
        match end.map(|at| bytes[at]) {
            None => self.state = ParserState::String(kind, way),
            Some(ESC) => self.state = ParserState::StringEscape(kind, way),
            Some(BEL) => self.end_string(kind, way, &[BEL], passed),
            Some(_) => self.abandon(way, passed),
        }
        end.map_or(bytes.len(), |at| at + 1)
    }

    /// Handles more of a string. A long string is shown or dropped according to its beginning.
    fn more(&mut self, kind: Text, way: StringAction, part: &[u8], passed: &mut Filtered) -> StringAction {
        match way {
            StringAction::Dropped => StringAction::Dropped,
            StringAction::Shown if hides_controls(part) => {
                passed.push(PieceKind::More, &[CAN]);
                StringAction::Dropped
            }
            StringAction::Shown => {
                passed.push(PieceKind::More, part);
                StringAction::Shown
            }
            StringAction::Held => {
                self.held.extend_from_slice(part);
                if self.held.len() < MAX_HEAD_LEN {
                    return StringAction::Held;
                }
                if hides_controls(&self.held) || deny::string(kind, &self.held[2..], false) {
                    return StringAction::Dropped;
                }
                passed.push(PieceKind::String(kind), &self.held);
                StringAction::Shown
            }
        }
    }

    fn end_string(&mut self, kind: Text, way: StringAction, end: &[u8], passed: &mut Filtered) {
        match way {
            StringAction::Held
                if !hides_controls(&self.held) && !deny::string(kind, &self.held[2..], true) =>
            {
                self.held.extend_from_slice(end);
                passed.push(PieceKind::String(kind), &self.held);
            }
            StringAction::Shown => passed.push(PieceKind::More, end),
            StringAction::Held | StringAction::Dropped => {}
        }
        self.end();
    }

    fn abandon(&mut self, way: StringAction, passed: &mut Filtered) {
        if way == StringAction::Shown {
            passed.push(PieceKind::More, &[CAN]);
        }
        self.end();
    }

    fn string_escape(&mut self, kind: Text, way: StringAction, byte: u8, passed: &mut Filtered) -> usize {
        if byte == b'\\' {
            self.end_string(kind, way, b"\x1b\\", passed);
            return 1;
        }
        // Another sequence begins.
        self.abandon(way, passed);
        self.begin();
        0
    }
}

/// Returns whether some terminal could see the end of the string in this part: a C1 control, in UTF-8 or not. A
/// terminal that does not know such strings could also see a query (ENQ).
fn hides_controls(part: &[u8]) -> bool {
    if memchr(ENQ, part).is_some() {
        return true;
    }
    if part.is_ascii() {
        return false;
    }
    let is_control = |character: char| ('\u{80}'..'\u{a0}').contains(&character);
    part.utf8_chunks().any(|chunk| chunk.valid().contains(is_control) || !chunk.invalid().is_empty())
}
