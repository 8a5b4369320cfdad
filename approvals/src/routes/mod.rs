//! The ways to a human. `feed` gives a route what waits, and takes `answers` of those that cannot be asked back.

mod answers;
mod feed;
pub mod gateway;
pub mod guard_socket;
pub(crate) mod notify;
pub mod openclaw_socket;
