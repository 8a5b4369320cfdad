//! The thread that writes the log.

use std::sync::mpsc::{Receiver, SyncSender};

use guard_openclaw::peer::process_tree::Tree;
use guard_shim::failpoints::{Fallible, fail_point};

use super::{LogMessage, Logged, Message};
use crate::audit::{Context, Record, Writer};

/// Writes records to the log and the journal.
pub struct Logger {
    pub writer: Writer,
    pub context: Context,
    pub tree: Tree,
    pub lines: SyncSender<Box<Message>>,
}

impl Logger {
    /// Writes what it receives, until all senders are gone.
    pub fn run(&mut self, receiver: &Receiver<Box<LogMessage>>) {
        for entry in receiver {
            match *entry {
                LogMessage::Record(record, told) => {
                    let logged = self.log(record);
                    if let Some(told) = told {
                        // The waiting thread may be gone.
                        let _ = told.send(logged);
                    }
                }
                // Everything received before this is written.
                LogMessage::Flush(done) => drop(done.send(())),
            }
        }
    }

    fn log(&mut self, mut record: Record) -> Logged {
        if let Record::Event(event) = &mut record {
            fail_point(Fallible::Audit, &event.path);
            if event.chain.is_empty() && self.writer.writes() {
                event.chain = self.tree.chain(event.pid);
            }
        }
        let written = self.writer.write(&self.context, &record);
        for problem in written.problems {
            let _ = self.lines.try_send(Box::new(Message::Problem(format!("openclaw-guard: {problem}"))));
        }
        if written.is_logged { Logged::Yes } else { Logged::No }
    }
}
