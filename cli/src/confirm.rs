//! Asks for a yes on the operator's terminal.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};

use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};

/// Unblocks all signals. The front process blocks them while the command runs, and the command has ended by
/// now.
pub fn let_signals_through() {
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&SigSet::all()), None);
}

/// Asks on the terminal, even if standard input is something else. None without a terminal; an empty answer means no.
pub fn yes(question: &str) -> Option<bool> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    write!(terminal, "{question} [y/N] ").ok()?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
