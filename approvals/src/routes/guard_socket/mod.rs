//! The route `cli`: a control socket of each guard, `guard/run/PID.sock` in the state directory, and the command line
//! that asks all of them.
//!
//! `protocol` is what goes over the wire, `place` where the sockets are, `server` the guard's end. The other end is
//! `openclaw_guard::approvals::client`.

pub mod place;
pub mod protocol;
pub mod server;

pub use place::Socket;
pub use protocol::{Approval, Body, Method, QuestionState, Saved};
pub use server::Server;
