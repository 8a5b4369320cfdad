//! The gateway's own exec approvals. They also govern the tree if guard.json makes the guard an administrator
//! of the gateway (`approvals.gateway.admin`).
//!
//! `wire` is the protocol. The policy is compiled from the copy of the gateway's store on disk
//! (`approvals_store::gateways`). `initial` fetches the store before the tree starts, and `thread` while the
//! tree runs. `thread` also adds what "always" saves to the gateway's store.

mod initial;
#[cfg(test)]
mod tests;
mod thread;
mod wire;

pub use initial::{InitialSyncError, InitialSyncFault, ask_first};
pub use thread::{SyncThread, Unsaved};
pub use wire::SyncError;
