//! What the approvals need from the guard.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use guard_openclaw::gateway::SyncThread;
use guard_openclaw::ports::{IsMember, Warn};

/// What the routes need from the guard.
#[derive(Clone)]
pub struct Surroundings {
    /// The real path of the state directory.
    pub state: PathBuf,
    /// The directory that `~` stands for.
    pub home: PathBuf,
    /// OpenClaw's key of the session that started the guard, if any.
    pub session_key: Option<String>,
    /// The id of the node that has started the guard for a run, if one has.
    pub node_id: Option<String>,
    /// Saves "always" answers with the gateway.
    pub sync: SyncThread,
    /// Recognises guarded processes, which may not answer.
    pub is_member: IsMember,
    /// Reports problems to the operator.
    pub warn: Warn,
    /// The socket to the front, if the operator has a terminal.
    pub terminal: Option<Arc<UnixStream>>,
}
