//! `openclaw-guard approvals`: lists and answers pending questions. [`client`] asks every guard of the user, [`watch`]
//! merges all pending questions into one queue, `tui` shows it on a terminal and `web` on a page. `saved` lists the answers that
//! were saved, and takes them back.

pub mod card;
pub mod client;
pub(crate) mod command;
mod saved;
#[cfg(test)]
mod tests;
mod tui;
pub mod watch;
mod web;
