//! The caller's side of the kernel: notifications, its memory, its descriptors, its exec.
//!
//! Everything the guard needs to know or do *about a guarded process* goes through [`Kernel`], so that the
//! logic above can be tested with a scripted fake. Operations on the file system itself are ordinary calls
//! and are tested on real directories. Every `unsafe` block of this crate is below this module.

pub(crate) mod descriptors;
pub(crate) mod errno;
#[cfg(any(test, feature = "fake-kernel"))]
pub mod fake;
pub(crate) mod fork;
pub(crate) mod limits;
pub(crate) mod listener;
pub mod maps;
pub(crate) mod memory;
pub(crate) mod pidfd;
pub mod probe;
pub(crate) mod requests;
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
    /// The system call's number, x86_64.
    pub number: i64,
    /// The six argument registers.
    pub args: [u64; 6],
}

/// How a held call ends without the kernel doing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// The call returns this value.
    Value(i64),
    /// The call fails with this errno.
    Error(Errno),
    /// The call fails as one interrupted by a signal does: restarted when the handler says SA_RESTART,
    /// else EINTR (the kernel's ERESTARTSYS).
    Interrupted,
    /// The kernel does the call as the caller made it. It reads the caller's memory again: each use says
    /// why what it finds then cannot matter.
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

/// What the guard asks of the kernel about its callers.
pub trait Kernel: Send + Sync {
    /// Waits for the next held call. `Errno::NOENT` and `Errno::INTR` mean: try again.
    fn receive(&self) -> Result<Notification, Errno>;
    /// Answers a held call. `Errno::NOENT` means that the caller is gone.
    fn respond(&self, id: u64, response: Response) -> Result<(), Errno>;
    /// Whether the call is still held: what was read of the caller before a `true` was read of *that* caller.
    fn valid(&self, id: u64) -> bool;
    /// Puts a copy of `fd` into the caller at its lowest free number; with `reply` the call returns it too.
    fn install(&self, id: u64, fd: BorrowedFd<'_>, cloexec: bool, reply: bool) -> Result<i64, Errno>;
    /// Reads the caller's memory up to the first unreadable byte. EFAULT when there is none.
    fn read(&self, tid: Tid, address: u64, buffer: &mut [u8]) -> Result<usize, Errno>;
    /// An O_PATH descriptor of the caller's directory `dirfd` (or any file it has open), AT_FDCWD included.
    fn directory(&self, tid: Tid, dirfd: i32) -> Result<OwnedFd, Errno>;
    /// What the kernel says that the path of the caller's `dirfd` is, AT_FDCWD included; its length. Of an object that was
    /// removed it is the path that it had, and ` (deleted)`.
    fn directory_path(&self, tid: Tid, dirfd: i32, buffer: &mut [u8]) -> Result<usize, Errno>;
    /// A duplicate of the caller's descriptor: the same open file description.
    fn descriptor(&self, tid: Tid, fd: i32) -> Result<OwnedFd, Errno>;
    /// How large a file the caller may make (RLIMIT_FSIZE).
    fn size_limit(&self, tid: Tid) -> u64;
    /// Whether the caller could be given one more descriptor.
    fn has_room(&self, tid: Tid) -> bool;
    /// Whether the thread leads its process: then its number is the process's.
    fn is_leader(&self, tid: Tid) -> bool;
    /// `/proc/TID/status`.
    fn status(&self, tid: Tid) -> Result<ProcStatus, Errno>;
    /// The first of the arguments that the process shows (`/proc/PID/cmdline`).
    fn arguments(&self, pid: Tid) -> Result<Vec<Vec<u8>>, Errno>;
    /// Whether a signal waits for the caller that would end a wait in the kernel.
    fn is_signalled(&self, tid: Tid) -> bool;
    /// Lets a held exec go on under ptrace; `check` sees the new program (by its pid) before it runs.
    fn follow_exec(&self, id: u64, tid: Tid, check: &mut dyn FnMut(Tid) -> bool) -> Result<Followed, Errno>;
}
