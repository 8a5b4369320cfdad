//! Asking a human: held calls wait here for an answer.
//!
//! `pending` holds the state: the pending questions, their `cards` and their `binding`, the `resolved` questions, and
//! the temporary `grants` and `file_grants`. It has no clock of its own. [`manager`] adds a lock, a clock and a log.
//! [`runtime`] is the thread that expires questions and runs the [`routes`]. [`page_lock`] keeps guarded processes away
//! from the approvals page.

mod asked_host;
mod binding;
mod cards;
mod code_input;
pub mod decision;
mod digest;
mod event;
pub mod facts;
mod file_grants;
mod grants;
mod host_grants;
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
// Test helpers have self-explanatory names and are not part of the release.
#[allow(missing_docs)]
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod text;

pub use asked_host::{AskedHost, HostProtocol};
pub use binding::Binding;
pub use code_input::{CodeInput, InputSource};
pub use decision::{Decision, Refusal, Resolution};
pub use digest::Digest;
pub use event::{Event, Log, QuestionChange};
pub use file_grants::AskedFile;
pub use lifecycle::{DenyReason, Ending, Going, Lifecycle};
pub use manager::{AskOutcome, Cancel, Manager, Ticket};
pub use page_lock::served;
pub use pending::MAX_WAITERS;
pub use question::{
    Always, AskedDirectory, BoundScript, Exec, Executable, FileChange, Id, Process, Question, Reach, Repeat,
    Subject, WhichDirectory, WhichFile,
};
pub use routes::gateway::reply;
pub use routes::guard_socket::protocol;
pub use runtime::Approvals;
pub use settings::Settings;
pub use surroundings::Surroundings;
