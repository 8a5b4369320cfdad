//! What the child gives up for itself and all its descendants: limits, signal dispositions, privileges, capabilities.

use std::io;

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};

/// The limit on core files, in bytes, that prevents both core files and the program of core_pattern(5). With a limit of
/// 0 the kernel would still start that program, outside the tree (fs/coredump.c).
pub const NO_CORE: u64 = 1;

/// Disables core dumps, which would contain what the tree has read, and sets the limits of descriptors and of
/// processes.
pub(crate) fn set_limits((soft, hard): (u64, u64), processes: Option<u64>) -> io::Result<()> {
    // If the operator's hard limit is 0, it cannot be raised.
    setrlimit(Resource::RLIMIT_CORE, NO_CORE, NO_CORE).or_else(|_| setrlimit(Resource::RLIMIT_CORE, 0, 0))?;
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    if let Some(processes) = processes {
        let most = processes.min(getrlimit(Resource::RLIMIT_NPROC)?.0);
        setrlimit(Resource::RLIMIT_NPROC, most, most)?;
    }
    Ok(())
}

/// Resets all signals to their defaults, except those to ignore, and unblocks all signals.
///
/// # Errors
/// The kernel's error.
pub fn reset_signals(ignored: &[i32]) -> io::Result<()> {
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

/// Bypasses the C library, which reserves two signals. The guard's own caller may have set those to be ignored.
fn set_disposition(signal: i32, disposition: libc::sighandler_t) -> io::Result<()> {
    // The kernel's `struct sigaction`: handler, flags, restorer, mask.
    let action = [disposition as u64, 0, 0, 0];
    let nothing = std::ptr::null_mut::<u64>();
    let mask = size_of::<u64>();
    // SAFETY: the kernel reads `action` and writes nothing, and neither disposition calls anything in this process.
    let set = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), nothing, mask) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Prevents every later exec from gaining privileges. An ordinary user needs this for the filter and the Landlock
/// domain.
pub(crate) fn set_no_new_privileges() -> io::Result<()> {
    nix::sys::prctl::set_no_new_privs()?;
    Ok(())
}

/// Gives up every capability, including those that an exec could restore.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    drop_bounding_set()?;
    clear_capabilities()
}

/// Clears the capabilities of this thread except CAP_SYS_NICE, which sets priorities. Returns whether it has that one.
///
/// # Errors
/// EPERM.
pub fn keep_priority_capability() -> io::Result<bool> {
    let denied = |_| io::Error::from_raw_os_error(libc::EPERM);
    let has = caps::has_cap(None, CapSet::Effective, Capability::CAP_SYS_NICE).map_err(denied)?;
    if has {
        let capabilities = CapsHashSet::from([Capability::CAP_SYS_NICE]);
        caps::clear(None, CapSet::Ambient).map_err(denied)?;
        for set in [CapSet::Effective, CapSet::Permitted] {
            caps::set(None, set, &capabilities).map_err(denied)?;
        }
        caps::clear(None, CapSet::Inheritable).map_err(denied)?;
    }
    Ok(has)
}

/// Clears the capabilities of this thread. An exec could restore them.
///
/// # Errors
/// EPERM.
pub fn clear_capabilities() -> io::Result<()> {
    for set in [CapSet::Ambient, CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        caps::clear(None, set).map_err(|_| io::Error::from_raw_os_error(libc::EPERM))?;
    }
    Ok(())
}

/// Clears the bounding set. Without CAP_SETPCAP it stays, which is harmless under no_new_privs.
fn drop_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: PR_CAPBSET_DROP takes a number and touches no memory.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } == 0 {
            continue;
        }
        match io::Error::last_os_error() {
            // The first number unknown to this kernel, or no permission.
            error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM)) => break,
            error => return Err(error),
        }
    }
    Ok(())
}
