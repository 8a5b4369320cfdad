//! OpenClaw's files and gateway protocol.
//!
//! `config` reads openclaw.json, and [`approvals_store`] the exec approvals. [`gateway`] is a client of OpenClaw's
//! gateway, and [`peer`] identifies the process at the other end of a connection. [`command_text`] reads a command as
//! OpenClaw does before a shell runs it, and [`oracle`] computes what OpenClaw stores of an approval. [`node`] has the
//! calls of a gateway to a node, [`node_match`] finds the node that a name means, and [`sandbox`] computes OpenClaw's
//! sandboxes from its settings. Nothing in this crate asks a human or enforces a verdict.

pub mod approvals_store;
pub mod clock;
pub mod command_text;
mod config;
mod ecmascript;
pub mod gateway;
pub mod ids;
pub mod node;
pub mod node_match;
pub mod oracle;
pub mod peer;
pub mod plain_file;
pub mod ports;
pub mod real_path;
pub mod sandbox;
pub mod tasks;
