//! OpenClaw's gateway: where it listens (`listens`), and a client for it.
//!
//! `settings` holds the gateway settings of guard.json, `crate::config` OpenClaw's own configuration,
//! `secret` the token or password, `secret_env` the operator's variables that contain one, and `identity` the
//! guard's key. `access` combines them.
//!
//! `dial` opens a connection, with `tls` if needed. `peer` checks the process at the other end, `handshake`
//! gets the guard admitted in its `role`, and `hello` is the gateway's greeting. `link` is an admitted connection: `frames`
//! are its messages, and `calls` matches answers to calls. `pause` computes the wait between two attempts.
//! `sync` fetches a gateway's own approvals, for the policy to be compiled from.

mod access;
mod calls;
mod dial;
mod frames;
mod handshake;
mod hello;
mod identity;
mod link;
mod listens;
mod pause;
mod peer;
mod problem;
mod role;
mod secret;
mod secret_env;
mod settings;
mod sync;
#[cfg(test)]
pub mod tests;
// The names explain themselves, and the module is not shipped.
#[allow(missing_docs)]
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
mod tls;

pub use crate::config::{Config, ConfigError, ConfigProblem, at};
pub use access::{ADMIN, Credentials, GatewayAddressError, GatewayOwner, NoAccess, NoSecret};
pub use frames::{GatewayEvent, Refused};
pub use hello::{HelloError, Run};
pub use identity::{IdentityDefect, IdentityError, IdentityFault, NAME as DEVICE, NODE as NODE_DEVICE};
pub use link::{Events, Link};
pub use listens::{config, copies, find};
pub use pause::Pause;
pub use peer::{GatewayRejected, SocketPair};
pub use problem::{CallError, Disconnected, NotGateway, NotPrivate, OpenError};
pub use role::NodeClient;
pub use secret::SecretError;
pub use secret_env::SecretVariables;
pub use settings::GatewaySettings;
pub use sync::{InitialSyncError, InitialSyncFault, SyncError, SyncThread, Unsaved, ask_first};
pub use tls::{TlsError, Trust, over as tls_over};

/// The items that the fuzz targets use.
#[cfg(any(test, feature = "test-support"))]
pub mod fuzzed {
    pub use super::dial::{Socket, Stream, limits};
    pub use super::frames::{Frame, read};
    pub use super::handshake::greeted;
    pub use super::hello::Hello;
    pub use super::link::Link;
}
