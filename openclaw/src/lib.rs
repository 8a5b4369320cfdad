//! OpenClaw's files and wire.
//!
//! [`config`] reads openclaw.json, [`approvals_store`] the exec approvals, [`gateway`] is a client of OpenClaw's gateway, and
//! [`peer`] says who is at the other end of a connection. Nothing here asks a human, and nothing judges.

pub mod approvals_store;
pub mod clock;
pub mod config;
pub mod gateway;
pub mod ids;
pub mod peer;
pub mod plain_file;
pub mod ports;
pub mod real_path;
pub mod tasks;
