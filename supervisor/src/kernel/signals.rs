//! Reads signals from `/proc/TID/status`, mainly whether one is pending for a held caller.
//!
//! The kernel does not interrupt a held call. So a caller that waits in open(2) gets no signal: neither one with a
//! handler, nor one that stops, nor one that kills with a core dump (a signal that kills without a core dump does end
//! the call).

use guard_openclaw::peer::proc::{Fields, Tid, fields};

/// Whether the thread with this number is the leader of its process. False if unknown.
pub fn is_leader(tid: Tid) -> bool {
    const NOTHING: i32 = 0;
    // SAFETY: tgkill takes three integers and touches no memory of ours; with 0 no signal is sent.
    unsafe { libc::syscall(libc::SYS_tgkill, tid, tid, NOTHING) == 0 }
}

/// Sends a signal to a thread of the process. Nothing happens if there is no such thread any more.
pub fn send(process: Tid, tid: Tid, signal: i32) {
    // SAFETY: tgkill takes three integers and touches no memory of ours.
    let _ = unsafe { libc::syscall(libc::SYS_tgkill, process, tid, signal) };
}

/// The signals in a thread's `/proc/TID/status`, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Signals {
    group: Tid,
    /// Pending for this thread.
    own: u64,
    /// Pending for the process.
    shared: u64,
    blocked: u64,
    ignored: u64,
    /// Whether a signal has stopped it.
    stopped: bool,
    /// Whether it is the only thread of its process.
    is_alone: bool,
}

fn parse(fields: &Fields<'_>) -> Option<Signals> {
    Some(Signals {
        group: fields.number("Tgid", 10)? as Tid,
        own: fields.number("SigPnd", 16)?,
        shared: fields.number("ShdPnd", 16)?,
        blocked: fields.number("SigBlk", 16)?,
        ignored: fields.number("SigIgn", 16)?,
        stopped: fields.text("State")?.starts_with(b"T"),
        is_alone: fields.number("Threads", 10)? == 1,
    })
}

fn read(tid: Tid) -> Option<Signals> {
    fields(tid, parse).ok()?
}

fn of_this_process() -> Option<Signals> {
    read(rustix::process::getpid().as_raw_nonzero().get())
}

/// Whether a signal that this process blocks is pending.
pub fn is_pending(signal: i32) -> bool {
    of_this_process().is_some_and(|signals| has(signals.own | signals.shared, signal))
}

/// The signals that this process ignores.
pub fn ignored() -> impl Iterator<Item = i32> {
    let mask = of_this_process().map_or(0, |signals| signals.ignored);
    (1..=64).filter(move |&signal| has(mask, signal))
}

fn has(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}

/// Whether a signal would by now have woken the call in the kernel. Ignored signals do not become pending.
pub fn is_signalled(tid: Tid) -> bool {
    let Some(signals) = read(tid) else { return false };
    // A stop shows in any other thread that is not held. Only all threads together show which one takes a signal to the
    // process.
    let most = if signals.shared == 0 { MAX_OTHERS } else { usize::MAX };
    let others = || {
        if signals.is_alone {
            return Vec::new();
        }
        let threads = std::fs::read_dir(format!("/proc/{}/task", signals.group)).into_iter().flatten();
        let numbers = threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse::<Tid>().ok());
        numbers.filter(|&other| other != tid).take(most).filter_map(read).collect()
    };
    takes(tid, signals, others)
}

/// In how many other threads a stop is looked for.
const MAX_OTHERS: usize = 8;

/// Whether this thread certainly takes the signal. A thread that is interrupted without finding a signal would see the
/// errno of a restart, so doubtful cases do not count.
fn takes(tid: Tid, signals: Signals, others: impl FnOnce() -> Vec<Signals>) -> bool {
    let shared = signals.shared & !signals.blocked;
    // A signal to the process goes to its leader unless that blocks it (kernel/signal.c, complete_signal).
    if signals.own & !signals.blocked != 0 || (tid == signals.group && shared != 0) {
        return true;
    }
    let others = others();
    // If another thread does not block the signal, it may have been chosen. A stop applies to all threads of a process.
    others.iter().any(|other| other.stopped)
        || others.iter().fold(shared, |left, other| left & other.blocked) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNAL: u64 = 1 << 9;

    fn thread(own: u64, shared: u64, blocked: u64) -> Signals {
        Signals { group: 3, own, shared, blocked, ..Signals::default() }
    }

    #[test]
    fn own_status_reads() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let signals = read(tid).unwrap();
        assert_eq!(signals.group, rustix::process::getpid().as_raw_nonzero().get());
        assert!(!signals.stopped);
    }

    #[test]
    fn a_blocked_signal_does_not_count() {
        assert!(takes(3, thread(0, SIGNAL, 0), Vec::new));
        assert!(takes(4, thread(SIGNAL, 0, 0), Vec::new));
        assert!(!takes(3, thread(0, SIGNAL, SIGNAL), Vec::new));
        assert!(!takes(3, thread(SIGNAL, 0, SIGNAL), Vec::new));
    }

    #[test]
    fn a_signal_of_the_process_is_a_threads_when_no_other_takes_it() {
        let waits = thread(0, SIGNAL, 0);
        assert!(takes(4, waits, || vec![thread(0, SIGNAL, SIGNAL)]));
        assert!(!takes(4, waits, || vec![thread(0, SIGNAL, SIGNAL), thread(0, SIGNAL, 0)]));
    }

    #[test]
    fn a_stop_is_for_every_thread() {
        let stopped = Signals { stopped: true, ..thread(0, 0, 0) };
        assert!(takes(3, thread(0, 0, 0), || vec![stopped]));
        assert!(!takes(3, thread(0, 0, 0), || vec![thread(0, 0, 0)]));
    }

    #[test]
    fn a_status_without_signals_is_refused() {
        assert_eq!(parse(&Fields(b"State:\tS (sleeping)\nTgid:\t3\nSigPnd:\t0\n")), None);
    }
}
