//! argv and environment of a held exec.

use rustix::io::Errno;

use crate::caller::Caller;

/// The kernel takes at most three quarters of 8 MiB for all strings and pointers (fs/exec.c, bprm_stack_limits).
pub const LIMIT: usize = 6 << 20;
/// MAX_ARG_STRLEN: 32 pages.
const LONGEST: usize = 32 * 4096;
/// How much is read at once: most environments fit.
const WINDOW: usize = 8192;

/// A NULL-terminated array of strings.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    /// The strings, without their NUL.
    pub items: Vec<Vec<u8>>,
}

impl Strings {
    /// Reads the array at `address`; none there is an empty one. `left` is what all strings may still take.
    ///
    /// # Errors
    /// EFAULT, E2BIG as the kernel would say; ESRCH when the caller is gone.
    pub fn read(caller: &Caller<'_>, address: u64, left: &mut usize) -> Result<Strings, Errno> {
        let mut strings = Strings::default();
        if address == 0 {
            return Ok(strings);
        }
        let mut pointers = Window::new(caller);
        let mut texts = Window::new(caller);
        for index in 0.. {
            let at = address.checked_add(index * 8).ok_or(Errno::FAULT)?;
            let pointer = pointers.word(at)?;
            if pointer == 0 {
                break;
            }
            let text = texts.string(pointer)?;
            *left = left.checked_sub(text.len() + 1 + 8).ok_or(Errno::TOOBIG)?;
            strings.items.push(text);
        }
        caller.check()?;
        Ok(strings)
    }
}

/// The strings as they lie in a new program's memory.
pub fn joined(items: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(items.iter().map(|item| item.len() + 1).sum());
    for item in items {
        bytes.extend_from_slice(item);
        bytes.push(0);
    }
    bytes
}

/// A stretch of the caller's memory, read ahead.
struct Window<'c, 'k> {
    caller: &'c Caller<'k>,
    start: u64,
    bytes: Vec<u8>,
}

impl<'c, 'k> Window<'c, 'k> {
    fn new(caller: &'c Caller<'k>) -> Self {
        Window { caller, start: 0, bytes: Vec::new() }
    }

    /// What is readable from `address` on, at least one byte.
    fn from(&mut self, address: u64) -> Result<&[u8], Errno> {
        let end = self.start + self.bytes.len() as u64;
        if address < self.start || address >= end {
            self.bytes.resize(WINDOW, 0);
            let count = self.caller.kernel().read(self.caller.tid(), address, &mut self.bytes);
            self.bytes.truncate(*count.as_ref().unwrap_or(&0));
            self.start = address;
            count?;
        }
        Ok(&self.bytes[(address - self.start) as usize..])
    }

    fn word(&mut self, address: u64) -> Result<u64, Errno> {
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
            let end = bytes.iter().position(|&byte| byte == 0);
            text.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if text.len() >= LONGEST {
                return Err(Errno::TOOBIG);
            }
            if end.is_some() {
                return Ok(text);
            }
        }
    }
}
