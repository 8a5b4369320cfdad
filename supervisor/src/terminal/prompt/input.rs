//! Decodes the operator's keyboard while a prompt is up: keys, replies of the terminal, and the rest.

/// The maximum length of an incomplete sequence or string.
const MAX_LEN: usize = 64 * 1024;

/// A decoded part of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// A character.
    Key(char),
    /// Enter, which ends an answer.
    Enter,
    /// Backspace, which removes the last character.
    Backspace,
    /// Control-C.
    Interrupt,
    /// Control-Z.
    Suspend,
    /// Control-L.
    Redraw,
    /// Escape, which leads back to the question.
    Escape,
    /// A key that scrolls.
    Scroll(Scroll),
    /// A report of the cursor's row and column, from 1: the answer to DSR 6.
    Cursor(u16, u16),
    /// Another reply of the terminal, to a query of the command.
    Reply,
    /// The mouse, pasted text, and keys without a meaning here.
    Other,
}

/// A direction and distance to scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

/// The decoder, with the incomplete part of the input.
#[derive(Debug, Default)]
pub struct InputDecoder {
    held: Vec<u8>,
    is_pasting: bool,
}

/// The sequence that ends pasted text.
const PASTED: &[u8] = b"\x1b[201~";

impl InputDecoder {
    /// Decodes input. Returns its parts, each with its bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<(Typed, Vec<u8>)> {
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut rest = &held[..];
        let mut taken = Vec::new();
        while !rest.is_empty() {
            let Some((typed, length)) = self.first(rest) else { break };
            taken.push((typed, rest[..length].to_vec()));
            rest = &rest[length..];
        }
        self.held = rest.to_vec();
        if self.held.len() > MAX_LEN {
            taken.extend(self.give_up());
        }
        taken
    }

    /// Returns whether an incomplete sequence is held.
    pub fn waits(&self) -> bool {
        !self.held.is_empty() && !self.is_pasting
    }

    /// Returns an incomplete sequence whose end has not come: a lone ESC is the Escape key, anything else is
    /// no key.
    pub fn give_up(&mut self) -> Option<(Typed, Vec<u8>)> {
        if self.is_pasting {
            // Pasted text always has an end, however late it comes.
            return None;
        }
        let held = std::mem::take(&mut self.held);
        match &held[..] {
            [] => None,
            [0x1b] => Some((Typed::Escape, held)),
            _ => Some((Typed::Other, held)),
        }
    }

    /// Returns the first part and its length, or `None` if it is incomplete.
    fn first(&mut self, bytes: &[u8]) -> Option<(Typed, usize)> {
        if self.is_pasting {
            return match bytes.windows(PASTED.len()).position(|part| part == PASTED) {
                Some(at) => {
                    self.is_pasting = false;
                    Some((Typed::Other, at + PASTED.len()))
                }
                // The end sequence may be incomplete.
                None if bytes.len() < PASTED.len() => None,
                None => Some((Typed::Other, bytes.len() + 1 - PASTED.len())),
            };
        }
        let key = |typed| Some((typed, 1));
        match bytes[0] {
            b'\r' | b'\n' => key(Typed::Enter),
            0x03 => key(Typed::Interrupt),
            0x1a => key(Typed::Suspend),
            0x0c => key(Typed::Redraw),
            0x08 | 0x7f => key(Typed::Backspace),
            0x1b => self.sequence(bytes),
            0x00..=0x1f => key(Typed::Other),
            b' '..=b'~' => key(Typed::Key(bytes[0] as char)),
            0x80.. => character(bytes),
        }
    }

    fn sequence(&mut self, bytes: &[u8]) -> Option<(Typed, usize)> {
        match *bytes.get(1)? {
            b'[' => self.control_sequence(bytes),
            b'O' => {
                let key = *bytes.get(2)?;
                let typed = match key {
                    b'A' => Typed::Scroll(Scroll::Up),
                    b'B' => Typed::Scroll(Scroll::Down),
                    b'H' => Typed::Scroll(Scroll::Home),
                    b'F' => Typed::Scroll(Scroll::End),
                    _ => Typed::Other,
                };
                Some((typed, 3))
            }
            // Strings: replies about colours, capabilities and pictures.
            b']' | b'P' | b'_' | b'^' | b'X' => {
                let end = (2..bytes.len()).find_map(|at| match bytes[at..] {
                    [0x07, ..] => Some(at + 1),
                    [0x1b, b'\\', ..] => Some(at + 2),
                    _ => None,
                });
                end.map(|end| (Typed::Reply, end))
            }
            // Escape pressed twice, or once before a sequence.
            0x1b => Some((Typed::Escape, 1)),
            // Alt with a key.
            _ => character(&bytes[1..]).map(|(_, length)| (Typed::Other, length + 1)),
        }
    }

    fn control_sequence(&mut self, bytes: &[u8]) -> Option<(Typed, usize)> {
        let at = bytes[2..].iter().position(|byte| !(b' '..=b'?').contains(byte))?;
        let length = at + 3;
        let (body, last) = (&bytes[2..length - 1], bytes[length - 1]);
        if !(b'@'..=b'~').contains(&last) {
            // The sequence was cut off by another byte.
            return Some((Typed::Other, length - 1));
        }
        let scroll = |scroll| Some((Typed::Scroll(scroll), length));
        match (body, last) {
            (b"200", b'~') => {
                self.is_pasting = true;
                Some((Typed::Other, length))
            }
            // The oldest form of mouse report: three more characters.
            (b"", b'M') => {
                let mut end = length;
                for _ in 0..3 {
                    end += character(bytes.get(end..)?)?.1;
                }
                Some((Typed::Other, end))
            }
            (b"", b'A') => scroll(Scroll::Up),
            (b"", b'B') => scroll(Scroll::Down),
            (b"5", b'~') => scroll(Scroll::PageUp),
            (b"6", b'~') => scroll(Scroll::PageDown),
            (b"" | b"1" | b"7", b'H' | b'~') => scroll(Scroll::Home),
            (b"" | b"4" | b"8", b'F' | b'~') => scroll(Scroll::End),
            (_, b'R') => {
                let mut numbers =
                    body.split(|byte| *byte == b';').map(|number| str::from_utf8(number).ok()?.parse().ok());
                match (numbers.next().flatten(), numbers.next().flatten(), numbers.next()) {
                    (Some(row), Some(column), None) => Some((Typed::Cursor(row, column), length)),
                    _ => Some((Typed::Reply, length)),
                }
            }
            (_, b'n' | b'c' | b'x' | b't' | b'y' | b'S') => Some((Typed::Reply, length)),
            ([b'?', ..], b'u') => Some((Typed::Reply, length)),
            _ => Some((Typed::Other, length)),
        }
    }
}

/// Decodes one character. Invalid bytes are `Typed::Other`.
fn character(bytes: &[u8]) -> Option<(Typed, usize)> {
    let expected = match *bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    match str::from_utf8(&bytes[..expected.min(bytes.len())]) {
        Ok(text) => text.chars().next().map(|character| (Typed::Key(character), character.len_utf8())),
        Err(error) if error.error_len().is_none() => None,
        Err(_) => Some((Typed::Other, 1)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<Typed> {
        let whole: Vec<_> = InputDecoder::default().feed(bytes);
        let mut reader = InputDecoder::default();
        let single: Vec<_> = bytes.chunks(1).flat_map(|byte| reader.feed(byte)).collect();
        let only = |taken: &[(Typed, Vec<u8>)]| taken.iter().map(|(typed, _)| *typed).collect::<Vec<_>>();
        // Pasted text is split differently if it is read in other parts.
        if !bytes.windows(5).any(|part| part == b"[200~") {
            assert_eq!(only(&whole), only(&single));
        }
        only(&whole)
    }

    #[test]
    fn keys_are_keys() {
        assert_eq!(read(b"y\r"), [Typed::Key('y'), Typed::Enter]);
        assert_eq!(
            read("é\u{3}\u{1a}\u{7f}".as_bytes()),
            [Typed::Key('é'), Typed::Interrupt, Typed::Suspend, Typed::Backspace]
        );
        assert_eq!(
            read(b"\x1b[A\x1bOB\x1b[6~"),
            [Typed::Scroll(Scroll::Up), Typed::Scroll(Scroll::Down), Typed::Scroll(Scroll::PageDown)]
        );
    }

    #[test]
    fn nothing_else_is_a_key() {
        for text in [
            &b"\x1by"[..],
            b"\x1b[121u",
            b"\x1b[27;5;121~",
            b"\x1b[M yy",
            b"\x1b[<0;12;5M",
            b"\x1b[<0;12;5m",
            b"\x1b[200~y\r\x1b[201~",
            b"\x1bOy",
            b"\x1b[I",
        ] {
            assert!(read(text).iter().all(|typed| *typed == Typed::Other), "{text:?}: {:?}", read(text));
        }
        for text in [
            &b"\x1b]11;rgb:0/0/0\x07"[..],
            b"\x1b]52;c;eQ0K\x1b\\",
            b"\x1bP1$ry\r\x1b\\",
            b"\x1b[0n",
            b"\x1b[?62;c",
            b"\x1b[?2026;2$y",
            b"\x1b_Gi=1;OK\x1b\\",
        ] {
            assert_eq!(read(text), [Typed::Reply], "{text:?}");
        }
        assert_eq!(read(b"\x1b[12;40R"), [Typed::Cursor(12, 40)]);
    }

    #[test]
    fn an_unfinished_sequence_is_given_up() {
        let mut reader = InputDecoder::default();
        assert!(reader.feed(b"\x1b").is_empty() && reader.waits());
        assert_eq!(reader.give_up().unwrap().0, Typed::Escape);
        assert!(reader.feed(b"\x1b]y\r").is_empty());
        assert_eq!(reader.give_up(), Some((Typed::Other, b"\x1b]y\r".to_vec())));
        // Pasting lasts until its end, however late that comes.
        reader.feed(b"\x1b[200~");
        reader.feed(b"y\r");
        reader.give_up();
        assert!(reader.feed(b"y\ry\ry\ry\r").iter().all(|(typed, _)| *typed == Typed::Other));
        reader.feed(PASTED);
        assert_eq!(reader.feed(b"y")[0].0, Typed::Key('y'));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..12), 0..12)) {
            let mut reader = InputDecoder::default();
            let mut out = Vec::new();
            for chunk in &chunks {
                out.extend(reader.feed(chunk).into_iter().flat_map(|(_, bytes)| bytes));
            }
            out.extend(reader.give_up().into_iter().flat_map(|(_, bytes)| bytes));
            out.extend(reader.held);
            prop_assert_eq!(out, chunks.concat());
        }
    }
}
