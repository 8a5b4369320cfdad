//! Writes the log.

use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::Mode;
use rustix::process::umask;

use guard_openclaw::peer::process_tree::Tree;
use guard_policy::Outcome;
use guard_shim::failpoints::{Fallible, fail_point};

use super::allowance::Allowance;
use super::folds::Folds;
use super::queue::LogQueue;
use super::{LogMessage, Logged, Message};
use crate::audit::files::LogPart;
use crate::audit::{Context, Record, Span, Writer};
use crate::panics::{Panic, caught};

/// How often the counts of lines that were left out are written.
const COUNT_INTERVAL: Duration = Duration::from_secs(60);
/// The notice that is printed once.
const OVER_SHARE: &str =
    "openclaw-guard: this session has used its share of the audit log: further denials are only counted";

/// Writes records to the log and the journal.
pub struct Logger {
    writer: Writer,
    context: Context,
    tree: Tree,
    lines: SyncSender<Box<Message>>,
    folds: Folds,
    allowance: Allowance,
    /// The denials that the allowance had no room for, and that no line counts yet.
    uncounted: Option<Span>,
    /// Whether the operator was told that the allowance is used up.
    is_reported: bool,
    /// When counts are due.
    due: Instant,
}

impl Logger {
    /// Creates a logger that sends problems to `lines`.
    pub fn new(writer: Writer, context: Context, tree: Tree, lines: SyncSender<Box<Message>>) -> Logger {
        let now = Instant::now();
        Logger {
            allowance: Allowance::new(writer.session_bytes(), now),
            writer,
            context,
            tree,
            lines,
            folds: Folds::default(),
            uncounted: None,
            is_reported: false,
            due: now + COUNT_INTERVAL,
        }
    }

    /// When to call [`Logger::write_queued`] even if nothing arrives.
    fn due(&self) -> Option<Instant> {
        let is_idle = self.folds.is_empty() && self.uncounted.is_none();
        (!is_idle).then_some(self.due)
    }

    /// Writes what is in the queue, and the counts if they are due.
    fn write_queued(&mut self, queue: &LogQueue) {
        while let Some(message) = queue.take() {
            match message {
                LogMessage::Record(record) => {
                    let _ = self.log(record);
                }
                LogMessage::Flush(done) => {
                    self.write_counts();
                    // Everything that came before this is written. The waiting thread may be gone.
                    let _ = done.send(());
                }
            }
        }
        if Instant::now() >= self.due {
            self.write_counts();
        }
    }

    /// Writes a record after everything that is in the queue.
    ///
    /// The calling thread writes the record itself: to wake another thread takes longer on an idle processor. After a
    /// panic it is unknown what was written, so the record counts as not logged.
    pub fn write_now(&mut self, queue: &LogQueue, record: Record) -> Logged {
        // A worker has its caller's umask, which must not become that of a new file of the log.
        let before = umask(Mode::RWXG | Mode::RWXO);
        let logged = caught(|| {
            self.write_queued(queue);
            self.log(record)
        });
        umask(before);
        logged.unwrap_or_else(|fault| {
            let _ = self.lines.try_send(Box::new(Message::Fault(lost_line(&fault))));
            Logged::No
        })
    }

    /// Writes everything that is in the queue.
    pub fn write_rest(&mut self, queue: &LogQueue) {
        if let Err(fault) = caught(|| self.write_queued(queue)) {
            let _ = self.lines.try_send(Box::new(Message::Fault(lost_line(&fault))));
        }
    }

    fn log(&mut self, record: Record) -> Logged {
        let Record::Event(mut event) = record else { return self.write(&record) };
        fail_point(Fallible::Audit, || &event.path);
        if event.outcome == Outcome::Allow {
            if event.chain.is_empty() && self.writer.writes() {
                event.chain = self.tree.chain(event.pid);
            }
            return self.write(&Record::Event(event));
        }
        // A counted denial is logged: the first equal denial has a line, and the count will have one.
        let Some(event) = self.folds.count(event) else { return Logged::Yes };
        let logged = self.write(&Record::Event(event.clone()));
        if logged == Logged::Yes
            && let Some((oldest, repeats)) = self.folds.remember(event)
        {
            let _ = self.write(&Record::Repeats(oldest, repeats));
        }
        logged
    }

    /// Writes a record, or counts it if the session has filled its share of the log of denials.
    fn write(&mut self, record: &Record) -> Logged {
        let (part, body) = (record.part(), record.body(&self.context));
        if part == LogPart::Denials && !self.allowance.take(body.len(), Instant::now()) {
            let span = if let Record::Repeats(_, span) = record { *span } else { Span::now() };
            self.uncounted = Some(span.with(self.uncounted));
            if !std::mem::replace(&mut self.is_reported, true) {
                self.write_uncounted();
                self.report(OVER_SHARE.to_owned());
            }
            return Logged::Yes;
        }
        let written = self.writer.write(part, &body);
        for problem in written.problems {
            self.report(format!("openclaw-guard: {problem}"));
        }
        if written.is_logged { Logged::Yes } else { Logged::No }
    }

    /// Writes what was counted since the last time.
    fn write_counts(&mut self) {
        self.due = Instant::now() + COUNT_INTERVAL;
        for (event, repeats) in self.folds.take() {
            let _ = self.write(&Record::Repeats(event, repeats));
        }
        self.write_uncounted();
    }

    fn write_uncounted(&mut self) {
        if let Some(span) = self.uncounted.take() {
            let _ = self.write(&Record::Flood(span));
        }
    }

    fn report(&self, problem: String) {
        let _ = self.lines.try_send(Box::new(Message::Problem(problem)));
    }
}

/// Returns the line for the operator, after a panic while a line was written.
pub fn lost_line(fault: &Panic) -> String {
    format!("openclaw-guard: {fault}; one line of the audit log is lost")
}

/// Writes what arrives, for ever.
pub fn run(logger: &Mutex<Logger>, queue: &LogQueue) {
    let mut seen = 0;
    loop {
        logger.lock().write_queued(queue);
        let due = logger.lock().due();
        seen = queue.wait(seen, due);
    }
}
