//! Edits guard.json: a change is made completely or not at all, and never overwrites another change
//! (`replace`).
//!
//! `command` has `allow` and `deny`. A request (`request`) is a list of questions (`query`) with the verdicts that are
//! wanted, and `plan` changes the policy that `context` has read until the engine gives them. `blocker` says what
//! prevents that, and `doubtful_link` asks about symbolic links that a guarded program may have made.

pub mod blocker;
pub mod command;
mod context;
mod diff;
mod doubtful_link;
mod plan;
mod query;
mod replace;
mod request;
#[cfg(test)]
mod tests;

pub use blocker::{BlockedBy, blocked_by, is_of_sandbox};
pub use command::{colour, location, print};
pub use context::EditContext;
pub use diff::{Colour, unified};
pub use plan::{Aim, Denials, Effect, NoPlan, plan};
pub use query::{PathQuery, starts};
pub use replace::{EditError, replace};
pub use request::{EditRequest, Limit};
