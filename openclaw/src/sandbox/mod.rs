//! OpenClaw's sandboxes (release 2026.9.6): which sessions run in one, how openclaw.json configures its container,
//! which binds are refused, and docker's arguments.
//!
//! Only [`HostDisk`] looks at this machine; everything else is computed. Where the guard is stricter than
//! OpenClaw, its checks come after OpenClaw's own ([`BindCheck::stricter`]).

mod agents;
mod bind;
mod binds;
mod blocked;
mod create;
mod elevated;
pub(crate) mod host_path;
mod isolation;
mod layout;
mod links;
mod refusal;
mod section;
mod session;
mod settings;
mod unread;

pub use agents::{SessionAgentError, agent_id, session_agent};
pub use bind::BindSpec;
pub use binds::{BindCheck, BindReason, BindRules, RefusedBind, StricterReason};
pub use blocked::{BlockedPaths, Overlap};
pub use create::{ContainerArgs, ContainerIdentity, VariableError};
pub use elevated::{ElevatedGates, FailedGate, channel_word};
pub use isolation::{Isolation, RefusedIsolation};
pub use layout::{MountOrigin, OpenclawDirectories, SandboxLayout, SandboxMount};
pub use links::{HostDisk, HostPaths, PathEntry, Route};
pub use refusal::{SandboxRefusal, check};
pub use section::{NamedValues, SettingError};
pub use session::{SandboxSession, is_listed};
pub use settings::{
    DockerSettings, DockerSize, SandboxMode, SandboxScope, SandboxSettings, Ulimit, WorkspaceAccess,
};
pub use unread::{agent_ids, unknown_keys, unresolved};
