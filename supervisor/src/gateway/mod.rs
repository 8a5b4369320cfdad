//! OpenClaw's gateway: where it listens (`listens`), and the client of it.
//!
//! `wanted` is what guard.json says of it, `openclaw` what OpenClaw's own configuration says, `secret` what opens it,
//! `withheld` which of the operator's variables do, `identity` who the guard is to it; `access` puts them together. `dial`
//! makes a connection, by `tls` where it must be, `holder` says who is at its other end, `greeting` gets it let in, `hello` is
//! what the gateway says to that, and `link` is one that has been let in: `frames` are what goes over it, `calls` which answer
//! belongs to which call.
//! `governing` is what a gateway's own approvals do to the policy.

mod access;
mod calls;
mod dial;
mod frames;
mod governing;
mod greeting;
mod hello;
mod holder;
mod identity;
mod link;
mod listens;
mod openclaw;
mod pause;
mod problem;
mod secret;
#[cfg(test)]
pub(crate) mod tests;
mod tls;
mod wanted;
mod withheld;

pub use access::{ADMIN, Access, NoAccess};
pub use frames::Refused;
pub use governing::{Follower, Unsaved, ask_first};
pub use hello::Run;
pub use holder::{Ends, Turned};
pub use identity::NAME as DEVICE;
pub use link::Link;
pub use listens::{config, copies, find};
pub use openclaw::Config;
pub use pause::Pause;
pub use problem::{CallError, OpenError};
pub use tls::{Trust, over as tls_over};
pub use wanted::Wanted;
pub use withheld::Withheld;

/// What is thrown at.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzed {
    pub use super::dial::{Socket, Stream, limits};
    pub use super::frames::{Frame, read};
    pub use super::greeting::greeted;
    pub use super::hello::Hello;
    pub use super::link::Link;
}
