//! The terminal between operator and command: what is typed goes in, what is written comes out, like script(1).
//!
//! The command never has the operator's terminal, only a pseudoterminal of the guard. A program on it can neither type
//! for the operator nor read what is not meant for it.
//!
//! `relay` carries; what is shown goes through the `sieve`, and `model` and `modes` know what it came to, so that a
//! `prompt` can be drawn over it and taken away again (`interrupted`).

mod inner;
mod interrupted;
mod keys;
mod model;
mod modes;
mod outer;
mod prompt;
mod quiet;
mod refused;
mod relay;
mod sequence;
mod sieve;

pub use inner::Inner;
pub use outer::{Outer, in_pipeline};
pub use relay::{Relay, Source};
