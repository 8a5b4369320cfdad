//! OpenClaw's gateway: where it listens (`listens`), and the client of it.
//!
//! `settings` is what guard.json says of it, `crate::config` what OpenClaw's own configuration says, `secret` what opens it,
//! `secret_env` which of the operator's variables do, `identity` who the guard is to it; `access` puts them together. `dial`
//! makes a connection, by `tls` where it must be, `peer` says who is at its other end, `handshake` gets it let in, `hello` is
//! what the gateway says to that, and `link` is one that has been let in: `frames` are what goes over it, `calls` which answer
//! belongs to which call. `pause` is how long it waits between two tries.
//! `sync` brings a gateway's own approvals to where the policy is compiled from.

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
mod secret;
mod secret_env;
mod settings;
mod sync;
#[cfg(test)]
pub mod tests;
// Names that say what they are; no part of what is shipped.
#[allow(missing_docs)]
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
mod tls;

pub use crate::config::Config;
pub use access::{ADMIN, Credentials, NoAccess};
pub use frames::Refused;
pub use hello::Run;
pub use identity::NAME as DEVICE;
pub use link::Link;
pub use listens::{config, copies, find};
pub use pause::Pause;
pub use peer::{GatewayRejected, SocketPair};
pub use problem::{CallError, OpenError};
pub use secret_env::SecretVariables;
pub use settings::GatewaySettings;
pub use sync::{SyncThread, Unsaved, ask_first};
pub use tls::{Trust, over as tls_over};

/// What is thrown at.
#[cfg(any(test, feature = "test-support"))]
pub mod fuzzed {
    pub use super::dial::{Socket, Stream, limits};
    pub use super::frames::{Frame, read};
    pub use super::handshake::greeted;
    pub use super::hello::Hello;
    pub use super::link::Link;
}
