//! Judging a held call: [`guard`] applies the policy, within limits that no policy can lift, and `consent` asks a
//! human.

pub(crate) mod active;
pub mod anchored_path;
mod bound_file;
pub mod bound_name;
pub mod bound_sockets;
mod connections;
pub(crate) mod consent;
pub mod created;
pub mod git_files;
pub(crate) mod git_locks;
mod git_look;
pub(crate) mod git_remotes;
pub mod guard;
mod link_search;
mod link_target;
mod link_text;
pub mod linked_names;
mod listing;
pub mod local_address;
pub mod made_directories;
mod moved_directory;
pub(crate) mod moved_grants;
pub mod moving;
mod paths;
pub(crate) mod persistence;
mod port_holders;
pub mod program_starts;
pub mod recorder;
pub mod session_context;
pub mod session_security;
pub mod shapes;
pub mod shared_ports;
mod sock_diag;
pub(crate) mod used_entries;
