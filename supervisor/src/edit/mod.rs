//! Changing guard.json: all of a change or nothing of it, and no change of anybody else's lost (`replace`).
//!
//! `command` is `allow` and `deny`: what is wanted (`wish`) is made of questions (`part`) that the engine must answer so, and
//! `plan` changes the policy that `ground` has read until it does. `obstacle` says what keeps it from that.

pub mod command;
mod diff;
mod ground;
mod obstacle;
mod part;
mod plan;
mod replace;
#[cfg(test)]
mod tests;
mod wish;

pub use command::{colour, place, print};
pub use diff::{Colour, unified};
pub use ground::Ground;
pub use obstacle::{Obstacle, obstacle};
pub use part::{Part, starts};
pub use plan::{Aim, Denials, Effect, NoPlan, plan};
pub use replace::{EditError, replace, temporary};
pub use wish::{Limit, Wish};
