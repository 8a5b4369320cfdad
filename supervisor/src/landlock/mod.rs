//! The Landlock floor of the tree: its grants, and the calls that may therefore be left to the kernel.

mod awaited;
mod build;
mod grants;
mod hierarchy_grant;
mod listing;
mod location;
mod plan;
mod socket_scope;
mod watch;

pub use build::{BuiltDomain, Use};
pub use grants::{Grants, Target};
pub use hierarchy_grant::PlacedGrant;
pub use listing::Names;
pub use location::Location;
pub use plan::LandlockPlan;
#[cfg(test)]
pub use plan::{HeldCall, Untrapped};
pub use socket_scope::{LEFT_TO_OTHERS, SocketScope};
pub use watch::watch;
