//! The signals that the front blocks, to pass them on to the command.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};

/// The signals passed on to the command: those that would end the front, and SIGCONT.
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
/// The signals about the terminal. If the command has no terminal of its own, SIGTSTP stops the front with
/// its group, as a shell expects.
const OF_TERMINAL: [Signal; 2] = [Signal::SIGTSTP, Signal::SIGWINCH];

/// Returns whether a front with a terminal blocks this signal.
pub fn holds(signal: Signal) -> bool {
    PASSED.contains(&signal) || OF_TERMINAL.contains(&signal)
}

/// Blocks the signals that are passed on, with `terminal` also those about the terminal, and returns all of them.
pub fn block_signals(terminal: bool) -> SigSet {
    let of_terminal = OF_TERMINAL.into_iter().filter(|_| terminal);
    let set = SigSet::from_iter(PASSED.into_iter().chain(of_terminal));
    // If this fails, signals act on the front alone. That is inconvenient, but no less secure.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None);
    set
}
