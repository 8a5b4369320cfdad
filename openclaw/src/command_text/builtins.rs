//! Shell builtins that need no entry: they start nothing and write nothing.

use super::syntax::SimpleCommand;

const SAFE: [&str; 6] = [":", "cd", "false", "pwd", "test", "true"];

/// Returns whether a command is one of these builtins, or `[ … ]`.
pub(super) fn is_safe_builtin(step: &SimpleCommand) -> bool {
    // The name must match as written: `/tmp/true` and `TRUE` are programs.
    step.argv.first().is_some_and(|name| SAFE.contains(&name.as_str()) || name == "[" && step.is_test)
}
