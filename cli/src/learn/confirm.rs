//! A yes on the operator's terminal.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};

use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};

/// The front holds signals for the command; there is none any more.
pub fn let_signals_through() {
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&SigSet::all()), None);
}

/// Asks on the terminal, whatever standard input is. None where there is no terminal; without a word the answer is no.
pub fn yes(question: &str) -> Option<bool> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    write!(terminal, "{question} [y/N] ").ok()?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
