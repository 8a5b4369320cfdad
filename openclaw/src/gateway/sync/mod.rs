//! The gateway's own exec approvals, which govern the tree as well where guard.json has the gateway asked as an
//! administrator (`approvals.gateway.admin`).
//!
//! `wire` is what goes over a connection. What a gateway says is kept on the disk (`approvals_store::gateways`), where the
//! policy is compiled from: `initial` asks before the tree starts, and `thread` while it runs, and puts there what "always"
//! saves.

mod initial;
#[cfg(test)]
mod tests;
mod thread;
mod wire;

pub use initial::ask_first;
pub use thread::{SyncThread, Unsaved};
