//! Reads a fuzzer's bytes as choices. When they run out, every choice is the first.

/// The remaining input.
pub struct Input<'d>(&'d [u8]);

impl<'d> Input<'d> {
    /// Starts with the whole input.
    pub fn new(data: &'d [u8]) -> Input<'d> {
        Input(data)
    }

    /// Whether the input is used up.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A little-endian number of this many bytes.
    pub fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// A number below `most`.
    pub fn below(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % most
    }

    /// One of the elements.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// The next `length` bytes, or as many as are left.
    pub fn take(&mut self, length: usize) -> &'d [u8] {
        let (taken, left) = self.0.split_at(length.min(self.0.len()));
        self.0 = left;
        taken
    }

    /// A byte string with its length before it, at most 255 bytes.
    pub fn text(&mut self) -> &'d [u8] {
        let length = usize::from(self.byte());
        self.take(length)
    }

    /// All remaining bytes.
    pub fn rest(&mut self) -> &'d [u8] {
        std::mem::take(&mut self.0)
    }
}
