//! What the guard is to the approval side.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use guard_openclaw::gateway::SyncThread;
use guard_openclaw::ports::{IsMember, Warn};

/// What routes need of the guard.
#[derive(Clone)]
pub struct Surroundings {
    /// The real path of the state directory.
    pub state: PathBuf,
    /// What `~` means.
    pub home: PathBuf,
    /// OpenClaw's key of the session that started the guard, where there is one.
    pub session_key: Option<String>,
    /// What saves with the gateway.
    pub follower: SyncThread,
    /// Who may not answer.
    pub is_member: IsMember,
    /// Where problems go.
    pub complain: Warn,
    /// The way to the front, where the operator has a terminal.
    pub terminal: Option<Arc<UnixStream>>,
}
