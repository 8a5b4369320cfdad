//! The positions in a pattern that matching can have reached.

use super::tokens::Token;
use super::{Below, MAX_PATTERN};

/// The words of a state set for the longest pattern. Nearly all patterns fit one word.
pub(super) const LARGE: usize = MAX_PATTERN / 64 + 1;

#[cfg(test)]
thread_local! {
    /// How often a token was compared with a unit.
    pub(super) static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns true for a unit that ECMAScript's `.` does not match.
fn is_line_end(unit: u32) -> bool {
    matches!(unit, 0x0a | 0x0d | 0x2028 | 0x2029)
}

/// A set of positions in a pattern: position `n` means that the first `n` tokens have matched.
pub(super) struct States<const W: usize>([u64; W]);

impl<const W: usize> Default for States<W> {
    fn default() -> Self {
        States([0; W])
    }
}

impl<const W: usize> States<W> {
    pub(super) fn has(&self, position: usize) -> bool {
        self.0[position / 64] >> (position % 64) & 1 == 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Adds a position and, if a star is there, the next one: a star may match nothing. Two stars in a row do
    /// not occur.
    pub(super) fn enter(&mut self, position: usize, tokens: &[Token]) {
        self.0[position / 64] |= 1 << (position % 64);
        if let Some(Token::Star | Token::StarStar) = tokens.get(position) {
            self.0[(position + 1) / 64] |= 1 << ((position + 1) % 64);
        }
    }

    pub(super) fn step(&self, tokens: &[Token], unit: u32, crosses_lines: bool) -> Self {
        let mut next = Self::default();
        let slash = unit == u32::from(b'/');
        for word in 0..W {
            let mut bits = self.0[word];
            while bits != 0 {
                #[cfg(test)]
                LOOKS.with(|looks| looks.set(looks.get() + 1));
                let position = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                match tokens.get(position) {
                    Some(Token::Unit(u)) if *u == unit => next.enter(position + 1, tokens),
                    Some(Token::One) if !slash => next.enter(position + 1, tokens),
                    Some(Token::Star) if !slash => next.enter(position, tokens),
                    Some(Token::StarStar) if crosses_lines || !is_line_end(unit) => {
                        next.enter(position, tokens);
                    }
                    _ => {}
                }
            }
        }
        next
    }

    pub(super) fn below(&self, tokens: &[Token], crosses_lines: bool) -> Below {
        let last = tokens.len().checked_sub(1);
        let ends_open = crosses_lines && tokens.last() == Some(&Token::StarStar);
        match last {
            Some(last) if ends_open && self.has(last) => Below::Everything,
            _ if (0..tokens.len()).any(|p| self.has(p)) => Below::Something,
            _ => Below::Nothing,
        }
    }
}
