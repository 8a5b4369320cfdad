//! The routes to a human. `feed` gives a route the pending questions; `answers` submits answers of routes that cannot
//! report errors back. `peer` identifies the other end of a socket, for all of them.

mod answers;
mod feed;
pub mod gateway;
pub mod guard_socket;
pub(crate) mod notify;
pub mod openclaw_socket;
mod peer;

pub use peer::Peer;
