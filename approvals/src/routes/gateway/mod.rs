//! The route `gateway`: OpenClaw's gateway asks the humans connected to it. The guard is a client of it
//! (`guard_openclaw::gateway`).
//!
//! `card` builds the request and `reply` reads the reply; `line` keeps a connection; `ask` asks one question until it
//! is answered, `route` asks all pending ones; `session` reports how programs go on.

mod ask;
mod card;
mod line;
pub mod reply;
mod route;
mod session;
#[cfg(test)]
mod tests;

pub use line::{Connection, Find};
pub use route::GatewayAsker;
pub use session::SessionReporter;
