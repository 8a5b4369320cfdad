//! The client against a gateway that says what a test wants.

mod link;
pub(crate) mod scripted;
