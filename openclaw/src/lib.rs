//! OpenClaw's files and wire.
//!
//! `config` reads openclaw.json, [`approvals_store`] the exec approvals, [`gateway`] is a client of OpenClaw's gateway, and
//! [`peer`] says who is at the other end of a connection. [`command_text`] reads a command as OpenClaw does before a shell
//! runs it, [`oracle`] computes what it keeps of an approval. Nothing here asks a human, and nothing judges.

pub mod approvals_store;
pub mod clock;
pub mod command_text;
mod config;
pub mod gateway;
pub mod ids;
pub mod oracle;
pub mod peer;
pub mod plain_file;
pub mod ports;
pub mod real_path;
pub mod tasks;
