//! Asking a human: held calls wait here for an answer.
//!
//! `book` is the state: which questions wait, on which `cards`, with which `binding`, what has `ended`, what holds for
//! a while (`lasting`). It is told the time. `manager` puts a lock, a clock and a log around it; `runtime` is the thread
//! on which time is kept and routes run. Routes: `control`, the guard's own socket with the command line at its other
//! end; `socket`, OpenClaw's; `gateway`, OpenClaw's gateway. `notify` tells a program, which cannot answer. `watch` is the other end of both sockets.
//! `served` keeps every tree from the page on which is answered, too.

mod binding;
mod book;
mod cards;
pub(crate) mod control;
pub(crate) mod decision;
mod digest;
mod ended;
mod event;
pub(crate) mod gateway;
mod inside;
pub(crate) mod keep;
mod lasting;
mod lifecycle;
pub(crate) mod manager;
mod notify;
pub(crate) mod outcome;
mod questions;
pub(crate) mod request;
mod runtime;
pub(crate) mod served;
mod settings;
pub(crate) mod socket;
mod taking;
#[cfg(test)]
pub mod tests;
mod text;
pub(crate) mod watch;

pub use binding::Binding;
pub use control::{command, protocol};
pub use decision::{Decision, End, Refusal};
pub use digest::Digest;
pub use event::{Event, Log, What};
pub(crate) use gateway::reply;
pub use inside::guard_above;
pub use lifecycle::{Ending, Going, Reason, Told};
pub use manager::{Asked, Cancel, Manager, Ticket};
pub use request::{Exec, Executable, Id, Process, Question, Repeat, Script, Subject};
pub use runtime::{Approvals, Surroundings};
pub use served::served;
pub use settings::Settings;
