//! The kernel's interface to callers: notifications, memory, descriptors and execs.
//!
//! Everything that the guard needs to know or do *about a guarded process* goes through [`Kernel`], so that the logic
//! above can be tested with a scripted fake. Operations on the file system itself are ordinary calls, tested on real
//! directories. Every `unsafe` block of this crate is in this module or below it.

pub(crate) mod descriptors;
pub(crate) mod errno;
#[cfg(any(test, feature = "fake-kernel"))]
pub mod fake;
pub(crate) mod fork;
pub(crate) mod limits;
pub(crate) mod listener;
pub mod maps;
pub(crate) mod memory;
pub(crate) mod messages;
pub(crate) mod pidfd;
pub mod probe;
pub(crate) mod requests;
pub(crate) mod schedule;
pub(crate) mod signals;
pub mod trace;

use std::os::fd::{BorrowedFd, OwnedFd};

use guard_openclaw::peer::proc::{ProcStatus, Tid};
use rustix::io::Errno;

/// One held system call.
#[derive(Clone, Copy, Debug)]
pub struct Notification {
    /// The kernel's cookie; valid until the call is answered or its caller dies.
    pub id: u64,
    /// The calling thread.
    pub tid: Tid,
    /// The system call's number, as this architecture has it.
    pub number: i64,
    /// The six argument registers.
    pub args: [u64; 6],
}

/// A reply that ends a held call, or leaves it to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// The call returns this value.
    Value(i64),
    /// The call fails with this errno.
    Error(Errno),
    /// The call fails as if interrupted by a signal: restarted if the handler has SA_RESTART, else EINTR (the kernel's
    /// ERESTARTSYS).
    Interrupted,
    /// The kernel performs the call as the caller made it. It reads the caller's memory again: each use of this
    /// explains why it cannot matter what the kernel finds then.
    Continue,
}

/// How a followed exec ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The new program passed the check and runs.
    Runs,
    /// The check refused the new program; it was killed before its first instruction.
    Killed,
    /// The kernel refused the exec; the caller has its errno.
    Failed,
    /// The caller died on the way.
    Died,
}

/// The guard's view of the kernel and its callers.
pub trait Kernel: Send + Sync {
    /// Waits for the next held call. `Errno::NOENT` and `Errno::INTR` mean: try again.
    fn receive(&self) -> Result<Notification, Errno>;
    /// Replies to a held call. `Errno::NOENT` means that the caller is gone.
    fn respond(&self, id: u64, response: Response) -> Result<(), Errno>;
    /// Whether the call is still held: everything read from the caller before a `true` was read from *that* caller.
    fn valid(&self, id: u64) -> bool;
    /// Installs a copy of `fd` in the caller at its lowest free number; with `reply` the call also returns it.
    fn install(&self, id: u64, fd: BorrowedFd<'_>, cloexec: bool, reply: bool) -> Result<i64, Errno>;
    /// Reads the caller's memory up to the first unreadable byte. EFAULT if not even the first can be read.
    fn read(&self, tid: Tid, address: u64, buffer: &mut [u8]) -> Result<usize, Errno>;
    /// Reads several parts, given by start and length, one behind the other, up to the first unreadable byte.
    fn read_parts(&self, tid: Tid, parts: &[(u64, u64)], buffer: &mut [u8]) -> Result<usize, Errno>;
    /// Writes all of `bytes` to the caller's memory. EFAULT if not all of them can be written; then a part may have
    /// been written.
    fn write(&self, tid: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno>;
    /// An O_PATH descriptor of the caller's directory `dirfd` (or any file it has open), AT_FDCWD included.
    fn directory(&self, tid: Tid, dirfd: i32) -> Result<OwnedFd, Errno>;
    /// Writes the kernel's path of the caller's `dirfd`, AT_FDCWD included, into `buffer`; returns its length. For a
    /// removed object it is the path that it had, followed by ` (deleted)`.
    fn directory_path(&self, tid: Tid, dirfd: i32, buffer: &mut [u8]) -> Result<usize, Errno>;
    /// A duplicate of the caller's descriptor: the same open file description.
    fn descriptor(&self, tid: Tid, fd: i32) -> Result<OwnedFd, Errno>;
    /// The maximum size of a file that the caller may write (RLIMIT_FSIZE).
    fn size_limit(&self, tid: Tid) -> u64;
    /// Whether the caller has room for one more descriptor.
    fn has_room(&self, tid: Tid) -> bool;
    /// Whether the thread is the leader of its process, so that its number is the process's.
    fn is_leader(&self, tid: Tid) -> bool;
    /// `/proc/TID/status`.
    fn status(&self, tid: Tid) -> Result<ProcStatus, Errno>;
    /// The first arguments of the process, from `/proc/PID/cmdline`.
    fn arguments(&self, pid: Tid) -> Result<Vec<Vec<u8>>, Errno>;
    /// Whether the caller has a pending signal that would end a wait in the kernel.
    fn is_signalled(&self, tid: Tid) -> bool;
    /// Sends a signal to a thread of the process.
    fn signal(&self, process: Tid, tid: Tid, signal: i32);
    /// Continues a held exec under ptrace; `check` gets the pid of the new program before it runs.
    fn follow_exec(&self, id: u64, tid: Tid, check: &mut dyn FnMut(Tid) -> bool) -> Result<Followed, Errno>;
}
