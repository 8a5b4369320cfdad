//! The terminal between operator and command: what is typed goes in, what is written comes out, like script(1).
//!
//! The command never has the operator's terminal, only a pseudoterminal of the guard. A program on it can neither type
//! for the operator nor read what is not meant for it.

mod inner;
mod keys;
mod outer;
mod relay;

pub use inner::Inner;
pub use outer::{Outer, in_pipeline};
pub use relay::{Relay, Source};
