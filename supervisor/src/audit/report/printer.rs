//! Lines on stderr: repeats are counted, and floods are not shown.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use guard_shim::failpoints::{Fallible, fail_point};

use super::Message;

/// Repeats of a line within this time are counted and not printed.
const FOLD_INTERVAL: Duration = Duration::from_secs(5);
/// Lines that may come at once.
const BURST: u32 = 100;
/// Beyond that, one is shown in so long.
const LINE_INTERVAL: Duration = Duration::from_millis(100);

/// Prints lines.
pub struct Printer {
    quiet: Arc<AtomicBool>,
    /// Lines printed lately, and how often they came again.
    recent: HashMap<String, (Instant, usize)>,
    /// Lines that may be printed now.
    left: u32,
    /// When one more may be.
    next: Instant,
    /// Lines that were not printed since the last one that was.
    unprinted: usize,
}

impl Printer {
    /// None printed yet.
    pub fn new(quiet: Arc<AtomicBool>) -> Printer {
        Printer { quiet, recent: HashMap::new(), left: BURST, next: Instant::now(), unprinted: 0 }
    }

    /// Prints what comes, until nothing can.
    pub fn run(&mut self, receiver: &Receiver<Box<Message>>) {
        loop {
            // Repeats are summed up when things go quiet, even if nothing else ever comes.
            let line = if self.recent.is_empty() {
                receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                receiver.recv_timeout(FOLD_INTERVAL)
            };
            match line.map(|line| *line) {
                // Nobody may be waiting any more when it is printed.
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
                Ok(Message::News(line)) => print(&line),
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

    /// Whether a line may come between the operator and what else is on the terminal. A caller chooses how many calls it
    /// makes; the audit log has them all.
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

    /// Says how many lines were not printed.
    fn sum_up(&mut self) {
        let more = std::mem::take(&mut self.unprinted);
        if more > 0 && !self.is_quiet() {
            print(&format!("openclaw-guard: {more} more lines like these are in the audit log only"));
        }
    }

    /// Prints a line that was not printed lately.
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

    /// Sums up and forgets the lines that are older than `age`.
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

/// Writes a line on stderr.
pub fn print(line: &str) {
    // One write, so that lines of several processes do not mix; nobody can be told that stderr is gone.
    let end = if is_raw_terminal() { "\r\n" } else { "\n" };
    let _ = std::io::stderr().write_all(format!("{line}{end}").as_bytes());
}

/// Whether stderr is a terminal on which a line feed goes straight down.
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
        // Half a minute later there is room again, for as many as at first.
        printer.next -= Duration::from_secs(30);
        assert_eq!(may(&mut printer, 20_000, 20_100), 100);
        assert!(may(&mut printer, 20_100, 21_000) < 10);
    }
}
