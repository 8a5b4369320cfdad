//! What the supervisor makes of its own process, so that neither the operator's terminal nor the tree reaches it.

use std::sync::Arc;

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::detach_stdio;
use crate::kernel::limits;
use crate::kernel::requests::{Disposition, dispose};
use crate::landlock::LEFT_TO_OTHERS;
use crate::worker::Priorities;

/// The signals that neither end nor stop the supervisor.
const IGNORED: [Signal; 6] =
    [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGPIPE, Signal::SIGXFSZ, Signal::SIGTSTP];

/// Leaves the operator's session, drops capabilities, and becomes unreadable to the tree. Returns what sets the
/// workers' priorities.
pub fn become_supervisor() -> std::io::Result<Arc<Priorities>> {
    rustix::process::setsid()?;
    // The reaper adopts the tree's orphans as long as it lives. After that, this process adopts them.
    nix::sys::prctl::set_child_subreaper(true)?;
    for signal in Signal::iterator().filter(|signal| ![Signal::SIGKILL, Signal::SIGSTOP].contains(signal)) {
        // Ignoring a signal discards it if it is pending: the front passes on what the operator's job was
        // sent.
        dispose(signal, Disposition::Ignore)?;
        if !IGNORED.contains(&signal) {
            dispose(signal, Disposition::Default)?;
        }
    }
    // Each stop of a traced process sends SIGCHLD. Nothing here waits for it, and it would wake this thread.
    // SIGHUP is read from a descriptor: a thread that did not block SIGHUP would take the signal away from there.
    let blocked = SigSet::from_iter(LEFT_TO_OTHERS);
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blocked), None);
    detach_stdio([true, true, false]);
    // Only one thread keeps the capability. It sets priorities and does nothing else.
    let has_capability = guard_shim::keep_priority_capability()?;
    let priorities = Priorities::start(has_capability);
    guard_shim::clear_capabilities()?;
    nix::sys::prctl::set_dumpable(false)?;
    // The supervisor briefly holds descriptors of every caller.
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    // A call that cannot be logged is denied, so the limit for the tree's files must not apply to the log.
    let limit = getrlimit(Resource::Fsize);
    let _ = setrlimit(Resource::Fsize, Rlimit { current: limit.maximum, ..limit });
    limits::forbid_core();
    Ok(priorities)
}
