//! The audit log: JSON Lines, one record per line, each with the hash of the line before.
//!
//! `report` takes each `event` and lets threads write it; the gate writes each `tool`. `record` defines the content of
//! a line, `secrets` masks it, `chain` links it to the line before, `log` writes it to the files that `files` names,
//! and records the end of the chain in `head`. `writer` chooses between the log's two parts, and also sends a copy to
//! the `journal`. `reader` reads the log, with the help of `lines`.

pub mod chain;
mod event;
pub mod files;
mod head;
mod journal;
pub mod lines;
mod log;
pub mod reader;
mod reason;
pub mod record;
pub mod report;
mod secrets;
mod tool;
mod writer;

pub use event::{DecisionEvent, MAX_ARGV, MAX_DENIED_ARGV, Operation, shortened};
pub use files::beside;
pub use journal::Journal;
pub use log::{AuditLog, Limits};
pub use reader::summary;
pub use record::{
    Context, Failed, PolicyChange, QuestionRecord, Record, SessionChange, SessionEvent, Span,
    WebConnectionRecord,
};
pub use secrets::Secrets;
pub use tool::{ToolCaller, ToolEvent};
pub use writer::Writer;
