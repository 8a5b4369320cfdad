//! The seccomp listener: the real [`Kernel`].
//!
//! seccomp_unotify(2); the structures and ioctl numbers are linux/seccomp.h's.
//!
//! Why: docs/decisions.md, "The synchronous wake-up is always on."

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Once;

use guard_openclaw::peer::proc::{self, ProcStatus, Tid};
use guard_shim::failpoints::{Layer, is_layer_off};
use rustix::io::Errno;

use super::{Followed, Kernel, Notification, Response, descriptors, errno, limits, memory, signals, trace};
use crate::audit::report::print;

mod ioctl {
    nix::ioctl_readwrite!(receive, b'!', 0, libc::seccomp_notif);
    nix::ioctl_readwrite!(send, b'!', 1, libc::seccomp_notif_resp);
    nix::ioctl_write_ptr!(valid, b'!', 2, u64);
    nix::ioctl_write_ptr!(addfd, b'!', 3, libc::seccomp_notif_addfd);
    // The flags are passed as the argument itself, although the request number carries the size of a u64.
    nix::ioctl_write_int_bad!(set_flags, nix::request_code_write!(b'!', 4, size_of::<u64>()));
}

/// SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (linux/seccomp.h, Linux 6.6).
const SYNC_WAKE_UP: i32 = 1;

/// The kernel's ERESTARTSYS (linux/errno.h). It is not part of the user-space ABI, but a system call returns it to the
/// exit path that delivers signals.
const ERESTARTSYS: i32 = 512;

/// The listener of one guarded tree.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Wraps the descriptor that seccomp(2) returned in the child.
    ///
    /// A caller sleeps until it has its reply. So the worker takes the caller's processor, and gives it back: waking
    /// another processor takes longer than the call. Before Linux 6.6 this is unavailable, and everything else works
    /// the same.
    pub fn new(fd: OwnedFd) -> Self {
        let listener = Listener(fd);
        let _ = listener.wake_in_place();
        listener
    }

    /// Makes the worker take the caller's processor, and give it back after the reply.
    ///
    /// # Errors
    /// EINVAL before Linux 6.6.
    pub fn wake_in_place(&self) -> Result<(), Errno> {
        if is_layer_off(Layer::WakeUp) {
            return Err(Errno::INVAL);
        }
        // SAFETY: the ioctl takes an integer and touches no memory of ours.
        unsafe { ioctl::set_flags(self.0.as_raw_fd(), SYNC_WAKE_UP) }.map_err(errno::from_nix)?;
        Ok(())
    }
}

impl Kernel for Listener {
    fn receive(&self) -> Result<Notification, Errno> {
        // The kernel refuses a structure that is not all zero.
        let mut notification = libc::seccomp_notif {
            id: 0,
            pid: 0,
            flags: 0,
            data: libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] },
        };
        // SAFETY: the structure is initialised, has the size that the request number carries, and outlives the call.
        unsafe { ioctl::receive(self.0.as_raw_fd(), &raw mut notification) }.map_err(errno::from_nix)?;
        Ok(Notification {
            id: notification.id,
            tid: notification.pid as Tid,
            number: i64::from(notification.data.nr),
            args: notification.data.args,
        })
    }

    fn respond(&self, id: u64, response: Response) -> Result<(), Errno> {
        let mut answer = libc::seccomp_notif_resp { id, val: 0, error: 0, flags: 0 };
        match response {
            Response::Value(value) => answer.val = value,
            Response::Error(error) => answer.error = -error.raw_os_error(),
            Response::Interrupted => answer.error = -ERESTARTSYS,
            Response::Continue => answer.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        }
        // SAFETY: the structure is initialised, has the size that the request number carries, and outlives the call.
        unsafe { ioctl::send(self.0.as_raw_fd(), &raw mut answer) }.map_err(errno::from_nix)?;
        Ok(())
    }

    fn valid(&self, id: u64) -> bool {
        // SAFETY: the kernel reads eight bytes at the pointer, which is a live u64.
        unsafe { ioctl::valid(self.0.as_raw_fd(), &raw const id) }.is_ok()
    }

    fn install(&self, id: u64, fd: BorrowedFd<'_>, cloexec: bool, reply: bool) -> Result<i64, Errno> {
        let addfd = libc::seccomp_notif_addfd {
            id,
            flags: if reply { libc::SECCOMP_ADDFD_FLAG_SEND as u32 } else { 0 },
            srcfd: fd.as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: if cloexec { libc::O_CLOEXEC as u32 } else { 0 },
        };
        // SAFETY: the structure is initialised, has the size that the request number carries, and outlives the call.
        let number =
            unsafe { ioctl::addfd(self.0.as_raw_fd(), &raw const addfd) }.map_err(errno::from_nix)?;
        Ok(i64::from(number))
    }

    fn read(&self, tid: Tid, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        memory::read(tid, address, buffer)
    }

    fn read_parts(&self, tid: Tid, parts: &[(u64, u64)], buffer: &mut [u8]) -> Result<usize, Errno> {
        memory::read_parts(tid, parts, buffer)
    }

    fn write(&self, tid: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        memory::write(tid, address, bytes)
    }

    fn directory(&self, tid: Tid, dirfd: i32) -> Result<OwnedFd, Errno> {
        descriptors::directory(tid, dirfd)
    }

    fn directory_path(&self, tid: Tid, dirfd: i32, buffer: &mut [u8]) -> Result<usize, Errno> {
        descriptors::directory_path(tid, dirfd, buffer)
    }

    fn descriptor(&self, tid: Tid, fd: i32) -> Result<OwnedFd, Errno> {
        descriptors::duplicate(tid, fd).map_err(|error| {
            // This is not the caller's fault: a filter around the guard, such as a container's, refuses the call.
            if error == Errno::NOSYS {
                static REPORTED: Once = Once::new();
                REPORTED.call_once(|| {
                    print("openclaw-guard: a filter around the guard forbids pidfd_getfd: connect, bind and calls on open files are denied. See openclaw-guard doctor");
                });
                return Errno::ACCESS;
            }
            error
        })
    }

    fn size_limit(&self, tid: Tid) -> u64 {
        limits::limit(tid, libc::RLIMIT_FSIZE as libc::c_uint).unwrap_or(u64::MAX)
    }

    fn has_room(&self, tid: Tid) -> bool {
        descriptors::has_room(tid)
    }

    fn is_leader(&self, tid: Tid) -> bool {
        signals::is_leader(tid)
    }

    fn status(&self, tid: Tid) -> Result<ProcStatus, Errno> {
        proc::status(tid)
    }

    fn arguments(&self, pid: Tid) -> Result<Vec<Vec<u8>>, Errno> {
        proc::arguments(pid)
    }

    fn is_signalled(&self, tid: Tid) -> bool {
        signals::is_signalled(tid)
    }

    fn signal(&self, process: Tid, tid: Tid, signal: i32) {
        signals::send(process, tid, signal);
    }

    fn follow_exec(&self, id: u64, tid: Tid, check: &mut dyn FnMut(Tid) -> bool) -> Result<Followed, Errno> {
        trace::follow_exec(self, id, tid, check)
    }
}
