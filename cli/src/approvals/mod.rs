//! `openclaw-guard approvals`: what waits for an answer, and answering it. [`client`] asks every guard of the user, [`watch`]
//! holds one queue of all that waits, `tui` shows it on a terminal and `web` on a page.

pub mod card;
pub mod client;
pub(crate) mod command;
#[cfg(test)]
mod tests;
mod tui;
pub mod watch;
mod web;
