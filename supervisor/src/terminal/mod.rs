//! The terminal between operator and command: what is typed goes in, what is written comes out, like script(1).
//!
//! The command never has the operator's terminal, only a pseudoterminal of the guard. A program on it can neither type
//! for the operator nor read what is not meant for it.
//!
//! `relay` carries between the operator's `tty` and the command's `pty`; what is shown goes through the `filter`, and
//! `screen` and `modes` know what it came to, so that a `prompt` can be drawn over it and taken away again (`prompt_relay`).

mod filter;
mod keys;
mod modes;
mod prompt;
mod prompt_relay;
mod pty;
mod quiet;
mod relay;
mod screen;
mod sequence;
mod tty;

pub use pty::Pty;
pub use relay::{Relay, RelayEvent};
pub use tty::{Tty, in_pipeline};
