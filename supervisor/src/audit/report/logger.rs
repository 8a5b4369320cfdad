//! The thread that writes the log.

use std::sync::mpsc::{Receiver, SyncSender};

use guard_openclaw::peer::process_tree::Tree;
use guard_shim::failpoints::{Fallible, may_fall};

use super::{Entry, Line, Logged};
use crate::audit::{Context, Record, Writer};

/// Writes what it is told.
pub struct Logger {
    pub writer: Writer,
    pub context: Context,
    pub tree: Tree,
    pub lines: SyncSender<Box<Line>>,
}

impl Logger {
    /// Writes what comes, until nothing can.
    pub fn run(&mut self, receiver: &Receiver<Box<Entry>>) {
        for entry in receiver {
            match *entry {
                Entry::Record(record, told) => {
                    let logged = self.log(record);
                    if let Some(told) = told {
                        // Whoever was to know may be gone.
                        let _ = told.send(logged);
                    }
                }
                // Whatever came before it is written.
                Entry::Flush(done) => drop(done.send(())),
            }
        }
    }

    fn log(&mut self, mut record: Record) -> Logged {
        if let Record::Event(event) = &mut record {
            may_fall(Fallible::Audit, &event.path);
            if event.chain.is_empty() && self.writer.writes() {
                event.chain = self.tree.chain(event.pid);
            }
        }
        let written = self.writer.write(&self.context, &record);
        for problem in written.problems {
            let _ = self.lines.try_send(Box::new(Line::Problem(format!("openclaw-guard: {problem}"))));
        }
        if written.is_logged { Logged::Yes } else { Logged::No }
    }
}
