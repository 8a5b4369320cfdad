//! The thread that writes the log.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use guard_openclaw::peer::process_tree::Tree;
use guard_policy::Outcome;
use guard_shim::failpoints::{Fallible, fail_point};

use super::allowance::Allowance;
use super::folds::Folds;
use super::{LogMessage, Logged, Message};
use crate::audit::files::LogPart;
use crate::audit::{Context, Record, Span, Writer};

/// How often the counts of lines that were not written are written.
const COUNT_INTERVAL: Duration = Duration::from_secs(60);
/// What the operator is told once.
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
    /// What the allowance had no room for since the last count.
    uncounted: Option<Span>,
    /// Whether it was said that the allowance is used up.
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

    /// Writes what it receives, until all senders are gone.
    pub fn run(&mut self, receiver: &Receiver<Box<LogMessage>>) {
        loop {
            let received = if self.folds.is_empty() && self.uncounted.is_none() {
                receiver.recv().map_err(RecvTimeoutError::from)
            } else {
                receiver.recv_timeout(self.due.saturating_duration_since(Instant::now()))
            };
            match received.map(|entry| *entry) {
                Ok(LogMessage::Record(record, reply)) => {
                    let logged = self.log(record);
                    if let Some(reply) = reply {
                        // The waiting thread may be gone.
                        let _ = reply.send(logged);
                    }
                }
                Ok(LogMessage::Flush(done)) => {
                    self.write_counts();
                    // Everything received before this is written. The waiting thread may be gone.
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if Instant::now() >= self.due {
                self.write_counts();
            }
        }
    }

    fn log(&mut self, record: Record) -> Logged {
        let Record::Event(mut event) = record else { return self.write(&record) };
        fail_point(Fallible::Audit, &event.path);
        if event.outcome == Outcome::Allow {
            if event.chain.is_empty() && self.writer.writes() {
                event.chain = self.tree.chain(event.pid);
            }
            return self.write(&Record::Event(event));
        }
        // A denial that is counted is logged: its first one has a line, and the count will have one.
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
