//! The Landlock floor of the tree: what it grants, and what may therefore be left to the kernel.

mod build;
mod grants;
mod listing;
mod plan;
mod watch;

pub use build::{Made, Use};
pub use grants::{Grants, Reach};
pub use listing::Names;
pub use plan::Plan;
#[cfg(test)]
pub use plan::{Held, Untrapped};
pub use watch::watch;
