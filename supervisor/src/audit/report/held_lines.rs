//! Lines for stderr that wait while they would damage what a program draws on the screen, or a line that the operator
//! edits in the program.

use std::time::{Duration, Instant};

use super::stderr::print;
use crate::terminal::{ScreenState, SharedScreenState};

/// How many lines are kept. Of further lines, only the number is printed.
const MAX_LINES: usize = 10;
/// How long a line waits for the end of the line that a program writes.
const LINE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a line waits on a terminal in raw mode: the front has to read what the program wrote before.
const SETTLE_TIME: Duration = Duration::from_millis(50);
/// How often the screen is looked at while lines wait.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The lines that wait, and the screen.
#[derive(Debug, Default)]
pub struct HeldLines {
    /// None where stderr is not the command's terminal.
    screen: Option<SharedScreenState>,
    lines: Vec<String>,
    unkept: usize,
    since: Option<Instant>,
}

impl HeldLines {
    /// Creates an empty list for a screen.
    pub fn new(screen: Option<SharedScreenState>) -> HeldLines {
        HeldLines { screen, ..HeldLines::default() }
    }

    /// Returns whether no line waits.
    pub fn is_empty(&self) -> bool {
        self.since.is_none()
    }

    /// Prints a line, or keeps it.
    pub fn put(&mut self, line: &str) {
        if self.is_empty() && !self.must_wait(Duration::ZERO) {
            return print(line);
        }
        self.since.get_or_insert_with(Instant::now);
        if self.lines.len() < MAX_LINES {
            self.lines.push(line.to_owned());
        } else {
            self.unkept += 1;
        }
    }

    /// Prints the lines that need not wait any longer.
    pub fn look(&mut self) {
        let waited = self.since.map(|since| since.elapsed());
        if waited.is_some_and(|waited| !self.must_wait(waited)) {
            self.print_all();
        }
    }

    /// Prints all lines.
    pub fn print_all(&mut self) {
        self.since = None;
        self.lines.drain(..).for_each(|line| print(&line));
        let more = std::mem::take(&mut self.unkept);
        if more > 0 {
            let lines = if more == 1 { "line" } else { "lines" };
            print(&format!(
                "openclaw-guard: {more} more {lines} while a program had the screen: openclaw-guard audit tail --denied"
            ));
        }
    }

    /// Returns whether a line that has waited this long must wait longer.
    fn must_wait(&self, waited: Duration) -> bool {
        let Some(screen) = &self.screen else { return false };
        match screen.get() {
            ScreenState::Alternate => true,
            _ if !edits_lines() => false,
            ScreenState::CursorHidden => true,
            ScreenState::MidLine => waited < LINE_TIMEOUT,
            ScreenState::LineStart => waited < SETTLE_TIME,
        }
    }
}

/// Returns whether a program reads single keys from the terminal that stderr is.
fn edits_lines() -> bool {
    use rustix::termios::LocalModes;
    rustix::termios::tcgetattr(std::io::stderr())
        .is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON))
}
