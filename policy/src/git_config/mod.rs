//! Git configuration by key: which changes of a repository's configuration run nothing.
//!
//! git writes a new configuration to `config.lock` and renames it to `config`. The bytes that would be put there are
//! compared with those that are there. Keys that run nothing may come, go and change. All others must stay as they are,
//! in the same order. Nothing here reads a file.

mod changes;
mod diff;
mod lines;
mod parse;
mod submodule;
mod table;
mod url;
mod values;

pub(crate) use changes::changed_keys;
pub use changes::remotes;
pub(crate) use diff::key_diff;
pub use diff::shown_changes;
pub use parse::{Entry, MAX_BYTES, ParseError, parse};
pub(crate) use submodule::module_depth;
pub use table::names_program;
pub(crate) use values::Around;
