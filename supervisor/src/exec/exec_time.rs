//! The time at which a program replaced another one.

use guard_openclaw::peer::proc::Tid;

/// The time at which a program replaced another one in its process. The children of the replaced program go on.
#[derive(Clone, Debug)]
pub(super) struct ExecTime {
    /// In clock ticks since boot, as field 22 of proc_pid_stat(5).
    at: u64,
    /// The process's children at that time, if the kernel lists them (CONFIG_PROC_CHILDREN).
    before: Option<Vec<Tid>>,
}

impl ExecTime {
    /// Reads the current time; the process is stopped.
    pub(super) fn read(process: Tid) -> ExecTime {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let ticks = procfs::ticks_per_second();
        let at = now.tv_sec as u64 * ticks + now.tv_nsec as u64 * ticks / 1_000_000_000;
        let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let pids = |text: String| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        ExecTime { at, before: children.ok().map(pids) }
    }

    /// Whether the child was created after this time.
    pub(super) fn is_before(&self, child: Tid, started: u64) -> bool {
        let is_new = || self.before.as_ref().is_some_and(|before| !before.contains(&child));
        started > self.at || (started == self.at && is_new())
    }
}
