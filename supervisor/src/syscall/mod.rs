//! The broker: the supervisor performs the call on what it checked, and the caller gets the result.
//!
//! Each handler reads the caller's arguments once, resolves them to descriptors of its own, asks the policy about
//! those, and acts on those. Later changes to the caller's memory or to names in the file system cannot change what is
//! done.

mod arrival;
mod attributes;
mod git_config;
#[cfg(test)]
mod hot;
mod ioctl;
mod mmap;
mod namespace;
pub(crate) mod number;
#[cfg(target_arch = "x86_64")]
mod older;
mod open;
pub mod open_how;
mod outside;
mod own_copy;
mod passthrough;
mod plain_path;
mod posix_acl;
mod process;
mod rename;
mod replacement;
mod request;
mod set_id;
pub mod socket;
#[cfg(test)]
mod tests;
mod truncate;

use guard_shim::failpoints::{Layer, is_layer_off};
use rustix::fs::Mode;
use rustix::io::Errno;

pub use request::Request;

use crate::exec;
use crate::inflight;
use crate::reply::{ContinueReason, HandlerResult, Reply};

/// Performs the held call, or refuses it.
///
/// # Errors
/// The errno that the caller sees: the kernel's if the kernel would refuse the call itself, EACCES if the policy
/// refuses it, ENOSYS for a held call that the broker does not know. setxattrat, removexattrat and file_setattr are among
/// these: every caller has a fallback for older kernels.
pub fn handle(request: &Request<'_, '_>) -> HandlerResult {
    let call = request.caller.call();
    let int = |index| request.caller.int(index);
    let word = |index| request.caller.word(index);
    match call.number {
        libc::SYS_execve => exec::execve(request),
        libc::SYS_execveat => exec::execveat(request),

        libc::SYS_openat => open::openat(request, int(0), word(1), int(2), int(3)),
        libc::SYS_openat2 => open::openat2(request, int(0), word(1), word(2), word(3)),
        libc::SYS_truncate => truncate::truncate(request, word(0), word(1) as i64),

        libc::SYS_mkdirat => namespace::mkdir(request, int(0), word(1), int(2)),
        libc::SYS_mknodat => namespace::mknod(request, int(0), word(1), int(2), word(3)),
        libc::SYS_symlinkat => namespace::symlink(request, word(0), int(1), word(2)),
        libc::SYS_unlinkat => namespace::unlink(request, int(0), word(1), int(2)),

        libc::SYS_renameat => rename::rename(request, (int(0), word(1)), (int(2), word(3)), 0),
        libc::SYS_renameat2 => rename::rename(request, (int(0), word(1)), (int(2), word(3)), int(4) as u32),
        libc::SYS_linkat => rename::link(request, (int(0), word(1)), (int(2), word(3)), int(4)),

        libc::SYS_fchmodat => attributes::chmod(request, int(0), word(1), int(2), 0),
        number::FCHMODAT2 => attributes::chmod(request, int(0), word(1), int(2), int(3)),
        libc::SYS_fchmod => attributes::fchmod(request, int(0), int(1)),
        libc::SYS_fchownat => attributes::chown(request, int(0), word(1), (int(2), int(3)), int(4)),
        libc::SYS_fchown => attributes::fchown(request, int(0), (int(1), int(2))),
        libc::SYS_utimensat => attributes::utimensat(request, int(0), word(1), word(2), int(3)),
        libc::SYS_setxattr => attributes::setxattr(request, true),
        libc::SYS_lsetxattr => attributes::setxattr(request, false),
        libc::SYS_fsetxattr => attributes::fsetxattr(request),
        libc::SYS_removexattr => attributes::removexattr(request, true),
        libc::SYS_lremovexattr => attributes::removexattr(request, false),
        libc::SYS_fremovexattr => attributes::fremovexattr(request),

        libc::SYS_socket => socket::socket(request, word(1)),
        libc::SYS_connect => socket::connect(request, int(0), word(1), word(2)),
        libc::SYS_bind => socket::bind(request, int(0), word(1), word(2)),
        libc::SYS_sendto => socket::sendto(request, int(0), (word(1), word(2)), int(3), (word(4), word(5))),
        libc::SYS_sendmsg => socket::sendmsg(request, int(0), word(1), int(2)),
        libc::SYS_sendmmsg => socket::sendmmsg(request, int(0), word(1), int(2) as u32, int(3)),

        libc::SYS_ioctl => ioctl::ioctl(request, int(0), word(1) as u32, word(2)),
        libc::SYS_fcntl => match int(1) {
            libc::F_SETOWN => ioctl::set_owner(request, int(2)),
            F_SETOWN_EX => ioctl::set_owner_in_memory(request, int(0), word(2)),
            // The argument is a range to lock: whatever it becomes meanwhile, it gives no access.
            libc::F_OFD_SETLK | libc::F_OFD_SETLKW => locked(ContinueReason::NoAccess),
            libc::F_SETLEASE => locked(ContinueReason::Registers),
            _ => Err(Errno::INVAL),
        },
        libc::SYS_flock => locked(ContinueReason::Registers),
        libc::SYS_inotify_init1 => watched(),
        libc::SYS_mmap => mmap::mmap(request, int(4)),
        libc::SYS_mprotect | libc::SYS_pkey_mprotect => mmap::mprotect(request, word(0), word(1)),

        libc::SYS_kill | libc::SYS_tkill | libc::SYS_rt_sigqueueinfo => process::signal(request, int(0)),
        libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo => process::signal(request, int(0)),
        libc::SYS_ptrace => process::trace(request),
        libc::SYS_pidfd_send_signal => process::signal_by_descriptor(request, int(0)),
        libc::SYS_setrlimit => process::limit_core(request, 0, word(1), 0),
        libc::SYS_prlimit64 if int(1) == libc::RLIMIT_CORE as i32 => {
            process::limit_core(request, int(0), word(2), word(3))
        }
        libc::SYS_prlimit64
        | libc::SYS_sched_setaffinity
        | libc::SYS_sched_setscheduler
        | libc::SYS_sched_setparam
        | libc::SYS_sched_setattr
        | libc::SYS_migrate_pages
        | libc::SYS_move_pages => process::adjust(request, int(0)),
        libc::SYS_setpriority => process::adjust_group(request, int(0) == libc::PRIO_PROCESS as i32, int(1)),
        libc::SYS_ioprio_set => process::adjust_group(request, int(0) == IOPRIO_WHO_PROCESS, int(1)),

        #[cfg(target_arch = "x86_64")]
        _ => older::handle(request),
        #[cfg(not(target_arch = "x86_64"))]
        _ => Err(Errno::NOSYS),
    }
}

/// Lets the kernel make an inotify descriptor.
fn watched() -> HandlerResult {
    inflight::watch();
    Ok(Reply::Continue(ContinueReason::Registers))
}

/// Lets the kernel take a lock that belongs to the open file. First waits until the supervisor has no copy left of any
/// file it handed over: otherwise the lock would outlive the caller's last descriptor.
fn locked(why: ContinueReason) -> HandlerResult {
    inflight::wait_for_all();
    Ok(Reply::Continue(why))
}

/// fcntl(2).
const F_SETOWN_EX: i32 = 15;
/// ioprio_set(2).
const IOPRIO_WHO_PROCESS: i32 = 1;

impl Request<'_, '_> {
    /// Performs what was judged. EINTR becomes an interrupted call.
    fn perform(&self, act: impl FnOnce() -> Result<(), Errno>) -> HandlerResult {
        if is_layer_off(Layer::Broker) {
            return Ok(Reply::Continue(ContinueReason::BrokerOff));
        }
        match act() {
            Ok(()) => Ok(Reply::Value(0)),
            Err(Errno::INTR) => Ok(Reply::Interrupted),
            Err(error) => Err(error),
        }
    }

    /// EMFILE if the caller has no free descriptor.
    fn need_room(&self) -> Result<(), Errno> {
        if self.caller.kernel().has_room(self.caller.tid()) { Ok(()) } else { Err(Errno::MFILE) }
    }

    /// Sets this worker's umask to the caller's, so that what it creates gets the right mode. Returns it.
    fn adopt_umask(&self) -> Result<Mode, Errno> {
        let umask = Mode::from_raw_mode(self.caller.status()?.umask);
        rustix::process::umask(umask);
        Ok(umask)
    }
}
