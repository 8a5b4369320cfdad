//! What the guard is asked by those that it starts: functions, so that nothing below depends on how it answers.

use std::sync::Arc;

/// Whether a process is a member of the guarded tree: it must not answer its own questions.
pub type IsMember = Arc<dyn Fn(i32) -> bool + Send + Sync>;
/// Says to the operator what goes wrong.
pub type Warn = Arc<dyn Fn(String) + Send + Sync>;
