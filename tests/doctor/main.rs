//! `doctor`: the tests provoke each of its findings.

mod daemons;
mod environment;
mod files;
mod found;
mod gateway;
mod inside;
mod kernel;
mod openclaw;
mod path;
mod policy;
mod shape;
