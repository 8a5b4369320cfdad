//! `openclaw-guard approvals watch`: one queue of what waits, of every guard of this user and of whoever asks on OpenClaw's
//! approvals socket, which it serves.
//!
//! `place` binds the socket, `server` talks to those who connect, by what `gate` lets pass. `guards` follows the guards.
//! All of it comes as `news` to the `queue`, which a `face` shows: a `screen`, lines, or a `page`
//! (`openclaw-guard approvals serve`).

mod command;
mod face;
pub(crate) mod gate;
mod guards;
mod lines;
pub(crate) mod news;
mod page;
mod place;
mod queue;
mod screen;
pub(crate) mod server;
#[cfg(test)]
mod tests;

pub use command::{WatchArguments, WatchError, watch};
pub use page::{ServeArguments, ServeError, serve};
