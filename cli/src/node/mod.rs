//! `openclaw-guard node`: this machine as a node of OpenClaw's gateway. Each command that the gateway runs here runs in a
//! guard of its own.
//!
//! `host` is the node, `connection` keeps it connected, and `pairing` prints what the operator has to do. `calls` takes the
//! gateway's calls and sends the answers. `judge` says what the policy says of a command; `policies` keeps the policies of
//! recent calls. `prepare` and `approval` say what an approval would cover, and `tickets` which approvals are still to come.
//! `run` starts the guard of a run and collects its output. `files` are the node's own files, and `status` prints what they
//! say.
//!
//! `guard_openclaw::node` reads the parameters of calls, and builds the answers.

mod approval;
mod arguments;
mod bind;
mod calls;
mod command;
mod connection;
pub mod files;
mod host;
mod judge;
mod pairing;
mod policies;
mod prepare;
mod run;
mod runs;
mod shell_code;
mod status;
mod system_run;
mod tickets;

pub use arguments::NodeArgs;
pub use command::act;
