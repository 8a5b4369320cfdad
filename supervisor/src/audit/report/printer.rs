//! Prints lines on stderr. Repeats are counted, and floods are cut off.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use guard_shim::failpoints::{Fallible, fail_point};

use super::Message;

/// Repeats of a line within this time are counted instead of printed.
const FOLD_INTERVAL: Duration = Duration::from_secs(5);
/// The number of lines that may be printed at once.
const BURST: u32 = 100;
/// The time for one more line after a burst.
const LINE_INTERVAL: Duration = Duration::from_millis(100);

/// Prints lines.
pub struct Printer {
    quiet: Arc<AtomicBool>,
    /// The lines printed recently: when, and how often they were repeated.
    recent: HashMap<String, (Instant, usize)>,
    /// The number of lines that may be printed now.
    left: u32,
    /// When `left` grows by one.
    next: Instant,
    /// The number of lines dropped since the last one was printed.
    unprinted: usize,
}

impl Printer {
    /// Creates a printer that has printed nothing yet.
    pub fn new(quiet: Arc<AtomicBool>) -> Printer {
        Printer { quiet, recent: HashMap::new(), left: BURST, next: Instant::now(), unprinted: 0 }
    }

    /// Prints what it receives, until all senders are gone.
    pub fn run(&mut self, receiver: &Receiver<Box<Message>>) {
        loop {
            // The timeout sums up repeats even if no other line ever comes.
            let line = if self.recent.is_empty() {
                receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                receiver.recv_timeout(FOLD_INTERVAL)
            };
            match line.map(|line| *line) {
                // The waiting thread may have given up by the time the line is printed.
                Ok(Message::Print(line, _printed)) => {
                    if !self.is_quiet() && self.may_print(&line) {
                        self.print(line);
                    }
                }
                Ok(Message::Problem(line)) => self.print(line),
                Ok(Message::Fault(line)) => {
                    if self.may_print(&line) {
                        self.print(line);
                    }
                }
                Ok(Message::Notice(line)) => print(&line),
                Ok(Message::Flush(done)) => {
                    self.fold(Duration::ZERO);
                    self.sum_up();
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.fold(FOLD_INTERVAL);
                    self.sum_up();
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Returns whether a line may be printed. A caller could flood the terminal with denied calls; the audit
    /// log has or counts them all.
    fn may_print(&mut self, line: &str) -> bool {
        if self.recent.contains_key(line) {
            return true;
        }
        while self.left < BURST && self.next <= Instant::now() {
            self.left += 1;
            self.next += LINE_INTERVAL;
        }
        if self.left == 0 {
            self.unprinted += 1;
            return false;
        }
        if self.left == BURST {
            self.next = Instant::now() + LINE_INTERVAL;
        }
        self.left -= 1;
        self.sum_up();
        true
    }

    /// Prints how many lines were dropped.
    fn sum_up(&mut self) {
        let more = std::mem::take(&mut self.unprinted);
        if more > 0 && !self.is_quiet() {
            print(&format!("openclaw-guard: {more} more such lines are only in the audit log"));
        }
    }

    /// Prints a line, or counts it if it was printed recently.
    fn print(&mut self, line: String) {
        fail_point(Fallible::Report, line.as_bytes());
        self.fold(FOLD_INTERVAL);
        if let Some((_, repeats)) = self.recent.get_mut(&line) {
            *repeats += 1;
            return;
        }
        print(&line);
        self.recent.insert(line, (Instant::now(), 0));
    }

    /// Prints the counts of lines that are older than `age`, and forgets these lines.
    fn fold(&mut self, age: Duration) {
        let quiet = self.is_quiet();
        self.recent.retain(|line, (since, repeats)| {
            if since.elapsed() < age {
                return true;
            }
            if *repeats > 0 && !quiet {
                let times = if *repeats == 1 { "time" } else { "times" };
                print(&format!("{line} [{repeats} more {times}]"));
            }
            false
        });
    }

    fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed)
    }
}

/// Writes a line to stderr.
pub fn print(line: &str) {
    // One write, so that lines of several processes do not mix. A failure cannot be reported anywhere.
    let end = if is_raw_terminal() { "\r\n" } else { "\n" };
    let _ = std::io::stderr().write_all(format!("{line}{end}").as_bytes());
}

/// Returns whether stderr is a terminal that does not turn a line feed into a new line (no OPOST).
fn is_raw_terminal() -> bool {
    use rustix::termios::OutputModes;
    rustix::termios::tcgetattr(std::io::stderr())
        .is_ok_and(|modes| !modes.output_modes.contains(OutputModes::OPOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_not_shown() {
        let mut printer = Printer::new(Arc::default());
        let may = |printer: &mut Printer, from: u32, to: u32| {
            (from..to).filter(|number| printer.may_print(&format!("openclaw-guard: line {number}"))).count()
        };
        assert_eq!(may(&mut printer, 0, 100), 100);
        assert!(may(&mut printer, 100, 10_100) < 100);
        // Half a minute later a full burst is allowed again.
        printer.next -= Duration::from_secs(30);
        assert_eq!(may(&mut printer, 20_000, 20_100), 100);
        assert!(may(&mut printer, 20_100, 21_000) < 10);
    }
}
