//! Reports for the operator: a line on stderr for a denial, and a JSON line in the audit log.
//!
//! Each is written by a thread of its own, so that no held call waits for a disk or a terminal. Calls that must be in
//! the log before they go on are the exception: their worker writes the line. The tree can stop its terminal, or block
//! the pipe that is its stderr. That loses lines on stderr, but none of the log. Equal denials are counted in the log
//! (`folds`), and so is what exceeds a session's share (`allowance`).

mod allowance;
mod folds;
mod held_lines;
mod hint;
mod last_denial;
mod logger;
mod printer;
mod queue;
mod stderr;

use std::fmt::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use guard_openclaw::peer::proc::Tid;
use guard_openclaw::peer::process_tree::Tree;
use guard_policy::Outcome;
use guard_policy::text::shown;
use parking_lot::Mutex;
use rustix::io::Errno;

pub use hint::hint;
pub use last_denial::LAST_DENIAL;
use last_denial::LastDenial;
pub use stderr::print;

use crate::audit::{
    Context, DecisionEvent, Failed, PolicyChange, QuestionRecord, Record, SessionChange, WebConnectionRecord,
    Writer,
};
use crate::panics::{Panic, restart_on_panic};
use crate::terminal::SharedScreenState;
use logger::Logger;
use printer::Printer;
use queue::LogQueue;

/// A message to the thread that writes the log.
enum LogMessage {
    Record(Record),
    Flush(SyncSender<()>),
}

/// Whether a decision is in the log, if it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a call that has to be in the log, and is not, must be refused"]
pub enum Logged {
    /// It is in the log, or need not be.
    Yes,
    /// It has to be in the log and could not be written.
    No,
}

/// A message to the thread that prints on stderr.
enum Message {
    /// A line that is printed even if it repeats a recent one.
    Notice(String),
    /// A line that is printed even if lines for denials are not wanted.
    Problem(String),
    /// As `Problem`, but limited in number: a caller can cause as many as it likes.
    Fault(String),
    /// A line, and the channel that closes when it is printed.
    Print(String, Option<SyncSender<()>>),
    Flush(SyncSender<()>),
}

/// The log, and what is to be written to it.
struct QueuedLog {
    logger: Mutex<Logger>,
    queue: LogQueue,
}

impl fmt::Debug for QueuedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuedLog").finish_non_exhaustive()
    }
}

/// How to report to the operator.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// Whether denials are printed on stderr.
    pub lines: bool,
    /// `--observe`: nothing is blocked, and the lines say so.
    pub observe: bool,
    /// Whether allowed file accesses are logged too.
    pub allowed: bool,
    /// The screen of the command's terminal, if stderr is that terminal.
    pub screen: Option<SharedScreenState>,
}

/// How long [`Reporter::flush`] waits for the log and for stderr.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// The capacity of the queue of lines for stderr, so that memory stays bounded. If it is full, lines are dropped.
const BACKLOG: usize = 4096;
/// How long a denied call waits until its line is printed, so that the line precedes the program's error
/// message. A busy machine may need that long.
const LINE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a denied call waits if the line before was not printed in time, because the terminal is stopped or nobody
/// reads the pipe.
const STUCK_LINE_TIMEOUT: Duration = Duration::from_millis(20);

/// Reports decisions to the operator. Lines for stderr are boxed because a channel allocates its full capacity at the
/// start.
#[derive(Clone, Debug)]
pub struct Reporter {
    log: Arc<QueuedLog>,
    lines: SyncSender<Box<Message>>,
    manner: ReportOptions,
    /// Whether an allowed call must be in the log before it goes on.
    must_log: bool,
    /// Set if only problems are printed: no lines are wanted, or the command has ended. The log goes
    /// on.
    quiet: Arc<AtomicBool>,
    /// The line to print once, after the first denial.
    hint: Arc<Mutex<Option<String>>>,
    /// The number of denials so far.
    denials: Arc<AtomicU64>,
    /// The last denial that the tree may know of.
    last_denial: LastDenial,
    /// Set if the last line for which a call waited was not printed in time.
    is_stuck: Arc<AtomicBool>,
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
        let (lines, to_print) = sync_channel(BACKLOG);
        let quiet = Arc::new(AtomicBool::new(!manner.lines));
        let mut printer = Printer::new(Arc::clone(&quiet), manner.screen.clone());
        let print = move || {
            restart_on_panic(|| printer.run(&to_print), |fault| print(&format!("openclaw-guard: {fault}")))
        };
        std::thread::Builder::new().name("report".into()).spawn(print)?;
        Reporter::start_log(manner, writer, context, tree, lines, quiet)
    }

    /// Starts the writer of the log, which sends its problems to `lines`.
    fn start_log(
        manner: ReportOptions,
        writer: Writer,
        context: Context,
        tree: Tree,
        lines: SyncSender<Box<Message>>,
        quiet: Arc<AtomicBool>,
    ) -> std::io::Result<Reporter> {
        let problems = lines.clone();
        // With `--observe` a call goes on even if it cannot be logged.
        let must_log = writer.must_log() && !manner.observe;
        let logger = Mutex::new(Logger::new(writer, context, tree, lines.clone()));
        let log = Arc::new(QueuedLog { logger, queue: LogQueue::default() });
        let written = Arc::clone(&log);
        let write = move || {
            restart_on_panic(
                || logger::run(&written.logger, &written.queue),
                |fault| {
                    let _ = problems.try_send(Box::new(Message::Fault(logger::lost_line(fault))));
                },
            );
        };
        std::thread::Builder::new().name("audit".into()).spawn(write)?;
        Ok(Reporter {
            log,
            lines,
            manner,
            must_log,
            quiet,
            hint: Arc::default(),
            denials: Arc::default(),
            last_denial: LastDenial::default(),
            is_stuck: Arc::default(),
        })
    }

    /// Adds a line that is printed once, after the first denial.
    pub fn hinting(self, line: String) -> Reporter {
        *self.hint.lock() = Some(line);
        self
    }

    /// Returns whether allowed file accesses are to be recorded.
    pub fn wants_allowed(&self) -> bool {
        self.manner.allowed
    }

    /// Records a decision. For a denial, waits until its line is printed. For an allowed call that must be in
    /// the log, waits for the result of writing it.
    pub fn record(&self, event: DecisionEvent) -> Logged {
        if event.outcome == Outcome::Allow {
            return self.log_first(event);
        }
        if event.outcome == Outcome::Deny {
            self.denials.fetch_add(1, Ordering::Relaxed);
        }
        let line = (!self.is_quiet() && !event.reason.is_unmentioned())
            .then(|| denied_line(&event, self.manner.observe));
        if line.is_some() && event.outcome == Outcome::Deny {
            self.last_denial.remember(&event, verb(&event, self.manner.observe));
        }
        self.log(Record::Event(event));
        if let Some(line) = line {
            let hint = self.hint.lock().take();
            let (printed, wait) = sync_channel(1);
            // The hint is printed before the call returns, too: later, the program may be in the middle of a
            // line.
            let sent = match hint {
                None => self.lines.try_send(Box::new(Message::Print(line, Some(printed)))).is_ok(),
                Some(hint) => {
                    let _ = self.lines.try_send(Box::new(Message::Print(line, None)));
                    self.lines.try_send(Box::new(Message::Print(hint, Some(printed)))).is_ok()
                }
            };
            if sent {
                let stuck = self.is_stuck.load(Ordering::Relaxed);
                let timeout = if stuck { STUCK_LINE_TIMEOUT } else { LINE_TIMEOUT };
                let is_late = wait.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout);
                self.is_stuck.store(is_late, Ordering::Relaxed);
            }
        }
        Logged::Yes
    }

    fn log_first(&self, event: DecisionEvent) -> Logged {
        if !self.must_log {
            self.log(Record::Event(event));
            return Logged::Yes;
        }
        self.log.logger.lock().write_now(&self.log.queue, Record::Event(event))
    }

    /// Writes what was reported so far to the log. Blocks on the disk, so it is not for a worker.
    pub fn write_log(&self) {
        self.log.logger.lock().write_rest(&self.log.queue);
    }

    fn log(&self, record: Record) {
        self.log.queue.push(LogMessage::Record(record));
    }

    /// Records a change of the policy.
    pub fn changed(&self, change: PolicyChange) {
        self.log(Record::Change(change));
    }

    /// Records what was done to the session.
    pub fn session_changed(&self, change: SessionChange) {
        self.log(Record::Session(change));
    }

    /// Returns the number of denials so far.
    pub fn denials(&self) -> u64 {
        self.denials.load(Ordering::Relaxed)
    }

    /// Returns the text about the last denial that the tree may know of.
    ///
    /// # Errors
    /// ENOENT if there is none; the kernel's, if it cannot provide the memory.
    pub fn last_denial(&self) -> Result<OwnedFd, Errno> {
        self.last_denial.open()
    }

    /// Records what happened to a question.
    pub fn record_question(&self, asked: QuestionRecord) {
        self.log(Record::Asked(asked));
    }

    /// Records a connection to a host of the Web.
    pub fn web_connection(&self, connection: WebConnectionRecord) {
        self.log(Record::Web(connection));
    }

    /// Prints a notice about the guard itself, unless lines are unwanted.
    pub fn notice(&self, line: String) {
        if !self.is_quiet() {
            self.problem(line);
        }
    }

    /// Prints a line about the guard itself that the operator must see.
    pub fn problem(&self, line: String) {
        let _ = self.lines.try_send(Box::new(Message::Notice(line)));
    }

    /// Reports a panic. `call` has the caller and the name of the call that was denied because of the panic, if there was one.
    pub fn fault(&self, fault: &Panic, call: Option<(Tid, &'static str)>) {
        let denied = call.map_or(String::new(), |(_, name)| format!("; denied {name}"));
        let line = format!("openclaw-guard: {fault}{denied}");
        self.log(Record::Failed(Failed::new(fault, call)));
        let _ = self.lines.try_send(Box::new(Message::Fault(line)));
    }

    /// Prints a line, unless lines are unwanted.
    pub fn remark(&self, line: String) {
        let _ = self.lines.try_send(Box::new(Message::Print(line, None)));
    }

    /// Waits until everything reported so far is written, but at most `FLUSH_TIMEOUT`.
    pub fn flush(&self) {
        let until = Instant::now() + FLUSH_TIMEOUT;
        let written = |wait: &Receiver<()>| {
            let _ = wait.recv_timeout(until.saturating_duration_since(Instant::now()));
        };
        let (done, wait) = sync_channel(1);
        // The lines of the tree's last calls may still fill the queue.
        if self.log.queue.push_until(LogMessage::Flush(done), until) {
            written(&wait);
        }
        // Stderr comes second: the log's writer may have sent a line there that says why it cannot write. That line is
        // printed even if other lines are unwanted.
        let (done, wait) = sync_channel(1);
        if self.lines.try_send(Box::new(Message::Flush(done))).is_ok() {
            written(&wait);
        }
    }

    /// Stops printing on stderr, except for problems.
    pub fn quiet(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }

    fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed)
    }
}

/// Returns the verb for what happened to the call, or for what would have happened to it.
fn verb(event: &DecisionEvent, observe: bool) -> &'static str {
    match event.outcome {
        Outcome::Ask => "would have asked about",
        _ if observe && !event.reason.is_absolute() => "would have denied",
        _ => "denied",
    }
}

/// Formats the line for a denial:
/// `openclaw-guard: denied read /home/u/.ssh/id_rsa (permissions.filesystem.deny "~/.ssh/**")`
fn denied_line(event: &DecisionEvent, observe: bool) -> String {
    let verb = verb(event, observe);
    let mut line = format!("openclaw-guard: {verb} {} {}", event.operation.word(), shown(&event.path));
    let _ = write!(line, " ({})", shown(event.reason.rule().as_bytes()));
    line
}

#[cfg(test)]
mod tests {
    use guard_policy::{AuditSettings, Reason, Source};

    use super::*;
    use crate::audit::{AuditLog, Limits, Operation};

    fn event(path: &[u8]) -> DecisionEvent {
        DecisionEvent {
            pid: 1,
            chain: Vec::new(),
            operation: Operation::Read,
            path: path.to_vec(),
            argv: Vec::new(),
            outcome: Outcome::Deny,
            reason: Reason::new(Source::Global, "p", "permissions.filesystem.deny \"~/.ssh/**\"", "t"),
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
    fn a_quiet_guard_waits_until_the_trouble_of_its_log_is_printed() {
        let full = AuditLog::open("/dev/full".as_ref(), Limits { max_bytes: 1 << 20, keep: 1 }).unwrap();
        let writer = Writer::new(Some(full), None, None, &AuditSettings::default());
        let manner = ReportOptions { lines: false, ..ReportOptions::default() };
        let (lines, printed) = sync_channel(BACKLOG);
        let quiet = Arc::new(AtomicBool::new(true));
        let tree = Tree { reaper: 1, supervisor: 1, front: 1, leader: None };
        let reporter = Reporter::start_log(manner, writer, Context::default(), tree, lines, quiet).unwrap();
        let _ = reporter.record(event(b"/x"));
        let flushed = std::thread::spawn(move || reporter.flush());
        let next = || *printed.recv_timeout(FLUSH_TIMEOUT).unwrap();
        assert!(matches!(next(), Message::Problem(line) if line.contains("No space left")));
        let Message::Flush(done) = next() else { panic!("a flush after it") };
        assert!(!flushed.is_finished());
        done.send(()).unwrap();
        flushed.join().unwrap();
    }

    #[test]
    fn a_file_name_cannot_write_to_the_terminal() {
        assert!(denied_line(&event(b"/x\x1b]0;y\x07\n"), true).contains("/x\\u{1B}]0;y\\u{7}\\u{A}"));
    }
}
