//! Changing guard.json: all of a change or nothing of it, and no change of anybody else's lost (`replace`).
//!
//! `command` is `allow` and `deny`: what is wanted (`request`) is made of questions (`query`) that the engine must answer so,
//! and `plan` changes the policy that `context` has read until it does. `blocker` says what keeps it from that.

pub mod blocker;
pub mod command;
mod context;
mod diff;
mod plan;
mod query;
mod replace;
mod request;
#[cfg(test)]
mod tests;

pub use blocker::{BlockedBy, obstacle};
pub use command::{colour, place, print};
pub use context::EditContext;
pub use diff::{Colour, unified};
pub use plan::{Aim, Denials, Effect, NoPlan, plan};
pub use query::{PathQuery, starts};
pub use replace::{EditError, replace};
pub use request::{EditRequest, Limit};
