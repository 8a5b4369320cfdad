//! Callbacks into the guard: plain functions, so that this crate does not depend on how it answers.

use std::sync::Arc;

/// A test of whether a process belongs to the guarded tree, which must not answer its own questions.
pub type IsMember = Arc<dyn Fn(i32) -> bool + Send + Sync>;
/// A function that reports a problem to the operator.
pub type Warn = Arc<dyn Fn(String) + Send + Sync>;
