//! Parses control sequences.

/// The maximum number of parameters: more than any sequence has that matters here.
const MAX_PARAMETERS: usize = 32;

/// A control sequence, `ESC [ ...`, in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csi<'a> {
    /// The mark before the parameters: one of `<=>?`.
    pub private: Option<u8>,
    /// The intermediate bytes, before the last one.
    pub intermediates: &'a [u8],
    /// The final byte, which names the function.
    pub last: u8,
    /// Whether a parameter has parts, `4:3`.
    pub has_parts: bool,
    numbers: [u16; MAX_PARAMETERS],
    count: usize,
}

impl<'a> Csi<'a> {
    /// Parses a whole sequence. Returns `None` if it is not a control sequence, or has too many parameters.
    pub fn read(bytes: &'a [u8]) -> Option<Csi<'a>> {
        let body = bytes.strip_prefix(b"\x1b[")?;
        let (&last, body) = body.split_last()?;
        let (private, body) = match body {
            [mark @ b'<'..=b'?', rest @ ..] => (Some(*mark), rest),
            body => (None, body),
        };
        let at = body.iter().position(|byte| (b' '..=b'/').contains(byte)).unwrap_or(body.len());
        let (parameters, intermediates) = body.split_at(at);
        let mut csi =
            Csi { private, intermediates, last, has_parts: false, numbers: [0; MAX_PARAMETERS], count: 0 };
        if parameters.is_empty() {
            return Some(csi);
        }
        for parameter in parameters.split(|byte| *byte == b';') {
            let slot = csi.numbers.get_mut(csi.count)?;
            let number = parameter.split(|byte| *byte == b':').next().unwrap_or_default();
            csi.has_parts |= number.len() < parameter.len();
            for digit in number {
                if !digit.is_ascii_digit() {
                    return None;
                }
                *slot = slot.saturating_mul(10).saturating_add(u16::from(digit - b'0'));
            }
            csi.count += 1;
        }
        Some(csi)
    }

    /// Returns the parameters; an omitted one is 0.
    pub fn numbers(&self) -> &[u16] {
        &self.numbers[..self.count]
    }

    /// Returns a parameter, or 0 if there is none.
    pub fn number(&self, index: usize) -> u16 {
        self.numbers().get(index).copied().unwrap_or_default()
    }

    /// Returns a parameter that is a count: at least 1.
    pub fn times(&self, index: usize) -> u16 {
        self.number(index).max(1)
    }

    /// Returns what identifies the function, without the parameters.
    pub fn name(&self) -> (Option<u8>, &'a [u8], u8) {
        (self.private, self.intermediates, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_read() {
        let csi = Csi::read(b"\x1b[?1;2004$p").unwrap();
        assert_eq!((csi.name(), csi.numbers()), ((Some(b'?'), &b"$"[..], b'p'), &[1, 2004][..]));
        let csi = Csi::read(b"\x1b[4:3;99999999;;m").unwrap();
        assert_eq!((csi.numbers(), csi.has_parts), (&[4, u16::MAX, 0, 0][..], true));
        assert_eq!(Csi::read(b"\x1b[H").unwrap().times(1), 1);
        assert_eq!(Csi::read(format!("\x1b[{}m", "1;".repeat(99)).as_bytes()), None);
        assert_eq!(Csi::read(b"\x1b]0;x\x07"), None);
    }
}
