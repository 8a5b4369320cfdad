//! What would have to change for another answer: the nearest rule that says it, and a pattern of files that says it for no
//! more than is needed. That it would indeed is for [`crate::decide`] to say.

pub(crate) mod always;
mod fitting;
mod nearest;

pub use fitting::{Coverage, FileKind, Fitting, exactly, fitting, sample, tilde, width};
pub use nearest::{Near, Nearest};
