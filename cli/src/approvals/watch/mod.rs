//! `openclaw-guard approvals watch`: one queue of the pending questions of every guard of this user, and of the peers
//! of OpenClaw's approvals socket, which it serves.
//!
//! `endpoint` binds the socket, `server` talks to the peers that `admission` admits. `guards` follows the guards. Each
//! change is an `event` to the `queue`. A `view` shows the queue: a screen (`super::tui`), `lines`, or a page
//! (`super::web`, for `openclaw-guard approvals serve`). What a human does with it is an `act`.

pub(crate) mod act;
pub mod admission;
pub(crate) mod command;
pub(crate) mod endpoint;
pub mod event;
mod guards;
mod lines;
pub(crate) mod queue;
pub(crate) mod row_text;
pub mod server;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod view;

pub(crate) use crate::approvals::web::{ServeArguments, ServeError, serve};
pub(crate) use command::{WatchArguments, WatchError, watch};
