//! Arguments of an open: flags, mode, and restrictions on resolving the path.

use guard_policy::Access;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::caller::Caller;
use crate::resolve::Last;

/// `__O_TMPFILE` without the O_DIRECTORY that must accompany it.
const TMPFILE_BIT: u32 = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
/// `O_ACCMODE` as the kernel defines it (asm-generic/fcntl.h); musl's has the bit of `O_PATH` as well.
const ACCESS_MODE: u32 = OFlags::RWMODE.bits();
/// The flags that open(2) knows. It ignores all others (include/linux/fcntl.h, VALID_OPEN_FLAGS).
const KNOWN: u32 = (libc::O_CREAT
    | libc::O_EXCL
    | libc::O_NOCTTY
    | libc::O_TRUNC
    | libc::O_APPEND
    | libc::O_NONBLOCK
    | libc::O_SYNC
    | libc::O_DSYNC
    | libc::O_ASYNC
    | libc::O_DIRECT
    | libc::O_DIRECTORY
    | libc::O_NOFOLLOW
    | libc::O_NOATIME
    | libc::O_CLOEXEC
    | libc::O_PATH
    | libc::O_TMPFILE) as u32
    | ACCESS_MODE
    // As the kernel defines it; the libc crate has 0 for glibc.
    | OFlags::LARGEFILE.bits();

/// Arguments of an open, as in openat2(2)'s `struct open_how`.
#[derive(Clone, Copy, Debug)]
pub struct OpenHow {
    flags: u32,
    mode: u32,
    resolve: ResolveFlags,
}

impl OpenHow {
    /// From the arguments of the older calls, which ignore unknown flags.
    pub fn of_open(flags: i32, mode: i32) -> OpenHow {
        let how = OpenHow {
            flags: flags as u32 & KNOWN,
            mode: mode as u32 & 0o7777,
            resolve: ResolveFlags::empty(),
        };
        if how.creates() || how.unnamed() { how } else { OpenHow { mode: 0, ..how } }
    }

    /// Reads openat2's structure from the caller's memory, once.
    ///
    /// # Errors
    /// EFAULT, EINVAL and E2BIG, as the kernel returns them.
    pub fn read(caller: &Caller<'_>, address: u64, size: u64) -> Result<OpenHow, Errno> {
        const SIZE: usize = 24;
        if size < SIZE as u64 {
            return Err(Errno::INVAL);
        }
        if size > rustix::param::page_size() as u64 {
            return Err(Errno::TOOBIG);
        }
        // Like the kernel, check the bytes after the known structure first; stop at the first that is not 0.
        caller.zeros(address.checked_add(SIZE as u64).ok_or(Errno::FAULT)?, size - SIZE as u64)?;
        let mut raw = [0; SIZE];
        caller.bytes(address, &mut raw)?;
        let field =
            |at: usize| raw[at..at + 8].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let (flags, mode, resolve) = (field(0), field(8), field(16));
        let known = ResolveFlags::all().bits() & 0x3f;
        if flags & !u64::from(KNOWN) != 0
            || mode & !0o7777 != 0
            || resolve & !known != 0
            || ResolveFlags::from_bits_retain(resolve).contains(ResolveFlags::BENEATH | ResolveFlags::IN_ROOT)
        {
            return Err(Errno::INVAL);
        }
        Ok(OpenHow {
            flags: flags as u32,
            mode: mode as u32,
            resolve: ResolveFlags::from_bits_retain(resolve),
        })
    }

    /// The restrictions on resolving the path.
    pub fn resolve(self) -> ResolveFlags {
        self.resolve
    }

    /// Whether any of these flags is set.
    pub fn has(self, flag: i32) -> bool {
        self.flags & flag as u32 != 0
    }

    /// Whether a missing file is created.
    pub fn creates(self) -> bool {
        self.has(libc::O_CREAT)
    }

    /// Whether an unnamed file is created (O_TMPFILE).
    pub fn unnamed(self) -> bool {
        self.flags & TMPFILE_BIT != 0
    }

    /// Whether it opens neither to read nor to write (access mode 3).
    pub fn is_neither(self) -> bool {
        self.flags & ACCESS_MODE == ACCESS_MODE
    }

    /// Whether the open may change something even if it yields no descriptor.
    pub fn changes(self) -> bool {
        self.creates() || self.unnamed() || self.has(libc::O_TRUNC)
    }

    /// Whether an existing file is opened for writing, as it is.
    pub fn writes_what_is_there(self) -> bool {
        let mode = self.flags & ACCESS_MODE;
        let writes = mode == libc::O_WRONLY as u32 || mode == libc::O_RDWR as u32;
        writes && !self.has(libc::O_TRUNC) && !self.has(libc::O_EXCL) && !self.unnamed()
    }

    /// The same open of an existing file, only for reading.
    pub fn only_for_reading(self) -> OpenHow {
        let flags = self.flags & !(ACCESS_MODE | libc::O_CREAT as u32 | libc::O_APPEND as u32);
        OpenHow { flags, mode: 0, ..self }
    }

    /// The access that the open itself needs, besides the creation of a missing file.
    pub fn access(self) -> Access {
        let mode = self.flags & ACCESS_MODE;
        let reads = mode != libc::O_WRONLY as u32;
        let writes = mode != libc::O_RDONLY as u32 || self.has(libc::O_TRUNC) || self.unnamed();
        match (reads, writes) {
            (true, true) => Access::READ | Access::WRITE,
            (false, _) => Access::WRITE,
            (true, false) => Access::READ,
        }
    }

    /// Whether a link at the end of the path is followed.
    pub fn last(self) -> Last {
        let exclusive = self.creates() && self.has(libc::O_EXCL);
        match self.has(libc::O_NOFOLLOW) || exclusive {
            true => Last::Keep,
            false if self.creates() => Last::Make,
            false => Last::Follow,
        }
    }

    /// The supervisor's own flags: the descriptor never survives its exec, and no terminal becomes its controlling
    /// terminal.
    pub fn ours(self) -> OFlags {
        OFlags::from_bits_retain(self.flags) | OFlags::CLOEXEC | OFlags::NOCTTY
    }

    /// The mode of a created file.
    pub fn our_mode(self) -> Mode {
        Mode::from_raw_mode(self.mode)
    }

    /// Whether the mode would give a new file a set-user-ID or set-group-ID bit.
    pub fn has_set_id(self) -> bool {
        super::set_id::has_any(self.our_mode())
    }

    /// Checks for arguments that the kernel refuses whatever the path is.
    ///
    /// # Errors
    /// EINVAL.
    pub fn check(self) -> Result<(), Errno> {
        let creates = self.creates() || self.unnamed();
        let bad = (self.mode != 0 && !creates)
            || self.mode & !0o7777 != 0
            || (self.creates() && self.has(libc::O_DIRECTORY) && !self.unnamed())
            || (self.unnamed()
                && (!self.has(libc::O_DIRECTORY)
                    || self.creates()
                    || self.flags & ACCESS_MODE == libc::O_RDONLY as u32));
        if bad { Err(Errno::INVAL) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_follows_the_flags() {
        let of =
            |flags: i32| OpenHow { flags: flags as u32, mode: 0, resolve: ResolveFlags::empty() }.access();
        assert_eq!(of(libc::O_RDONLY), Access::READ);
        assert_eq!(of(libc::O_RDONLY | libc::O_TRUNC), Access::READ | Access::WRITE);
        assert_eq!(of(libc::O_WRONLY), Access::WRITE);
        assert_eq!(of(libc::O_RDWR), Access::READ | Access::WRITE);
        // Access mode 3 opens for ioctl; the kernel requires both rights for it, too.
        assert_eq!(of(3), Access::READ | Access::WRITE);
        let is_neither = |flags: i32| OpenHow::of_open(flags, 0).is_neither();
        assert_eq!(
            [3, libc::O_RDWR, libc::O_WRONLY, libc::O_PATH].map(is_neither),
            [true, false, false, false]
        );
        assert_eq!(of(libc::O_TMPFILE | libc::O_WRONLY), Access::WRITE);
    }
}
