//! The route `gateway`: OpenClaw's gateway asks whoever is connected to it. The guard is a client of it
//! (`guard_openclaw::gateway`).
//!
//! `card` is a question as the gateway is asked it, `reply` what it says to that; `line` keeps a connection; `ask` asks
//! one question until somebody answers, `route` all that wait; `session` tells how programs go on.

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
