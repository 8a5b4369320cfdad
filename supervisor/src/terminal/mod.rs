//! The terminal between operator and command: relays keys in and output out, like script(1).
//!
//! The command never has the operator's terminal, only a pseudoterminal of the guard. A program on it can
//! neither type for the operator nor read input that is not meant for it.
//!
//! `relay` connects the operator's `tty` and the command's `pty`. Output goes through the `filter`. `screen`
//! and `modes` track its effect, so that a `prompt` can be drawn over it and removed again (`prompt_relay`).

mod filter;
mod keys;
mod modes;
mod prompt;
mod prompt_relay;
mod pty;
mod quiet;
mod relay;
mod screen;
mod screen_state;
mod sequence;
mod tty;

pub use pty::Pty;
pub use relay::{Relay, RelayEvent};
pub use screen_state::{ScreenState, SharedScreenState};
pub use tty::{Tty, in_pipeline};
