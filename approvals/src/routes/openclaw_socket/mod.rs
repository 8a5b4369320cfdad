//! The route `socket`: OpenClaw's exec-approvals.sock. The guard is a client of it; `openclaw-guard approvals watch`
//! (`openclaw_guard::approvals::watch`) listens there, and so does the companion program of OpenClaw on macOS.
//!
//! `paths` finds the socket and its token, `wire` defines the messages, and `text` renders a call. `ask` asks one
//! question, `route` all pending ones, and `probe` finds out whether anybody listens.

mod ask;
mod paths;
mod probe;
mod route;
#[cfg(test)]
mod tests;
mod text;
pub mod wire;

pub use paths::{Endpoint, EndpointError, Find, SocketToken, make};
pub use probe::Probe;
pub use route::SocketAsker;
pub use wire::{ApprovalRequest, ClientMessage, Problem, ServerMessage, Word};
