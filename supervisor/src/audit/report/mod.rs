//! What the operator is told: one line on stderr for a denial, one JSON line in the audit log.
//!
//! Each is written by a thread of its own, so that no held call waits for a disk or a terminal. The tree can stop its
//! terminal, or not read the pipe that is its stderr: that costs lines, and nothing of the log.

mod hint;
mod logger;
mod printer;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use guard_openclaw::peer::proc::Tid;
use guard_openclaw::peer::process_tree::Tree;
use guard_policy::Outcome;
use guard_policy::text::shown;
use parking_lot::Mutex;

pub use hint::hint;
pub use printer::print;

use crate::audit::{Context, DecisionEvent, Failed, PolicyChange, QuestionRecord, Record, Writer};
use crate::panics::{Panic, restart_on_panic};
use logger::Logger;
use printer::Printer;

/// For the log.
enum LogMessage {
    /// With it, whom to tell whether it is in the log.
    Record(Record, Option<SyncSender<Logged>>),
    Flush(SyncSender<()>),
}

/// Whether a decision is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "what has to be in the log and is not may not be done"]
pub enum Logged {
    /// It is, or nobody insists on that.
    Yes,
    /// It has to be and could not.
    No,
}

/// For stderr.
enum Message {
    /// One that is no repeat, whatever was printed lately.
    News(String),
    /// One that is shown where no lines are wanted, too.
    Problem(String),
    /// The same, of which a caller chooses how many there are.
    Fault(String),
    /// With it, whom to tell that it is printed.
    Print(String, Option<SyncSender<()>>),
    Flush(SyncSender<()>),
}

/// How the operator is told.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions {
    /// Denied lines on stderr.
    pub lines: bool,
    /// `--observe`: nothing was blocked, and the lines say so.
    pub observe: bool,
    /// Whether allowed file accesses are logged too.
    pub allowed: bool,
}

/// How long the end of the command may wait for the log.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// Decisions that may wait to be written; beyond that, calls wait too, so that memory stays bounded. Lines that nobody
/// takes are dropped.
const BACKLOG: usize = 4096;
/// How long a denied call waits for its line, which is to stand before what the program says of the error. A
/// terminal that is stopped holds up nobody for longer.
const LINE_TIMEOUT: Duration = Duration::from_millis(50);

/// Takes decisions to the operator. What waits is boxed: a queue has room for all that may wait from the start.
#[derive(Clone, Debug)]
pub struct Reporter {
    entries: SyncSender<Box<LogMessage>>,
    lines: SyncSender<Box<Message>>,
    manner: ReportOptions,
    /// Whether what is allowed must be in the log first.
    must_log: bool,
    /// The operator's command has ended: stderr is given up, the log goes on.
    quiet: Arc<AtomicBool>,
    /// What is said once, behind the first denied line.
    hint: Arc<Mutex<Option<String>>>,
}

impl Reporter {
    /// Starts the writers.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        manner: ReportOptions,
        writer: Writer,
        context: Context,
        tree: Tree,
    ) -> std::io::Result<Reporter> {
        let (entries, to_log) = sync_channel(BACKLOG);
        let (lines, to_print) = sync_channel(BACKLOG);
        let quiet = Arc::new(AtomicBool::new(!manner.lines));
        let mut printer = Printer::new(Arc::clone(&quiet));
        let print = move || {
            restart_on_panic(|| printer.run(&to_print), |fault| print(&format!("openclaw-guard: {fault}")))
        };
        std::thread::Builder::new().name("report".into()).spawn(print)?;
        let problems = lines.clone();
        // What is only observed goes on whatever happens.
        let must_log = writer.must_log() && !manner.observe;
        let mut logger = Logger { writer, context, tree, lines: lines.clone() };
        let log = move || {
            restart_on_panic(
                || logger.run(&to_log),
                |fault| {
                    let line = format!("openclaw-guard: {fault}; one entry of the audit log is lost");
                    let _ = problems.try_send(Box::new(Message::Fault(line)));
                },
            );
        };
        std::thread::Builder::new().name("audit".into()).spawn(log)?;
        Ok(Reporter { entries, lines, manner, must_log, quiet, hint: Arc::default() })
    }

    /// The same, with a line that is said once, behind the first denied line.
    pub fn hinting(self, line: String) -> Reporter {
        *self.hint.lock() = Some(line);
        self
    }

    /// Whether allowed file accesses are to be told.
    pub fn wants_allowed(&self) -> bool {
        self.manner.allowed
    }

    /// Tells of a decision. Of a denial, returns when its line is printed; of what is allowed, where it must be in the
    /// log, when it is known whether it is.
    pub fn record(&self, event: DecisionEvent) -> Logged {
        if event.outcome == Outcome::Allow {
            return self.log_first(event);
        }
        let line = (!self.is_quiet() && !event.because.is_unmentioned())
            .then(|| denied_line(&event, self.manner.observe));
        self.log(Record::Event(event));
        if let Some(line) = line {
            let hint = self.hint.lock().take();
            let (printed, wait) = sync_channel(1);
            // The hint is printed before the call returns, too: later, the program may be in the middle of a line.
            let sent = match hint {
                None => self.lines.try_send(Box::new(Message::Print(line, Some(printed)))).is_ok(),
                Some(hint) => {
                    let _ = self.lines.try_send(Box::new(Message::Print(line, None)));
                    self.lines.try_send(Box::new(Message::Print(hint, Some(printed)))).is_ok()
                }
            };
            if sent {
                let _ = wait.recv_timeout(LINE_TIMEOUT);
            }
        }
        Logged::Yes
    }

    fn log_first(&self, event: DecisionEvent) -> Logged {
        if !self.must_log {
            self.log(Record::Event(event));
            return Logged::Yes;
        }
        let (logged, wait) = sync_channel(1);
        let sent = self.entries.send(Box::new(LogMessage::Record(Record::Event(event), Some(logged))));
        // The writer ends only with the process. Where it panics, nobody knows what became of the line.
        sent.ok().and_then(|()| wait.recv().ok()).unwrap_or(Logged::No)
    }

    fn log(&self, record: Record) {
        // The writer ends only with the process.
        let _ = self.entries.send(Box::new(LogMessage::Record(record, None)));
    }

    /// Tells of a change of the policy.
    pub fn changed(&self, change: PolicyChange) {
        self.log(Record::Change(change));
    }

    /// Tells what happened to a question.
    pub fn record_question(&self, asked: QuestionRecord) {
        self.log(Record::Asked(asked));
    }

    /// Prints what has happened to the guard itself, where lines are printed.
    pub fn news(&self, line: String) {
        if !self.is_quiet() {
            self.problem(line);
        }
    }

    /// Prints what the operator must know of the guard itself.
    pub fn problem(&self, line: String) {
        let _ = self.lines.try_send(Box::new(Message::News(line)));
    }

    /// Tells of a panic: which call was refused by it, if it was one, and whose.
    pub fn fault(&self, fault: &Panic, call: Option<(Tid, &'static str)>) {
        let denied = call.map_or(String::new(), |(_, name)| format!("; denied {name}"));
        let line = format!("openclaw-guard: {fault}{denied}");
        self.log(Record::Failed(Failed::new(fault, call)));
        let _ = self.lines.try_send(Box::new(Message::Fault(line)));
    }

    /// Prints a line, where lines are printed.
    pub fn remark(&self, line: String) {
        let _ = self.lines.try_send(Box::new(Message::Print(line, None)));
    }

    /// Returns when everything told so far is written, or when that takes longer than anybody should wait.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(2);
        let logs = self.entries.try_send(Box::new(LogMessage::Flush(done.clone()))).is_ok();
        let prints = !self.is_quiet() && self.lines.try_send(Box::new(Message::Flush(done))).is_ok();
        let until = Instant::now() + FLUSH_TIMEOUT;
        for _ in 0..usize::from(logs) + usize::from(prints) {
            let _ = wait.recv_timeout(until.saturating_duration_since(Instant::now()));
        }
    }

    /// No more lines on stderr.
    pub fn quiet(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }

    fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed)
    }
}

/// `openclaw-guard: denied read /home/u/.ssh/id_rsa (permissions.filesystem.deny "~/.ssh/**")`
fn denied_line(event: &DecisionEvent, observe: bool) -> String {
    let verb = if observe && !event.because.is_absolute() { "would have denied" } else { "denied" };
    let mut line = format!("openclaw-guard: {verb} {} {}", event.operation.word(), shown(&event.path));
    let _ = write!(line, " ({})", shown(event.because.rule().as_bytes()));
    line
}

#[cfg(test)]
mod tests {
    use guard_policy::{Reason, Source};

    use super::*;
    use crate::audit::Operation;

    fn event(path: &[u8]) -> DecisionEvent {
        DecisionEvent {
            pid: 1,
            chain: Vec::new(),
            operation: Operation::Read,
            path: path.to_vec(),
            argv: Vec::new(),
            outcome: Outcome::Deny,
            because: Reason::new(Source::Global, "p", "permissions.filesystem.deny \"~/.ssh/**\"", "t"),
            micros: 1,
        }
    }

    #[test]
    fn a_denied_line_says_what_where_and_by_which_rule() {
        assert_eq!(
            denied_line(&event(b"/home/u/.ssh/id_rsa"), false),
            "openclaw-guard: denied read /home/u/.ssh/id_rsa (permissions.filesystem.deny \"~/.ssh/**\")"
        );
    }

    #[test]
    fn a_file_name_cannot_write_to_the_terminal() {
        assert!(denied_line(&event(b"/x\x1b]0;y\x07\n"), true).contains("/x\\u{1b}]0;y\\u{7}\\n"));
    }
}
