//! Tests the client against a gateway that sends what a test wants.

mod access;
mod frames;
mod identity;
mod link;
mod peer;
mod refusals;
mod tls;
