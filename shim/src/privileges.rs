//! What the child gives up for itself and for all that it will start: limits, signals, privileges, capabilities.

use std::io;

use caps::CapSet;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};

/// The limit on core files with which there are none, and with which no program of core_pattern(5) is started for one:
/// with 0 the kernel still starts that, outside of the tree (fs/coredump.c).
pub const NO_CORE: u64 = 1;

/// No core dumps, which would hold what the tree has read; and the number of descriptors as the operator had it.
pub(crate) fn set_limits((soft, hard): (u64, u64)) -> io::Result<()> {
    // Where the operator has forbidden cores for good, no limit can be raised to this.
    setrlimit(Resource::RLIMIT_CORE, NO_CORE, NO_CORE).or_else(|_| setrlimit(Resource::RLIMIT_CORE, 0, 0))?;
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    Ok(())
}

/// Default dispositions but for the signals to ignore, and none blocked.
pub(crate) fn reset_signals(ignored: &[i32]) -> io::Result<()> {
    for signal in (1..=HIGHEST_SIGNAL).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
        let ignore = ignored.contains(&signal);
        set_disposition(signal, if ignore { libc::SIG_IGN } else { libc::SIG_DFL })?;
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(())
}

/// Keeps the kernel from stopping a background process that changes its terminal.
pub(crate) fn block_terminal_output_signal() -> io::Result<()> {
    let set = SigSet::from_iter([nix::sys::signal::Signal::SIGTTOU]);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None)?;
    Ok(())
}

const HIGHEST_SIGNAL: i32 = 64;

/// Past the C library, which keeps two signals to itself: those may come ignored from the guard's own caller too.
fn set_disposition(signal: i32, disposition: libc::sighandler_t) -> io::Result<()> {
    // The kernel's struct: handler, flags, restorer, mask.
    let action = [disposition as u64, 0, 0, 0];
    let nothing = std::ptr::null_mut::<u64>();
    let mask = size_of::<u64>();
    // SAFETY: the kernel reads `action`, writes nothing, and neither disposition calls anything in this process.
    let set = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), nothing, mask) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// No exec gains a privilege any more. The filter and the floor of an ordinary user need it.
pub(crate) fn set_no_new_privileges() -> io::Result<()> {
    nix::sys::prctl::set_no_new_privs()?;
    Ok(())
}

/// Give up every capability, those that an exec could bring back included.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    drop_bounding_set()?;
    clear_capabilities()
}

/// Gives up the capabilities that this process has; an exec could bring them back.
///
/// # Errors
/// EPERM.
pub fn clear_capabilities() -> io::Result<()> {
    for set in [CapSet::Ambient, CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        caps::clear(None, set).map_err(|_| io::Error::from_raw_os_error(libc::EPERM))?;
    }
    Ok(())
}

/// Without CAP_SETPCAP the bounding set stays. no_new_privs makes that harmless.
fn drop_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: PR_CAPBSET_DROP takes a number and touches no memory.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } == 0 {
            continue;
        }
        match io::Error::last_os_error() {
            // The first number that this kernel does not know, or no permission.
            error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM)) => break,
            error => return Err(error),
        }
    }
    Ok(())
}
