//! Judging a held call: [`guard`] puts it to the policy, within what no policy can allow, and `consent` to a human.

pub(crate) mod active;
pub mod bound_sockets;
pub(crate) mod consent;
pub mod guard;
pub mod local_address;
pub mod recorder;
