//! Asking a human: held calls wait here for an answer.
//!
//! `pending` is the state: which questions wait, on which `cards`, with which `binding`, which are `resolved`, and which
//! `grants` hold for a while. It is told the time. [`manager`] puts a lock, a clock and a log around it; [`runtime`] is the
//! thread on which time is kept and the [`routes`] run. [`page_lock`] keeps every tree from the page on which is answered.

mod binding;
mod cards;
pub mod decision;
mod digest;
mod event;
mod grants;
mod lifecycle;
pub mod manager;
pub mod outcome;
pub mod page_lock;
mod pending;
pub mod persist;
pub mod question;
mod resolved;
pub mod routes;
pub mod runtime;
pub mod settings;
mod surroundings;
// Names that say what they are; no part of what is shipped.
#[allow(missing_docs)]
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod text;

pub use binding::Binding;
pub use decision::{Decision, Refusal, Resolution};
pub use digest::Digest;
pub use event::{Event, Log, QuestionChange};
pub use lifecycle::{DenyReason, Ending, Going, Lifecycle};
pub use manager::{AskOutcome, Cancel, Manager, Ticket};
pub use page_lock::served;
pub use question::{BoundScript, Exec, Executable, Id, Process, Question, Repeat, Subject};
pub use routes::gateway::reply;
pub use routes::guard_socket::protocol;
pub use runtime::Approvals;
pub use settings::Settings;
pub use surroundings::Surroundings;
