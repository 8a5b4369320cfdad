//! Suggests changes that would allow a request: the nearest existing rule, and a file pattern that covers no more than
//! needed. Only [`crate::decide`] can say whether a change would really allow it.

pub(crate) mod always;
mod fitting;
mod nearest;

pub use always::LiteralError;
pub use fitting::{ArgumentNotText, Coverage, FileKind, Fitting, exactly, fitting, sample, tilde, width};
pub use nearest::{Near, Nearest};
