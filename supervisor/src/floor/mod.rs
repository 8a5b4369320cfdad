//! The Landlock floor of the tree: what it grants, and what may therefore be left to the kernel.

mod grants;
mod made;
mod names;
mod plan;
mod watch;

pub use grants::{Grants, Reach};
pub use made::{Made, Use};
pub use names::Names;
pub use plan::Plan;
#[cfg(test)]
pub use plan::{Held, Untrapped};
pub use watch::watch;
