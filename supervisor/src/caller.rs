//! The caller of one held call: its memory, directories and status. Each function checks that it read from this caller,
//! unless it says that it does not.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use guard_openclaw::peer::proc::{ProcStatus, Tid};
use rustix::io::Errno;

use crate::judge::consent::Consent;
use crate::kernel::{Kernel, Notification};

/// PATH_MAX of Linux, with the terminating NUL.
pub const PATH_MAX: usize = 4096;
const PAGE: u64 = 4096;

/// The caller of one held call.
pub struct Caller<'k> {
    kernel: &'k dyn Kernel,
    call: Notification,
    status: Cell<Option<ProcStatus>>,
    process: Cell<Option<Tid>>,
    received: Instant,
    consent: Consent,
}

/// A path as the caller wrote it: at most PATH_MAX - 1 bytes, no NUL. It is large and on the stack: avoid moving it.
#[derive(Default)]
pub struct CallerPath(ArrayVec<u8, PATH_MAX>);

impl CallerPath {
    /// The path's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for CallerPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_bytes().escape_ascii().fmt(f)
    }
}

impl<'k> Caller<'k> {
    /// The caller of `call`.
    pub fn new(kernel: &'k dyn Kernel, call: Notification) -> Self {
        Caller {
            kernel,
            call,
            status: Cell::new(None),
            process: Cell::new(None),
            received: Instant::now(),
            consent: Consent::default(),
        }
    }

    /// The human's decisions about this call.
    pub fn consent(&self) -> &Consent {
        &self.consent
    }

    /// Discards what was read, so that the call is handled again from the start.
    pub fn start_again(&mut self) {
        self.status.set(None);
    }

    /// The held call.
    pub fn call(&self) -> &Notification {
        &self.call
    }

    /// When the guard received the call.
    pub fn received(&self) -> Instant {
        self.received
    }

    /// How long the guard has had the call.
    pub fn held_for(&self) -> Duration {
        self.received.elapsed()
    }

    /// The calling thread.
    pub fn tid(&self) -> Tid {
        self.call.tid
    }

    /// The kernel that holds the call.
    pub fn kernel(&self) -> &'k dyn Kernel {
        self.kernel
    }

    /// Checks that everything read so far was read from this caller.
    ///
    /// # Errors
    /// ESRCH if the caller is gone: its number may already belong to another task.
    pub fn check(&self) -> Result<(), Errno> {
        if self.kernel.valid(self.call.id) { Ok(()) } else { Err(Errno::SRCH) }
    }

    /// Reads the path at `address`.
    ///
    /// # Errors
    /// EFAULT and ENAMETOOLONG, as the kernel returns them; ESRCH if the caller is gone.
    pub fn path(&self, address: u64) -> Result<CallerPath, Errno> {
        let mut path = CallerPath::default();
        self.peek(address, &mut path)?;
        self.check()?;
        Ok(path)
    }

    /// Reads the path at `address` into an empty `path`. Does not check liveness: the thread ID may have been reused,
    /// and the path may be another process's. Use the result only to answer this notification: the kernel drops the
    /// reply if the call is no longer held.
    ///
    /// # Errors
    /// EFAULT and ENAMETOOLONG, as the kernel returns them.
    pub fn peek(&self, address: u64, path: &mut CallerPath) -> Result<(), Errno> {
        self.string(address, &mut path.0)
    }

    /// Reads a NUL-terminated string of less than `N` bytes into an empty `text`, without the NUL.
    ///
    /// # Errors
    /// EFAULT when memory ends before the string, ENAMETOOLONG when the string is longer.
    pub fn string<const N: usize>(&self, address: u64, text: &mut ArrayVec<u8, N>) -> Result<(), Errno> {
        // Most paths are short, and reading across a page boundary would fail if the next page is not mapped.
        let mut part = [0; 256];
        while !text.is_full() {
            let at = address.checked_add(text.len() as u64).ok_or(Errno::FAULT)?;
            let end = part.len().min(text.remaining_capacity()).min((PAGE - at % PAGE) as usize);
            let count = self.kernel.read(self.tid(), at, &mut part[..end])?;
            let nul = memchr::memchr(0, &part[..count]);
            let read = &part[..nul.unwrap_or(count)];
            text.try_extend_from_slice(read).map_err(|_| Errno::NAMETOOLONG)?;
            if nul.is_some() {
                return Ok(());
            }
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Reads exactly `buffer.len()` bytes.
    ///
    /// # Errors
    /// EFAULT when less can be read; ESRCH when the caller is gone.
    pub fn bytes(&self, address: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        self.peek_bytes(address, buffer)?;
        self.check()
    }

    /// Reads exactly `buffer.len()` bytes. Does not check liveness: see [`Caller::peek`].
    ///
    /// # Errors
    /// EFAULT when less can be read.
    pub fn peek_bytes(&self, address: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        let mut length = 0;
        while length < buffer.len() {
            let at = address.checked_add(length as u64).ok_or(Errno::FAULT)?;
            length += self.kernel.read(self.tid(), at, &mut buffer[length..])?;
        }
        Ok(())
    }

    /// Reads several parts, given by start and length, until `buffer` is full. Does not check liveness: see
    /// [`Caller::peek`].
    ///
    /// # Errors
    /// EFAULT when less can be read.
    pub fn peek_parts(&self, parts: &[(u64, u64)], buffer: &mut [u8]) -> Result<(), Errno> {
        let count = self.kernel.read_parts(self.tid(), parts, buffer)?;
        if count < buffer.len() { Err(Errno::FAULT) } else { Ok(()) }
    }

    /// Writes a result of the call to the caller's memory.
    ///
    /// # Errors
    /// EFAULT; ESRCH when the caller is gone.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        // The kernel gives out the numbers of threads in turn. Another thread could have this number at the next line
        // only if, before it, this thread ended and all other numbers were used up.
        self.check()?;
        self.kernel.write(self.tid(), address, bytes)
    }

    /// Checks that all these bytes are 0: they are fields of a structure that this version does not know.
    ///
    /// # Errors
    /// E2BIG at the first byte that is not 0, EFAULT at the first that cannot be read, whichever comes first.
    pub fn zeros(&self, address: u64, length: u64) -> Result<(), Errno> {
        let mut part = [0; 256];
        let mut done = 0;
        while done < length {
            let at = address.checked_add(done).ok_or(Errno::FAULT)?;
            let end = part.len().min((length - done) as usize);
            let count = self.kernel.read(self.tid(), at, &mut part[..end])?;
            if part[..count].iter().any(|&byte| byte != 0) {
                return Err(Errno::TOOBIG);
            }
            done += count as u64;
        }
        Ok(())
    }

    /// Opens an O_PATH descriptor of what `dirfd` means to the caller.
    ///
    /// # Errors
    /// EBADF; ESRCH when the caller is gone.
    pub fn directory(&self, dirfd: i32) -> Result<OwnedFd, Errno> {
        let directory = self.kernel.directory(self.tid(), dirfd)?;
        self.check()?;
        Ok(directory)
    }

    /// A duplicate of the caller's descriptor.
    ///
    /// # Errors
    /// EBADF; ESRCH when the caller is gone.
    pub fn descriptor(&self, fd: i32) -> Result<OwnedFd, Errno> {
        let descriptor = self.kernel.descriptor(self.tid(), fd)?;
        self.check()?;
        Ok(descriptor)
    }

    /// Duplicates of descriptors 0, 1 and 2 of the caller.
    ///
    /// # Errors
    /// EBADF if one is closed; ESRCH when the caller is gone.
    pub fn stdio(&self) -> Result<[OwnedFd; 3], Errno> {
        Ok([self.descriptor(0)?, self.descriptor(1)?, self.descriptor(2)?])
    }

    /// The first arguments of the caller's process, from `/proc/PID/cmdline`, which the process can overwrite. Empty if
    /// the process is gone.
    pub fn arguments(&self) -> Vec<Vec<u8>> {
        let arguments = self.process().and_then(|process| self.kernel.arguments(process));
        let arguments = arguments.and_then(|arguments| self.check().map(|()| arguments));
        arguments.unwrap_or_default()
    }

    /// Reads `/proc/TID/status`, once per call.
    ///
    /// # Errors
    /// ESRCH when the caller is gone.
    pub fn status(&self) -> Result<ProcStatus, Errno> {
        if let Some(status) = self.status.get() {
            return Ok(status);
        }
        let status = self.kernel.status(self.tid())?;
        self.check()?;
        self.status.set(Some(status));
        Ok(status)
    }

    /// The process that the caller's thread belongs to.
    ///
    /// # Errors
    /// ESRCH when the caller is gone.
    pub fn process(&self) -> Result<Tid, Errno> {
        if let Some(process) = self.process.get() {
            return Ok(process);
        }
        let process = if self.kernel.is_leader(self.tid()) {
            self.check()?;
            self.tid()
        } else {
            self.status()?.tgid
        };
        self.process.set(Some(process));
        Ok(process)
    }

    /// Argument `index` as the kernel's `int`: the upper half of the register is ignored.
    pub fn int(&self, index: usize) -> i32 {
        self.call.args[index] as i32
    }

    /// Argument `index` as an address or an unsigned long.
    pub fn word(&self, index: usize) -> u64 {
        self.call.args[index]
    }
}
