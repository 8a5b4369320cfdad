//! The audit log: JSON Lines, one decision each, each with the hash of the one before.
//!
//! `line` says what stands in a line, `chain` ties it to the one before, `log` writes it into the files that `files` names,
//! and notes in `head` where the chain ends; `writer` has the journal's copy, too. `read` reads it again,
//! and `command` is what an operator does with it.

mod chain;
pub mod command;
mod export;
mod files;
mod follow;
mod head;
mod journal;
mod line;
mod lines;
mod log;
pub mod read;
mod secrets;
mod stats;
mod tail;
mod verify;
mod writer;

pub use files::beside;
pub use journal::Journal;
pub use line::{Asked, Change, Context, Failed, Record};
pub use log::{AuditLog, Limits};
pub use read::said;
pub use secrets::Secrets;
pub use writer::Writer;
