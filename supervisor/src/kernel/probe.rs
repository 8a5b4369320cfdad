//! Probes what the kernel lets this process do, by doing it. What would change this process is done in a child.
//!
//! Used by `doctor`. The kernel's version tells too little: distributions backport features, and containers and other
//! guards remove them.

use std::os::fd::AsFd;

use guard_openclaw::peer::proc::Tid;
use guard_shim::filter;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::fork::{self, Side};
use super::listener::Listener;
use super::schedule::{self, THIS_THREAD};
use super::{Kernel, descriptors, errno, limits, memory, requests};

/// Success, or the kernel's error.
pub type Probed = Result<(), Errno>;

/// Whether seccomp(2) supports this action (`SECCOMP_RET_…`).
///
/// # Errors
/// EOPNOTSUPP if it does not.
pub fn action(action: u32) -> Probed {
    let operation = libc::SECCOMP_GET_ACTION_AVAIL;
    // SAFETY: the kernel reads four bytes at the pointer, which is a live u32.
    errno::check(unsafe { libc::syscall(libc::SYS_seccomp, operation, 0, &raw const action) })
}

/// Whether notifications and replies have the sizes that the guard was built for.
///
/// # Errors
/// EOPNOTSUPP if they differ, else the kernel's.
pub fn sizes() -> Probed {
    let mut sizes = libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    let operation = libc::SECCOMP_GET_NOTIF_SIZES;
    // SAFETY: the kernel fills the structure, which outlives the call.
    errno::check(unsafe { libc::syscall(libc::SYS_seccomp, operation, 0, &raw mut sizes) })?;
    let expected = [size_of::<libc::seccomp_notif>(), size_of::<libc::seccomp_notif_resp>()];
    let is_same = [sizes.seccomp_notif, sizes.seccomp_notif_resp].map(usize::from) == expected;
    if is_same { Ok(()) } else { Err(Errno::OPNOTSUPP) }
}

/// Whether a filter can be loaded with these flags (`SECCOMP_FILTER_FLAG_…`). No filter is passed, so none is loaded.
///
/// # Errors
/// EINVAL if the kernel does not know the flags.
pub fn flags(flags: libc::c_ulong) -> Probed {
    let operation = libc::SECCOMP_SET_MODE_FILTER;
    let nothing = std::ptr::null::<libc::sock_fprog>();
    // SAFETY: the pointer is null, which the kernel reports only after it has checked the flags.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, nothing) };
    match errno::check(result) {
        // The kernel went on to read the filter, so the flags were valid.
        Err(Errno::FAULT) => Ok(()),
        Ok(()) => Err(Errno::IO),
        other => other,
    }
}

/// The features of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listening {
    /// Installing a file in a held call's process (Linux 5.9).
    pub adds: Probed,
    /// Installing a file and replying in one step (5.14).
    pub sends: Probed,
    /// Replying on the caller's processor (6.6).
    pub wakes: Probed,
}

/// Why a listener is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoListener {
    /// No child could be forked to try it.
    NoChild(Errno),
    /// seccomp(2)'s error: EBUSY if an outer filter already has a listener.
    Refused(Errno),
}

/// Whether a listener can be created, and its features.
///
/// # Errors
/// Why a listener is unavailable.
pub fn listener() -> Result<Listening, NoListener> {
    let asked = fork::asked(|| {
        let set = nix::sys::prctl::set_no_new_privs().map_err(errno::from_nix);
        let listener = set.and_then(|()| filter::try_listener().map_err(errno::from_io));
        let listener = match listener {
            Ok(listener) => Listener::new(listener),
            Err(error) => return [number(Err(error)), 0, 0, 0],
        };
        let adds = |reply| {
            let (any, _) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            // No call is held, which the kernel reports after all other checks.
            match listener.install(0, any.as_fd(), true, reply) {
                Err(Errno::NOENT) => Ok(()),
                Err(error) => Err(error),
                Ok(_) => Err(Errno::IO),
            }
        };
        [number(Ok(())), number(adds(false)), number(adds(true)), number(listener.wake_in_place())]
    });
    let [got, adds, sends, wakes] = asked.map_err(NoListener::NoChild)?;
    probed(got).map_err(NoListener::Refused)?;
    Ok(Listening { adds: probed(adds), sends: probed(sends), wakes: probed(wakes) })
}

/// Why workers get no real-time priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRealTime {
    /// The operator has chosen a priority for this process, for instance by nice(1).
    Chosen,
    /// The limit is 0, and there is no CAP_SYS_NICE.
    Limit,
    /// The kernel refuses it although the limit or the capability allows it: EPERM in a control group without
    /// real-time, or in a container.
    Refused(Errno),
    /// No child could be forked to try it.
    NoChild(Errno),
}

/// Whether a supervisor that this process starts could give its workers a real-time priority.
///
/// # Errors
/// Why it could not.
pub fn real_time() -> Result<(), NoRealTime> {
    if !schedule::is_default() {
        return Err(NoRealTime::Chosen);
    }
    let asked = fork::asked(|| {
        let has_capability = guard_shim::keep_priority_capability().unwrap_or(false);
        let may = has_capability || limits::allow_real_time();
        [i32::from(may), number(schedule::raise(THIS_THREAD))]
    });
    let [may, raised] = asked.map_err(NoRealTime::NoChild)?;
    if may == 0 {
        return Err(NoRealTime::Limit);
    }
    probed(raised).map_err(NoRealTime::Refused)
}

/// What this process may do to another process of the same user that descends from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Others {
    /// Tracing it, for the check after an exec.
    pub trace: Probed,
    /// Reading its memory, for the arguments of its calls.
    pub memory: Probed,
    /// Duplicating its descriptors.
    pub descriptors: Probed,
}

/// Probes this with a child that does nothing.
///
/// # Errors
/// The kernel's, if no child can be forked.
pub fn others() -> Result<Others, Errno> {
    static TEXT: [u8; 8] = *b"a child\n";
    let (hold, held) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map(|(r, w)| (w, r))?;
    let child = match fork::split()? {
        Side::Child => {
            drop(hold);
            // Returns when the parent closes its end, or ends.
            let _ = rustix::io::read(&held, &mut [0; 1]);
            fork::quit();
        }
        Side::Parent(child) => child,
    };
    let others = Others {
        memory: reads(child.as_raw(), &TEXT),
        descriptors: descriptors::duplicate(child.as_raw(), 0)
            .map(drop)
            // The child may have no standard input, like this process.
            .or_else(|error| if error == Errno::BADF { Ok(()) } else { Err(error) }),
        trace: trace(child),
    };
    // The child is ours, and nobody has waited for it.
    let _ = nix::sys::signal::kill(child, Signal::SIGKILL);
    let _ = waitpid(child, None);
    Ok(others)
}

fn reads(child: Tid, text: &'static [u8; 8]) -> Probed {
    let mut read = [0; 8];
    let length = memory::read(child, text.as_ptr() as u64, &mut read)?;
    if read[..length] == text[..] { Ok(()) } else { Err(Errno::IO) }
}

fn trace(child: Pid) -> Probed {
    let options = ptrace::Options::PTRACE_O_TRACEEXEC | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::seize(child, options).map_err(errno::from_nix)
}

/// Whether a single mapping can be queried (PROCMAP_QUERY, Linux 6.11).
///
/// # Errors
/// ENOTTY if it cannot.
pub fn mapping() -> Probed {
    static HERE: u8 = 0;
    let maps = rustix::fs::open("/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    requests::mapping(maps.as_fd(), (&raw const HERE) as u64).map(drop)
}

/// Whether a path can be opened without following links (openat2(2)), which some containers refuse.
///
/// # Errors
/// The kernel's.
pub fn openat2() -> Probed {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, "/", flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).map(drop)
}

fn number(probed: Probed) -> i32 {
    probed.map_or_else(Errno::raw_os_error, |()| 0)
}

fn probed(number: i32) -> Probed {
    if number == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(number)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_feature_is_reported_as_missing() {
        assert_eq!(action(libc::SECCOMP_RET_ALLOW), Ok(()));
        assert_eq!(action(0x1234_0000), Err(Errno::OPNOTSUPP));
        assert_eq!(flags(1 << 30), Err(Errno::INVAL));
        assert_eq!(flags(libc::SECCOMP_FILTER_FLAG_LOG), Ok(()));
    }

    /// A process with several threads cannot fork a child.
    #[test]
    fn no_child_is_forked_where_there_are_threads() {
        let (go, stays) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stays.recv());
        assert_eq!(listener(), Err(NoListener::NoChild(Errno::BUSY)));
        drop(go);
        assert!(other.join().unwrap().is_err());
    }
}
