//! The audit log: JSON Lines, one decision each, each with the hash of the one before.
//!
//! `line` says what stands in a line, `chain` ties it to the one before, `log` writes it into the files that `files` names,
//! and notes in `head` where the chain ends; `writer` has the journal's copy, too. `read` reads it again,
//! and `command` is what an operator does with it.

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

pub use event::{Event, Operation, shortened};
pub use files::beside;
pub use journal::Journal;
pub use log::{AuditLog, Limits};
pub use reader::said;
pub use record::{Asked, Change, Context, Failed, Record};
pub use secrets::Secrets;
pub use writer::Writer;
