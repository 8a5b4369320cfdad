//! The command line, as a user meets it.

mod approvals;
mod audit;
mod bench;
mod check;
mod commands;
mod doctor;
mod environment;
mod fixtures;
mod layers;
mod lines;
mod observe;
mod own;
mod policies;
mod policy;
mod status;
