//! A caller's memory, built from an input, and a reader that goes byte by byte.

use guard_supervisor::kernel::fake::Fake;
use rustix::io::Errno;

use super::input::Input;

const PAGE: usize = 4096;
/// The lowest address.
const START: u64 = 0x10000;
/// The number of pages: more than the longest argument needs.
const PAGES: usize = 48;

/// Pages, each mapped or not.
pub struct Memory {
    pages: Vec<Option<Vec<u8>>>,
}

impl Memory {
    /// Builds the memory from an input.
    pub fn from_input(input: &mut Input<'_>) -> Memory {
        let mut memory = Memory { pages: vec![None; PAGES] };
        for _ in 0..24 {
            match input.below(6) {
                0 => break,
                1 => {
                    let (first, count) = (input.below(PAGES), input.below(PAGES));
                    memory.pages.iter_mut().skip(first).take(count + 1).for_each(|page| {
                        page.get_or_insert_with(|| vec![0; PAGE]);
                    });
                }
                2 => {
                    let at = Memory::address(input);
                    memory.write(at, input.text());
                }
                3 => {
                    let (at, length) = (Memory::address(input), input.number(3) as usize % (PAGES * PAGE));
                    let filler = input.byte();
                    memory.write(at, &vec![filler; length]);
                }
                // An array of pointers, often to the same few strings.
                4 => {
                    let (at, times) = (Memory::address(input), input.number(2) % 2048);
                    let pointers: Vec<u64> = (0..=input.below(8)).map(|_| Memory::address(input)).collect();
                    let all = pointers.iter().cycle().take(pointers.len().max(times as usize));
                    memory.write(at, &all.flat_map(|pointer| pointer.to_ne_bytes()).collect::<Vec<_>>());
                }
                _ => {
                    let at = Memory::address(input);
                    let words: Vec<u64> = (0..=input.below(4)).map(|_| word(input)).collect();
                    memory.write(at, &words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>());
                }
            }
        }
        memory
    }

    /// An address in the memory, or next to it.
    pub fn address(input: &mut Input<'_>) -> u64 {
        let (page, offset) = (input.below(PAGES + 2) as u64, input.number(2) % PAGE as u64);
        START + page * PAGE as u64 + offset
    }

    /// Writes those bytes that are mapped.
    fn write(&mut self, address: u64, bytes: &[u8]) {
        let Some(at) = address.checked_sub(START) else { return };
        for (offset, byte) in bytes.iter().enumerate() {
            let at = at as usize + offset;
            match self.pages.get_mut(at / PAGE) {
                Some(Some(page)) => page[at % PAGE] = *byte,
                Some(None) => {}
                None => return,
            }
        }
    }

    /// Copies the memory to a fake kernel, in one piece or page by page.
    pub fn copy_to(&self, kernel: &mut Fake, is_split: bool) {
        let mut before = None;
        for (number, page) in self.pages.iter().enumerate() {
            let Some(page) = page else { continue };
            let start = match before {
                Some((start, end)) if end == number && !is_split => start,
                _ => number,
            };
            before = Some((start, number + 1));
            let address = START + (start * PAGE) as u64;
            kernel.memory.entry(address).or_default().extend_from_slice(page);
        }
    }

    /// One byte.
    pub fn byte(&self, address: u64) -> Result<u8, Errno> {
        let at = address.checked_sub(START).ok_or(Errno::FAULT)? as usize;
        let page = self.pages.get(at / PAGE).and_then(Option::as_ref).ok_or(Errno::FAULT)?;
        Ok(page[at % PAGE])
    }

    /// Reads `length` bytes.
    pub fn bytes(&self, address: u64, length: u64) -> Result<Vec<u8>, Errno> {
        (0..length).map(|offset| self.byte(address.checked_add(offset).ok_or(Errno::FAULT)?)).collect()
    }

    /// Reads a string that ends with a NUL among the first `most` bytes. Fails with `longer` if there is none.
    pub fn string(&self, address: u64, most: u64, longer: Errno) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        for offset in 0..most {
            match self.byte(address.checked_add(offset).ok_or(Errno::FAULT)?)? {
                0 => return Ok(text),
                byte => text.push(byte),
            }
        }
        Err(longer)
    }

    /// Reads a number of eight bytes.
    pub fn word(&self, address: u64) -> Result<u64, Errno> {
        Ok(self.bytes(address, 8)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }
}

/// An arbitrary value of a register or a field.
pub fn word(input: &mut Input<'_>) -> u64 {
    const FLAGS: [i32; 19] = [
        libc::O_WRONLY,
        libc::O_RDWR,
        libc::O_CREAT,
        libc::O_EXCL,
        libc::O_TRUNC,
        libc::O_DIRECTORY,
        libc::O_NOFOLLOW,
        libc::O_PATH,
        libc::O_TMPFILE,
        libc::O_NONBLOCK,
        libc::O_APPEND,
        libc::O_CLOEXEC,
        libc::O_ACCMODE,
        libc::AT_EMPTY_PATH,
        libc::AT_SYMLINK_NOFOLLOW,
        libc::AT_REMOVEDIR,
        0x10000,
        0o644,
        0o100_000,
    ];
    /// Boundary values.
    const ENDS: [u64; 6] = [
        u64::MAX,
        i32::MIN as u64,
        i32::MAX as u64,
        u32::MAX as u64,
        i64::MIN as u64,
        START + (PAGES * PAGE) as u64 - 1,
    ];
    match input.below(6) {
        0 => u64::from(input.byte()),
        1 => Memory::address(input),
        2 => input.number(8),
        3 => libc::AT_FDCWD as u64,
        5 => *input.pick(&ENDS),
        _ => (0..=input.below(4)).fold(0, |flags, _| flags | *input.pick(&FLAGS) as u64),
    }
}
