//! The route `cli`: each guard's control socket, `guard/run/PID.sock` in the state directory. The command line asks all
//! of them.
//!
//! `protocol` defines the messages, `paths` has the paths of the sockets, and `server` is the guard's end. The other end is
//! `openclaw_guard::approvals::client`.

pub mod paths;
pub mod protocol;
pub mod server;

pub use paths::{Purpose, Socket};
pub use protocol::{Approval, Body, Method, QuestionState, Saved};
pub use server::Server;
