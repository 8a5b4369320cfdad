//! Tests the client against a gateway that sends what a test wants.

mod access;
mod frames;
mod holder;
mod identity;
mod link;
mod refusals;
mod tls;
