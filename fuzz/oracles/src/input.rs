//! Bytes as choices. Where they end, every choice is the first.

/// What is left of an input.
pub struct Input<'d>(&'d [u8]);

impl<'d> Input<'d> {
    /// All of it.
    pub fn new(data: &'d [u8]) -> Input<'d> {
        Input(data)
    }

    /// Whether nothing is left to choose by.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A number of this many bytes, the lowest first.
    pub fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// A number below this one.
    pub fn below(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % most
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// So many bytes, or those that are left.
    pub fn take(&mut self, length: usize) -> &'d [u8] {
        let (taken, left) = self.0.split_at(length.min(self.0.len()));
        self.0 = left;
        taken
    }

    /// Bytes with their number before them, 255 at most.
    pub fn text(&mut self) -> &'d [u8] {
        let length = usize::from(self.byte());
        self.take(length)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'d [u8] {
        std::mem::take(&mut self.0)
    }
}
