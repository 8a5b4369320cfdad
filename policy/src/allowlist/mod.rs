//! OpenClaw's exec allowlist.

mod cwd_argv;
mod pattern;

pub use cwd_argv::cwd_argv_pattern;
pub use pattern::matches_allowlist_pattern;
