//! Resource limits, of a caller and of this process.

use guard_openclaw::peer::proc::Tid;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal, setrlimit,
};

/// The caller's soft limit of a resource, `RLIMIT_*`.
pub fn limit(tid: Tid, resource: u32) -> Option<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let none = std::ptr::null::<libc::rlimit64>();
    // SAFETY: nothing is set; the kernel fills the structure, which outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_prlimit64, tid, resource, none, &raw mut limit) };
    (result == 0).then_some(limit.rlim_cur)
}

/// Sends SIGXFSZ to the process, if `is_still` confirms, while a pidfd is open, that it is the right process.
pub fn exceed_size(process: Tid, is_still: impl FnOnce() -> bool) {
    let Some(held) = Pid::from_raw(process).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return;
    };
    if is_still() {
        // The error is fine: a process that has ended needs no signal.
        let _ = pidfd_send_signal(held, Signal::XFSZ);
    }
}

/// Whether this process's limit allows a real-time priority, without any capability.
pub fn allow_real_time() -> bool {
    getrlimit(Resource::Rtprio).current.is_none_or(|highest| highest > 0)
}

/// Disables core dumps of this process, including the program in core_pattern(5).
pub fn forbid_core() {
    for limit in [guard_shim::NO_CORE, 0] {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        // Lowering a limit always works, and needs no privilege.
        if setrlimit(Resource::Core, limit).is_ok() {
            return;
        }
    }
}
