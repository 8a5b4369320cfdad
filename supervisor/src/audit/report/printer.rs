//! Prints lines on stderr. Repeats are counted, and floods are cut off.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use guard_shim::failpoints::{Fallible, fail_point};

use super::Message;
use super::held_lines::{HeldLines, LOOK_INTERVAL};
use super::stderr::print;
use crate::terminal::SharedScreenState;

/// Repeats of a line within this time are counted instead of printed.
const FOLD_INTERVAL: Duration = Duration::from_secs(5);
/// The number of lines that may be printed at once.
const BURST: u32 = 100;
/// After a burst, one more line may be printed after each such interval.
const LINE_INTERVAL: Duration = Duration::from_millis(100);

/// Prints lines.
pub struct Printer {
    quiet: Arc<AtomicBool>,
    /// The lines printed recently, each with its time and the number of its repeats.
    recent: HashMap<String, (Instant, usize)>,
    /// The number of lines that may be printed now.
    left: u32,
    /// When `left` grows by one.
    next: Instant,
    /// The number of lines dropped since the last one was printed.
    unprinted: usize,
    held: HeldLines,
}

impl Printer {
    /// Creates a printer that has printed nothing yet. `screen` is the screen of the terminal that stderr is.
    pub fn new(quiet: Arc<AtomicBool>, screen: Option<SharedScreenState>) -> Printer {
        let held = HeldLines::new(screen);
        Printer { quiet, recent: HashMap::new(), left: BURST, next: Instant::now(), unprinted: 0, held }
    }

    /// Prints what it receives, until all senders are gone.
    pub fn run(&mut self, receiver: &Receiver<Box<Message>>) {
        loop {
            self.held.look();
            // The timeout makes the printer sum up repeats even if no other line ever comes.
            let line = if !self.held.is_empty() {
                receiver.recv_timeout(LOOK_INTERVAL)
            } else if self.recent.is_empty() {
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
                    self.held.print_all();
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
            self.held.put(&format!("openclaw-guard: {more} more such lines are only in the audit log"));
        }
    }

    /// Prints a line, or counts it if it was printed recently.
    fn print(&mut self, line: String) {
        fail_point(Fallible::Report, || line.as_bytes());
        self.fold(FOLD_INTERVAL);
        if let Some((_, repeats)) = self.recent.get_mut(&line) {
            *repeats += 1;
            return;
        }
        self.held.put(&line);
        self.recent.insert(line, (Instant::now(), 0));
    }

    /// Prints the counts of lines that are older than `age`, and forgets these lines.
    fn fold(&mut self, age: Duration) {
        let (quiet, held) = (self.is_quiet(), &mut self.held);
        self.recent.retain(|line, (since, repeats)| {
            if since.elapsed() < age {
                return true;
            }
            if *repeats > 0 && !quiet {
                let times = if *repeats == 1 { "time" } else { "times" };
                held.put(&format!("{line} [{repeats} more {times}]"));
            }
            false
        });
    }

    fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_not_shown() {
        let mut printer = Printer::new(Arc::default(), None);
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
