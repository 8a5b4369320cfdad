//! A running session, as the operator sees and sets it from outside: `openclaw-guard session`.
//!
//! `server` listens on the session's socket, for processes of this user that are in no guarded tree. `control` does
//! what they ask, which can only make the session stricter or end it. `protocol` defines the messages.

mod control;
pub mod protocol;
mod server;

pub use control::{Control, Started};
pub use server::serve;
