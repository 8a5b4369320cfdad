//! The audit log: JSON Lines, one decision each, each with the hash of the one before.
//!
//! `report` takes each `event` and has threads write it down. `record` says what stands in a line, `secrets` what does not,
//! `chain` ties it to the one before, `log` writes it into the files that `files` names, and notes in `head` where the chain
//! ends; `writer` has the copy for the `journal`, too. `reader` reads it again, by `lines`.

pub mod chain;
mod event;
pub mod files;
mod head;
mod journal;
pub mod lines;
mod log;
pub mod reader;
pub mod record;
pub mod report;
mod secrets;
mod writer;

pub use event::{DecisionEvent, Operation, shortened};
pub use files::beside;
pub use journal::Journal;
pub use log::{AuditLog, Limits};
pub use reader::summary;
pub use record::{Context, Failed, PolicyChange, QuestionRecord, Record};
pub use secrets::Secrets;
pub use writer::Writer;
