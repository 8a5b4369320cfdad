//! What a command given as text would run, as OpenClaw 2026.9.6 sees it before the shell does.
//!
//! For `check -- 'string'`, for display, and for what "allow always" saves. **Enforcement never uses it**: the kernel
//! shows each program with its real arguments when it starts, which no reading of a text can do. So nothing here can
//! let anything through; at worst it tells a human something wrong. Only [`inline_eval_of`] is asked there, too: about
//! real arguments, and to ask where it would be allowed.
//!
//! The text is read by tree-sitter's bash grammar, which OpenClaw uses too. What programs resolve to is as of before
//! the first command runs: the policy crate does no I/O, and the caller says.

mod always;
mod builtins;
mod display;
mod evaluate;
mod grammar;
mod inline_eval;
mod interpreters;
mod name;
mod packages;
mod plan;
mod reason;
mod risks;
mod script;
mod shells;
mod syntax;
mod verdict;
mod words;
mod wrappers;

pub use always::{AllowAlways, Entry, Once, StrictInlineEval, derive};
pub use display::{display, is_line_of, quoted};
pub use evaluate::{Evaluation, Resolved, SatisfiedBy, Segment, Surroundings, evaluate};
pub use inline_eval::{Hit, Inline, inline_eval, inline_eval_of, is_interpreter};
pub use reason::Reason;
pub use risks::Risk;
pub use script::script_operand;
pub use verdict::{Verdicts, verdicts};

/// The longest command that is read, in bytes. The parser's time can grow with the square of it.
pub const MAX_LENGTH: usize = 8192;

/// The most commands that are read in one text.
pub const MAX_STEPS: usize = 500;

/// How deep commands are read within the substitutions of others.
pub const MAX_NESTING: usize = 16;
