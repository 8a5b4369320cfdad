//! The command line, as a user meets it.

mod approvals;
mod bench;
mod check;
mod commands;
mod completions;
mod demo;
mod edit;
mod environment;
mod fixtures;
mod init;
mod layers;
mod limits;
mod lines;
mod manual;
mod observe;
mod own;
mod policies;
mod policy;
mod sandbox;
mod status;
mod tools;
mod trust;
mod why;
mod words;
mod workspace;
