//! What stays the same in a session, whatever the policy: its name, who answers, and what is recorded where.

use std::path::PathBuf;
use std::sync::Arc;

use guard_approvals::Approvals;

use super::moving::Moving;
use super::recorder::Recorder;
use crate::config::answered_writes::AnsweredWrites;
use crate::config::known_programs::KnownPrograms;
use crate::landlock::SocketScope;
use crate::web::WebClients;

/// A session without its policy. The default has no name and nobody to ask, and records nothing.
#[derive(Default)]
pub struct SessionContext {
    /// The name of this run.
    pub name: String,
    /// `--observe`: nothing is blocked.
    pub observe: bool,
    /// Records what the tree does, if the session learns.
    pub recorder: Option<Recorder>,
    /// The approvals to ask, if there are any.
    pub approvals: Option<Arc<Approvals>>,
    /// The scope of the tree's abstract sockets.
    pub scope: SocketScope,
    /// The tree's connections to the guard's proxy, if there is one.
    pub web: Option<Arc<WebClients>>,
    /// The state directory; `None` if there is no approvals page to look for.
    pub state: Option<PathBuf>,
    /// Held from judgement to operation by calls that move rights: rename and link.
    pub moving: Moving,
    /// The programs that a human has allowed in the project.
    pub known_programs: KnownPrograms,
    /// Records what answers let the tree write.
    pub answered_writes: AnsweredWrites,
}
