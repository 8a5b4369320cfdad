//! `limits`: what the kernel is told before the command starts, and the thread that watches the rest and ends the session.
//!
//! RLIMIT_AS is not used for memory: it counts reserved addresses, of which node reserves ten gigabytes for each module
//! of WebAssembly. So the memory in use is counted, of all processes of the session together.
//!
//! Why: docs/decisions.md, "Limits are watched, not set with RLIMIT_AS."

use std::collections::HashMap;
use std::time::{Duration, Instant};

use guard_openclaw::peer::proc::Tid;
use guard_openclaw::peer::process_tree::Tree;
use guard_policy::Limits;
use procfs::ProcError;
use procfs::process::{Process, Stat, all_processes};
use rustix::io::Errno;

use super::ending;
use crate::audit::report::Reporter;
use crate::audit::{SessionChange, SessionEvent};
use crate::panics::restart_on_panic;

/// The time between two looks at the session's processes.
const INTERVAL: Duration = Duration::from_millis(100);
/// How many looks in a row may fail before the session is ended: a limit that cannot be measured is not in force.
const MAX_FAILURES: usize = 100;
/// How many processes and threads of its user a session may start beyond `limits.pids` before the kernel refuses more:
/// room for what the user starts outside. The kernel's limit counts all processes of the user, and does not apply to
/// root.
const ROOM: u64 = 1024;

/// RLIMIT_NPROC for the command: a bound for what starts between two looks. `None` without `limits.pids`.
pub fn process_limit(limits: &Limits) -> Option<u64> {
    let pids = limits.pids?;
    let user = rustix::process::getuid().as_raw();
    let own = all_processes().ok()?.flatten().filter(|process| process.uid().is_ok_and(|uid| uid == user));
    let threads = own.filter_map(|process| process.stat().ok()).map(|stat| count(stat.num_threads));
    Some(threads.sum::<u64>().saturating_add(pids).saturating_add(ROOM))
}

/// Starts the thread that ends the session at a limit, if the session has a limit that the kernel does not keep.
/// `kill_all` kills its processes for as long as there are any.
///
/// # Errors
/// If no thread can be started.
pub fn watch(
    limits: Limits,
    tree: Tree,
    reporter: Reporter,
    kill_all: impl Fn() + Send + 'static,
) -> std::io::Result<()> {
    if (Limits { open_files: None, ..limits }).is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    let faults = reporter.clone();
    let work = move || {
        restart_on_panic(
            || watch_until_end(&limits, tree, &reporter, &kill_all, started),
            |fault| faults.fault(fault, None),
        );
    };
    std::thread::Builder::new().name("limits".into()).spawn(work).map(drop)
}

fn watch_until_end(limits: &Limits, tree: Tree, reporter: &Reporter, kill_all: &impl Fn(), started: Instant) {
    let due = limits.seconds.and_then(|seconds| started.checked_add(Duration::from_secs(seconds)));
    let counts = limits.memory.is_some() || limits.pids.is_some();
    let mut failures = 0;
    loop {
        if due.is_some_and(|due| Instant::now() >= due) {
            let seconds = limits.seconds.unwrap_or_default();
            report(reporter, "seconds", format!("limits.seconds is {seconds}, and they are over"));
            ending::end_foreign_members(&tree);
            kill_all();
        }
        let over = match counts.then(|| Usage::measure(&tree)) {
            None => None,
            Some(Some(usage)) => {
                failures = 0;
                // Memory that processes share is divided among those that are left. While some end, the others count
                // for more, so measure again.
                let over = |usage: &Usage| usage.over(limits, Usage::proportional);
                over(&usage).and_then(|first| Usage::measure(&tree).map_or(Some(first), |usage| over(&usage)))
            }
            Some(None) => {
                failures += 1;
                let text = "limits: the processes cannot be counted any more";
                (failures > MAX_FAILURES).then(|| ("pids", text.to_owned()))
            }
        };
        if let Some((limit, text)) = over {
            report(reporter, limit, text);
            // SIGTERM is not sent first: a session above its limit would take more until it is killed.
            kill_all();
        }
        let until_due = due.map_or(Duration::MAX, |due| due.saturating_duration_since(Instant::now()));
        std::thread::sleep(if counts { INTERVAL.min(until_due) } else { until_due });
    }
}

fn report(reporter: &Reporter, limit: &'static str, text: String) {
    reporter.problem(format!("openclaw-guard: the session is ended: {text}"));
    reporter.session_changed(SessionChange { event: SessionEvent::Limit { limit, text }, by: None });
}

/// What the processes of a session take.
#[derive(Debug, Default, PartialEq, Eq)]
struct Usage {
    /// Processes and threads.
    threads: u64,
    /// Each process with its resident memory in bytes: more than its own, since some is shared.
    resident: Vec<(Tid, u64)>,
}

impl Usage {
    /// `None` if the processes cannot be read.
    fn measure(tree: &Tree) -> Option<Usage> {
        let page = rustix::param::page_size() as u64;
        let all = all_processes().ok()?.filter_map(|process| process.ok()?.stat().ok());
        let all: HashMap<Tid, Stat> = all.map(|stat| (stat.pid, stat)).collect();
        let mut usage = Usage::default();
        for stat in all.values().filter(|stat| is_member(tree, &all, stat)) {
            usage.threads += count(stat.num_threads);
            usage.resident.push((stat.pid, stat.rss.saturating_mul(page)));
        }
        Some(usage)
    }

    /// The limit that is exceeded, and a sentence. If the plain sum of the memory is too much, `proportional` counts
    /// shared memory only once.
    fn over(&self, limits: &Limits, proportional: impl Fn(&Usage) -> u64) -> Option<(&'static str, String)> {
        if let Some(pids) = limits.pids.filter(|pids| self.threads > *pids) {
            let text = format!("limits.pids is {pids}, and it has {} processes and threads", self.threads);
            return Some(("pids", text));
        }
        let memory = limits.memory?;
        let resident = self.resident.iter().map(|(_, bytes)| bytes).sum::<u64>();
        // Shared memory counts once. To find that out costs more, so it is done only if the plain sum is too much.
        let proportional = (resident > memory).then(|| proportional(self));
        let bytes = proportional.filter(|bytes| *bytes > memory)?;
        let text = format!("limits.memory is {} MiB, and it has {} MiB in memory", memory >> 20, bytes >> 20);
        Some(("memory", text))
    }

    /// The memory of all processes together, in bytes.
    fn proportional(&self) -> u64 {
        let own = |(pid, resident): &(Tid, u64)| match Process::new(*pid).and_then(|own| own.smaps_rollup()) {
            Ok(rollup) => {
                let entry = rollup.memory_map_rollup.iter().next();
                entry.and_then(|entry| entry.extension.map.get("Pss").copied()).unwrap_or(*resident)
            }
            Err(error) if has_ended(&error) => 0,
            // If a process may not be read, all of its memory counts.
            Err(_) => *resident,
        };
        self.resident.iter().map(own).sum()
    }
}

fn is_member(tree: &Tree, all: &HashMap<Tid, Stat>, stat: &Stat) -> bool {
    let mut at = stat;
    // No chain is longer than there are processes.
    for _ in 0..all.len() {
        if tree.is_guard(at.pid) {
            return false;
        }
        if at.ppid == tree.reaper || Some(at.ppid) == tree.leader {
            return true;
        }
        let Some(above) = all.get(&at.ppid) else { return false };
        at = above;
    }
    false
}

/// Whether a process has no memory any more. A zombie still has its file in /proc (ESRCH; Linux 6.1,
/// fs/proc/task_mmu.c).
fn has_ended(error: &ProcError) -> bool {
    match error {
        ProcError::NotFound(_) => true,
        ProcError::Io(error, _) => error.raw_os_error() == Some(Errno::SRCH.raw_os_error()),
        _ => false,
    }
}

fn count(threads: i64) -> u64 {
    u64::try_from(threads).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(threads: u64, resident: &[u64]) -> Usage {
        // No process has the number 0.
        Usage { threads, resident: resident.iter().map(|bytes| (0, *bytes)).collect() }
    }

    #[test]
    fn a_limit_is_exceeded_by_more_than_it() {
        let limits = Limits { memory: Some(3 << 20), pids: Some(4), ..Limits::default() };
        let over = |usage: Usage, proportional| usage.over(&limits, |_| proportional).map(|over| over.0);
        assert_eq!(over(usage(4, &[3 << 20]), u64::MAX), None);
        assert_eq!(over(usage(5, &[]), 0), Some("pids"));
        assert_eq!(over(usage(1, &[2 << 20, 2 << 20]), 4 << 20), Some("memory"));
        // The processes share some memory.
        assert_eq!(over(usage(1, &[2 << 20, 2 << 20]), 3 << 20), None);
        assert_eq!(usage(1 << 40, &[u64::MAX >> 1]).over(&Limits::default(), |_| u64::MAX), None);
    }

    /// A process that exits while the others are read must not count as a whole: all of its memory could be shared.
    #[test]
    fn what_has_ended_has_no_memory() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Tid::try_from(child.id()).unwrap();
        let usage = Usage { threads: 1, resident: vec![(pid, 1 << 40)] };
        // The process is a zombie first, and then gone.
        while Process::new(pid).unwrap().stat().unwrap().state != 'Z' {
            std::thread::yield_now();
        }
        assert_eq!(usage.proportional(), 0);
        child.wait().unwrap();
        assert_eq!(usage.proportional(), 0);
    }

    #[test]
    fn this_process_is_counted_as_a_member_of_its_parents_tree() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let above = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        let tree = Tree { reaper: above, supervisor: 0, front: 0, leader: None };
        let usage = Usage::measure(&tree).unwrap();
        let (_, resident) = usage.resident.iter().find(|(pid, _)| *pid == own).unwrap();
        assert!(*resident > 1 << 20 && usage.threads >= 1, "{usage:?}");
        assert!(usage.proportional() > 1 << 18);
        // The guard's own processes are not counted.
        assert!(
            Usage::measure(&Tree { supervisor: own, ..tree })
                .unwrap()
                .resident
                .iter()
                .all(|(pid, _)| *pid != own)
        );
    }
}
