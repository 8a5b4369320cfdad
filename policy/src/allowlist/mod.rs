//! What an allowlist entry says beside its pattern.

mod cwd_argv;

pub use cwd_argv::cwd_argv_pattern;
