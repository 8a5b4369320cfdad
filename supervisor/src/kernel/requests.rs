//! System calls and ioctls that no crate wraps, on descriptors of our own.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use guard_shim::failpoints::{Layer, is_layer_off};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use rustix::io::Errno;

use super::{errno, limits};

/// One mapping, as PROCMAP_QUERY returns it (linux/fs.h, Linux 6.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The mapped file's device, as (major, minor); (0, 0) without a file.
    pub device: (u32, u32),
    /// The mapped file's inode; 0 without a file.
    pub inode: u64,
}

/// `struct procmap_query`.
#[repr(C)]
#[derive(Default)]
struct ProcmapQuery {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    vma_start: u64,
    vma_end: u64,
    vma_flags: u64,
    vma_page_size: u64,
    vma_offset: u64,
    inode: u64,
    dev_major: u32,
    dev_minor: u32,
    vma_name_size: u32,
    build_id_size: u32,
    vma_name_addr: u64,
    build_id_addr: u64,
}

mod ioctl {
    nix::ioctl_readwrite!(procmap_query, b'f', 17, super::ProcmapQuery);
}

/// `PROCMAP_QUERY_COVERING_OR_NEXT_VMA`, `PROCMAP_QUERY_FILE_BACKED_VMA` (linux/fs.h).
const NEXT_OF_FILE: u64 = 0x10 | 0x20;

fn query(maps: BorrowedFd<'_>, flags: u64, address: u64, name: &mut [u8]) -> Result<ProcmapQuery, Errno> {
    if is_layer_off(Layer::ProcmapQuery) {
        return Err(Errno::NOTTY);
    }
    let mut query = ProcmapQuery {
        size: size_of::<ProcmapQuery>() as u64,
        query_flags: flags,
        query_addr: address,
        vma_name_size: name.len() as u32,
        vma_name_addr: if name.is_empty() { 0 } else { name.as_mut_ptr() as u64 },
        ..ProcmapQuery::default()
    };
    // SAFETY: the structure is initialised, has the size that it states, and names a buffer of its length, or none; both
    // outlive the call.
    unsafe { ioctl::procmap_query(maps.as_raw_fd(), &raw mut query) }.map_err(errno::from_nix)?;
    Ok(query)
}

impl ProcmapQuery {
    fn mapping(&self) -> Mapping {
        Mapping { device: (self.dev_major, self.dev_minor), inode: self.inode }
    }
}

/// The mapping that covers `address`; `maps` is an open /proc/PID/maps.
///
/// # Errors
/// ENOENT if there is none, ENOTTY before Linux 6.11.
pub fn mapping(maps: BorrowedFd<'_>, address: u64) -> Result<Mapping, Errno> {
    Ok(query(maps, 0, address, &mut [])?.mapping())
}

/// The mapping of a file that covers `address`, or else the next one: its range, and what it maps; `maps` is an open
/// /proc/PID/maps.
///
/// # Errors
/// ENOENT if there is none, ENOTTY before Linux 6.11.
pub fn next_file_mapping(
    maps: BorrowedFd<'_>,
    address: u64,
) -> Result<(std::ops::Range<u64>, Mapping), Errno> {
    let found = query(maps, NEXT_OF_FILE, address, &mut [])?;
    Ok((found.vma_start..found.vma_end, found.mapping()))
}

/// Does as [`next_file_mapping`], and returns the name that maps(5) shows, too.
///
/// # Errors
/// As [`next_file_mapping`]; ENAMETOOLONG for a name of more than PATH_MAX.
pub fn next_named_mapping(
    maps: BorrowedFd<'_>,
    address: u64,
) -> Result<(std::ops::Range<u64>, Mapping, Vec<u8>), Errno> {
    let mut name = vec![0; libc::PATH_MAX as usize];
    let found = query(maps, NEXT_OF_FILE, address, &mut name)?;
    // The length counts the NUL at the end.
    name.truncate((found.vma_name_size as usize).saturating_sub(1));
    Ok((found.vma_start..found.vma_end, found.mapping(), name))
}

/// Checks an access (access(2)) to an open file, also an O_PATH one, with our effective rights: faccessat2(2) on the
/// descriptor itself, which no crate offers.
///
/// # Errors
/// EACCES, and other errors of faccessat2.
pub fn may(file: BorrowedFd<'_>, access: rustix::fs::Access) -> Result<(), Errno> {
    let flags = libc::AT_EACCESS | libc::AT_EMPTY_PATH;
    let nothing = c"".as_ptr();
    // SAFETY: the kernel reads a NUL-terminated string with static lifetime; everything else is an integer.
    let result =
        unsafe { libc::syscall(libc::SYS_faccessat2, file.as_raw_fd(), nothing, access.bits(), flags) };
    errno::check(result)
}

/// fchmodat2(2) on the file itself (Linux 6.6); for a symbolic link the kernel returns EOPNOTSUPP.
///
/// # Errors
/// The kernel's.
pub fn chmod(file: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    const SYS_FCHMODAT2: libc::c_long = 452;
    // SAFETY: the path is a static, terminated string; everything else is an integer.
    let result =
        unsafe { libc::syscall(SYS_FCHMODAT2, file.as_raw_fd(), c"".as_ptr(), mode, libc::AT_EMPTY_PATH) };
    errno::check(result)
}

/// connect(2) of a caller's socket, with the address as bytes.
///
/// # Errors
/// The kernel's.
pub fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: pointer and length are those of a live slice; the kernel only reads it.
    let result = unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    errno::check(result)
}

/// bind(2) of a caller's socket, with the address as bytes.
///
/// # Errors
/// The kernel's.
pub fn bind(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: pointer and length are those of a live slice; the kernel only reads it.
    let result = unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    errno::check(result)
}

/// Opens the slave of a pty master (`TIOCGPTPEER`).
///
/// # Errors
/// The kernel's.
pub fn pty_peer(master: BorrowedFd<'_>, flags: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: the request takes an integer and returns a descriptor.
    let result = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    errno::check(result)?;
    // SAFETY: the kernel has just opened this descriptor for us and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// An ioctl that only reads a structure of the size that its number states.
///
/// # Errors
/// EINVAL when `argument` is not of that size, else the kernel's.
pub fn ioctl_write(file: BorrowedFd<'_>, request: u32, argument: &[u8]) -> Result<(), Errno> {
    if argument.len() != (request >> 16 & 0x3fff) as usize {
        return Err(Errno::INVAL);
    }
    // SAFETY: the request number states the size that the kernel reads, which is the slice's (checked above).
    let result = unsafe { libc::syscall(libc::SYS_ioctl, file.as_raw_fd(), request, argument.as_ptr()) };
    errno::check(result)
}

/// fcntl(2) `F_SETOWN`.
///
/// # Errors
/// The kernel's.
pub fn set_owner(file: BorrowedFd<'_>, owner: i32) -> Result<(), Errno> {
    // SAFETY: the command takes an integer.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETOWN, owner) };
    errno::check(result)
}

/// Sends the wake-up signal to a thread of this process, so that a blocking call in it ends with EINTR.
pub fn wake_thread(tid: i32) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: tgkill takes three integers; the signal has a handler that does nothing (see `on_wake`).
    let _ = unsafe { libc::syscall(libc::SYS_tgkill, process, tid, libc::SIGUSR1) };
}

extern "C" fn on_wake(_: libc::c_int) {}

/// Installs the handler of the wake-up signal, without SA_RESTART.
///
/// # Errors
/// The kernel's.
pub fn handle_wake() -> Result<(), Errno> {
    let action = SigAction::new(SigHandler::Handler(on_wake), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler touches nothing, so it is safe at any point of any thread.
    unsafe { sigaction(Signal::SIGUSR1, &action) }.map_err(errno::from_nix)?;
    Ok(())
}

/// What happens when a signal arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is ignored; a pending one is discarded, too.
    Ignore,
    /// The default of signal(7).
    Default,
}

/// Sets the disposition of a signal.
///
/// # Errors
/// EINVAL for SIGKILL and SIGSTOP.
pub fn dispose(signal: Signal, disposition: Disposition) -> Result<(), Errno> {
    let handler = match disposition {
        Disposition::Ignore => SigHandler::SigIgn,
        Disposition::Default => SigHandler::SigDfl,
    };
    // SAFETY: neither disposition installs a handler.
    unsafe { nix::sys::signal::signal(signal, handler) }.map_err(errno::from_nix)?;
    Ok(())
}

/// Raises a signal with its default action and without a core dump. Returns if the signal does not end processes.
pub fn end_by(signal: i32) {
    limits::forbid_core();
    // SAFETY: SIG_DFL installs no handler.
    let _ = unsafe { libc::signal(signal, libc::SIG_DFL) };
    let _ = SigSet::empty().thread_set_mask();
    // SAFETY: raise takes an integer; its effect on this process is intended.
    let _ = unsafe { libc::raise(signal) };
}

/// The identity that a mapping of this file shows: on some file systems the device differs from stat(2)'s.
///
/// # Errors
/// The kernel's.
pub fn mapping_of(file: BorrowedFd<'_>) -> Result<Mapping, Errno> {
    use rustix::fs::{Mode, OFlags};
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let file = rustix::fs::open(link, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let length = std::num::NonZeroUsize::MIN;
    let (protection, kind) = (nix::sys::mman::ProtFlags::PROT_READ, nix::sys::mman::MapFlags::MAP_PRIVATE);
    // SAFETY: this makes a new mapping at an address of the kernel's choice, which is never read and is removed before
    // this function returns.
    let address =
        unsafe { nix::sys::mman::mmap(None, length, protection, kind, &file, 0) }.map_err(errno::from_nix)?;
    let maps = rustix::fs::open("/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let shown = mapping(maps.as_fd(), address.as_ptr() as u64);
    // SAFETY: exactly the mapping made above, to which nothing points.
    let _ = unsafe { nix::sys::mman::munmap(address, 1) };
    shown
}

/// PTRACE_CONT with any signal, 0 for none. nix has no real-time signals.
pub fn trace_continue(tid: i32, signal: i32) {
    // SAFETY: PTRACE_CONT takes integers only, as pointers.
    let _ = unsafe { libc::ptrace(libc::PTRACE_CONT, tid, 0usize, signal as usize) };
}

/// PTRACE_DETACH with any signal, 0 for none. Returns false if the task is not stopped.
pub fn trace_detach(tid: i32, signal: i32) -> bool {
    // SAFETY: PTRACE_DETACH takes integers only, as pointers.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, tid, 0usize, signal as usize) == 0 }
}
