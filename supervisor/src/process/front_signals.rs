//! The signals that the front holds, to pass them on to the command.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};

/// What is passed on to the command: every signal with a name that would end the front.
const PASSED: [Signal; 14] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGCONT,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGIO,
    Signal::SIGPWR,
    Signal::SIGSTKFLT,
    Signal::SIGXCPU,
];
/// What concerns the terminal. Without one of its own SIGTSTP stops the front with its group, as a shell expects.
const OF_TERMINAL: [Signal; 2] = [Signal::SIGTSTP, Signal::SIGWINCH];

/// Whether a front with a terminal holds this signal.
pub fn holds(signal: Signal) -> bool {
    PASSED.contains(&signal) || OF_TERMINAL.contains(&signal)
}

/// Holds the signals that are to be passed on.
pub fn block_signals(terminal: bool) -> SigSet {
    let of_terminal = OF_TERMINAL.into_iter().filter(|_| terminal);
    let set = SigSet::from_iter(PASSED.into_iter().chain(of_terminal));
    // Without it signals act on the front alone: worse manners, no less guard.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None);
    set
}
