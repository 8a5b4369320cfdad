//! Determines what a command given as text would run. OpenClaw 2026.9.6 reads commands in this way before the shell
//! does.
//!
//! The result serves `check -- 'string'`, display, and the entries that "allow always" saves. **Enforcement
//! never uses it**: the kernel shows each program with its real arguments when it starts, which no reading of
//! a text can do. So nothing here lets a program start; at worst it misinforms a human.
//!
//! The text is parsed with tree-sitter's bash grammar, which OpenClaw uses too. The caller resolves the
//! programs before the first command runs.

mod builtins;
mod display;
mod entries;
mod evaluate;
mod evaluation;
mod name;
mod packages;
mod plan;
mod reason;
mod risks;
mod shells;
mod syntax;
mod verdict;
mod words;
mod wrappers;

pub use display::{display, is_line_of};
pub use evaluate::evaluate;
pub use evaluation::{Evaluation, Resolved, SatisfiedBy, Segment, Surroundings};
pub use reason::Blocker;
pub use risks::Risk;
pub use verdict::{Verdicts, verdicts};

/// The longest command that is read, in bytes. The parser's time can grow with the square of the length.
pub const MAX_LENGTH: usize = 8192;

/// The most commands that are read in one text.
pub const MAX_STEPS: usize = 500;

/// The deepest nesting of commands in substitutions that is read.
pub const MAX_NESTING: usize = 16;
