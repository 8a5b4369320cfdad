//! The lines of one file, from either end.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The number of bytes read at a time.
const CHUNK: u64 = 64 * 1024;

/// The bytes of a line, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineBytes {
    /// Where the line begins in its file.
    pub at: u64,
    /// The line without its line feed.
    pub bytes: Vec<u8>,
    /// Whether a line feed follows. Without one the line is unfinished.
    pub is_whole: bool,
}

/// Reads bytes of a file.
///
/// # Errors
/// The kernel's; UnexpectedEof if the file is shorter.
fn read(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

/// The lines of the first `end` bytes, the last one first.
#[derive(Debug)]
pub struct Backward<'f> {
    file: &'f File,
    /// Where `held` begins.
    from: u64,
    /// The bytes that were read and not yet returned.
    held: VecDeque<u8>,
    /// Whether a line feed follows `held`.
    is_whole: bool,
}

impl<'f> Backward<'f> {
    /// Reads from `end` back to the beginning.
    pub fn new(file: &'f File, end: u64) -> Backward<'f> {
        Backward { file, from: end, held: VecDeque::new(), is_whole: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        let length = CHUNK.min(self.from);
        let bytes = read(self.file, self.from - length, length)?;
        self.from -= length;
        self.held.reserve(bytes.len());
        bytes.into_iter().rev().for_each(|byte| self.held.push_front(byte));
        Ok(())
    }

    fn line(&mut self) -> io::Result<Option<LineBytes>> {
        // The number of bytes at the end of `held` that contain no line feed.
        let mut clean = 0;
        loop {
            let (front, back) = self.held.as_slices();
            let looked = self.held.len() - clean;
            let feed = if looked > front.len() {
                memchr::memrchr(b'\n', &back[..looked - front.len()])
                    .map(|at| front.len() + at)
                    .or_else(|| memchr::memrchr(b'\n', front))
            } else {
                memchr::memrchr(b'\n', &front[..looked])
            };
            if let Some(feed) = feed {
                let bytes: Vec<u8> = self.held.split_off(feed + 1).into();
                self.held.truncate(feed);
                let is_whole = std::mem::replace(&mut self.is_whole, true);
                if is_whole || !bytes.is_empty() {
                    return Ok(Some(LineBytes { at: self.from + feed as u64 + 1, bytes, is_whole }));
                }
                clean = 0;
                continue;
            }
            clean = self.held.len();
            if self.from == 0 {
                let bytes: Vec<u8> = std::mem::take(&mut self.held).into();
                let is_whole = std::mem::replace(&mut self.is_whole, false);
                let line = LineBytes { at: 0, bytes, is_whole };
                return Ok((is_whole || !line.bytes.is_empty()).then_some(line));
            }
            self.fill()?;
        }
    }
}

impl Iterator for Backward<'_> {
    type Item = io::Result<LineBytes>;

    fn next(&mut self) -> Option<io::Result<LineBytes>> {
        self.line().transpose()
    }
}

/// The lines from `at` to `end`.
#[derive(Debug)]
pub struct Forward<'f> {
    file: &'f File,
    at: u64,
    end: u64,
    held: Vec<u8>,
    /// The number of bytes of `held` that were returned.
    given: usize,
}

impl<'f> Forward<'f> {
    /// Reads from `at` to `end`.
    pub fn new(file: &'f File, at: u64, end: u64) -> Forward<'f> {
        Forward { file, at, end, held: Vec::new(), given: 0 }
    }

    fn line(&mut self) -> io::Result<Option<LineBytes>> {
        // The number of bytes at the start of `left` that contain no line feed.
        let mut clean = 0;
        loop {
            let left = &self.held[self.given..];
            if let Some(feed) = memchr::memchr(b'\n', &left[clean..]) {
                let bytes = left[..clean + feed].to_vec();
                return Ok(Some(self.finish_line(bytes, true)));
            }
            clean = left.len();
            let read_to = self.at + left.len() as u64;
            if read_to == self.end {
                let bytes = left.to_vec();
                return Ok((!bytes.is_empty()).then(|| self.finish_line(bytes, false)));
            }
            let more = read(self.file, read_to, CHUNK.min(self.end - read_to))?;
            self.held.drain(..self.given);
            self.given = 0;
            self.held.extend_from_slice(&more);
        }
    }

    fn finish_line(&mut self, bytes: Vec<u8>, is_whole: bool) -> LineBytes {
        let at = self.at;
        let length = bytes.len() + usize::from(is_whole);
        self.given += length;
        self.at += length as u64;
        LineBytes { at, bytes, is_whole }
    }
}

impl Iterator for Forward<'_> {
    type Item = io::Result<LineBytes>;

    fn next(&mut self) -> Option<io::Result<LineBytes>> {
        self.line().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    /// Splits a text in memory. Both readers must give the same lines.
    fn naive(text: &[u8]) -> Vec<LineBytes> {
        let mut at = 0;
        let parts = text.split_inclusive(|&byte| byte == b'\n');
        let lines = parts.map(|part| {
            let is_whole = part.ends_with(b"\n");
            let line = LineBytes { at, bytes: part[..part.len() - usize::from(is_whole)].to_vec(), is_whole };
            at += part.len() as u64;
            line
        });
        lines.collect()
    }

    fn check(text: &[u8]) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file.write_all(b"what comes after\nis not meant").unwrap();
        let end = text.len() as u64;
        let mut lines = naive(text);
        assert_eq!(Forward::new(&file, 0, end).collect::<io::Result<Vec<_>>>().unwrap(), lines);
        lines.reverse();
        assert_eq!(Backward::new(&file, end).collect::<io::Result<Vec<_>>>().unwrap(), lines);
    }

    #[test]
    fn lines_longer_than_a_chunk_are_whole() {
        let long = vec![b'x'; 3 * CHUNK as usize + 7];
        for text in [&b""[..], b"\n", b"a", b"a\n", b"\n\n", b"a\n\nb"] {
            check(text);
            check(&[&long[..], text].concat());
            check(&[text, &long[..]].concat());
            check(&[text, &long[..], b"\n"].concat());
        }
        check(&[&long[..CHUNK as usize - 1], b"\n", &long[..CHUNK as usize], b"\n"].concat());
    }

    proptest! {
        #[test]
        fn both_ends_see_the_same(lines in prop::collection::vec("[a-c]{0,3}", 0..9), feed in any::<bool>()) {
            let text = lines.join("\n") + if feed { "\n" } else { "" };
            check(text.as_bytes());
        }
    }
}
