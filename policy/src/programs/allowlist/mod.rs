//! OpenClaw's exec allowlist.

mod arguments;
mod backtracking;
mod cwd_argv;
mod entry;
pub(crate) mod expression;
mod list;
mod pattern;

pub(crate) use arguments::ARGV_ONLY;
pub(crate) use cwd_argv::CWD_ARGV;
pub(crate) use entry::{COMMANDS, CompiledEntry};
pub use list::ProgramMatch;
pub(crate) use list::{Allowlist, NamingEntry};

pub use arguments::matches_arg_pattern;
pub use cwd_argv::{cwd_argv_pattern, exec_pattern, is_by_own_name};
pub use pattern::matches_allowlist_pattern;
