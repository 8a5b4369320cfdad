//! argv and environment of a held exec.

use std::sync::atomic::AtomicUsize;

use rustix::io::Errno;

use crate::caller::Caller;
use crate::worker::share::Share;

/// The kernel takes at most three quarters of 8 MiB for all strings and pointers (fs/exec.c, bprm_stack_limits).
const MAX_BYTES: usize = 6 << 20;
/// Bytes per read, from a page boundary: the strings of most environments lie close together, in any order.
const WINDOW: usize = 8192;
const PAGE: u64 = 4096;
/// The number of windows kept.
const MAX_WINDOWS: usize = 8;

/// What a string costs beside its bytes: its length, its pointer, and what the allocator rounds up.
const STRING_COST: usize = 64;
/// How many bytes the strings of all starts together may cost, and in which parts they are counted. The guard has a few
/// copies of each. A start with less than a part is not counted.
const MAX_COST: usize = 128 << 20;
const COST_PART: usize = 64 << 10;
/// The cost of the strings of all starts that are judged now.
static COST: AtomicUsize = AtomicUsize::new(0);

/// What the strings of one start may cost.
pub struct StringBudget {
    /// The remaining limit for all strings, as the kernel counts.
    left: usize,
    uncounted: usize,
    shares: Vec<Share>,
}

impl Default for StringBudget {
    fn default() -> StringBudget {
        StringBudget { left: MAX_BYTES, uncounted: 0, shares: Vec::new() }
    }
}

impl StringBudget {
    /// Counts a string of this length.
    ///
    /// # Errors
    /// E2BIG, as the kernel returns it; ENOMEM if the strings of all starts cost too much.
    fn add(&mut self, length: usize) -> Result<(), Errno> {
        self.left = self.left.checked_sub(length + 1 + 8).ok_or(Errno::TOOBIG)?;
        self.uncounted += length + STRING_COST;
        while self.uncounted >= COST_PART {
            self.shares.push(Share::acquire(&COST, COST_PART, MAX_COST).ok_or(Errno::NOMEM)?);
            self.uncounted -= COST_PART;
        }
        Ok(())
    }
}

/// A NULL-terminated array of strings.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    /// The strings, without their NUL.
    pub items: Vec<Vec<u8>>,
}

impl Strings {
    /// Reads the array at `address`; a null address gives an empty one. `budget` is for all strings of a start.
    ///
    /// # Errors
    /// EFAULT and E2BIG, as the kernel returns them; ENOMEM if the strings of all starts cost too much. If the caller is
    /// gone, this may read another process.
    pub fn read(
        memory: &mut Windows<'_, '_>,
        address: u64,
        budget: &mut StringBudget,
    ) -> Result<Strings, Errno> {
        let mut strings = Strings::default();
        if address == 0 {
            return Ok(strings);
        }
        for index in 0.. {
            let at = address.checked_add(index * 8).ok_or(Errno::FAULT)?;
            let pointer = memory.word(at)?;
            if pointer == 0 {
                break;
            }
            let text = memory.string(pointer)?;
            budget.add(text.len())?;
            strings.items.push(text);
        }
        Ok(strings)
    }
}

/// MAX_ARG_STRLEN: 32 pages, which are larger than 4 KiB on some kernels.
fn max_len() -> usize {
    32 * rustix::param::page_size()
}

/// The strings as laid out in a new program's memory.
pub fn joined<'s>(items: impl Iterator<Item = &'s Vec<u8>> + Clone) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(items.clone().map(|item| item.len() + 1).sum());
    for item in items {
        bytes.extend_from_slice(item);
        bytes.push(0);
    }
    bytes
}

/// Windows of the caller's memory, read ahead. Each part is read once, as long as few windows are needed.
pub struct Windows<'c, 'k> {
    caller: &'c Caller<'k>,
    windows: Vec<Window>,
    /// The window that was hit last, and the one that is replaced next.
    last: usize,
    next: usize,
}

#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The part of the window from `address` on.
    fn from(&self, address: u64) -> Option<&[u8]> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.bytes.get(at..).filter(|bytes| !bytes.is_empty())
    }
}

impl<'c, 'k> Windows<'c, 'k> {
    /// Creates windows. Nothing is read yet.
    pub fn new(caller: &'c Caller<'k>) -> Self {
        Windows { caller, windows: Vec::new(), last: 0, next: 0 }
    }

    /// The readable bytes from `address` on, at least one.
    fn from(&mut self, address: u64) -> Result<&[u8], Errno> {
        let holds = |window: &Window| window.from(address).is_some();
        if !self.windows.get(self.last).is_some_and(holds) {
            self.last = match self.windows.iter().position(holds) {
                Some(at) => at,
                None => self.read(address)?,
            };
        }
        self.windows[self.last].from(address).ok_or(Errno::FAULT)
    }

    fn read(&mut self, address: u64) -> Result<usize, Errno> {
        if self.windows.len() < MAX_WINDOWS {
            self.windows.push(Window::default());
            self.next = self.windows.len() - 1;
        } else {
            self.next = (self.next + 1) % MAX_WINDOWS;
        }
        let window = &mut self.windows[self.next];
        window.start = address - address % PAGE;
        window.bytes.resize(WINDOW, 0);
        let count = self.caller.kernel().read(self.caller.tid(), window.start, &mut window.bytes);
        window.bytes.truncate(*count.as_ref().unwrap_or(&0));
        count?;
        Ok(self.next)
    }

    fn word(&mut self, address: u64) -> Result<u64, Errno> {
        if let Some(word) = self.from(address)?.first_chunk() {
            return Ok(u64::from_ne_bytes(*word));
        }
        // The word crosses the end of a window.
        let mut bytes = [0; 8];
        for (offset, byte) in bytes.iter_mut().enumerate() {
            *byte = self.from(address.checked_add(offset as u64).ok_or(Errno::FAULT)?)?[0];
        }
        Ok(u64::from_ne_bytes(bytes))
    }

    fn string(&mut self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        loop {
            let at = address.checked_add(text.len() as u64).ok_or(Errno::FAULT)?;
            let bytes = self.from(at)?;
            let end = memchr::memchr(0, bytes);
            text.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if text.len() >= max_len() {
                return Err(Errno::TOOBIG);
            }
            if end.is_some() {
                return Ok(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_cost_more_than_their_bytes_and_all_starts_share_a_bound() {
        let mut starts = Vec::new();
        let refused = loop {
            let mut budget = StringBudget::default();
            let full = loop {
                if let Err(error) = budget.add(1) {
                    break error;
                }
            };
            starts.push(budget);
            if full != Errno::TOOBIG {
                break full;
            }
        };
        assert_eq!(
            (refused, starts.len()),
            (Errno::NOMEM, MAX_COST.div_ceil((MAX_BYTES / 10) * (STRING_COST + 1)))
        );
        drop(starts);
        assert_eq!(StringBudget::default().add(MAX_BYTES - 9), Ok(()));
        assert_eq!(StringBudget::default().add(MAX_BYTES), Err(Errno::TOOBIG));
    }
}
