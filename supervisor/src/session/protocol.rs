//! The messages on a session's socket: one request, one reply, each a line of JSON.

use guard_policy::ElevatedLevel;
use serde::{Deserialize, Serialize};

pub use crate::judge::session_security::SessionSecurity;

/// The protocol version. Requests with another version are refused.
pub const VERSION: u64 = 1;
/// The maximum length of a request, in bytes.
pub const MAX_REQUEST_LEN: u64 = 4096;
/// The maximum length of a reply, in bytes.
pub const MAX_REPLY_LEN: u64 = 1 << 20;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRequest {
    /// [`VERSION`].
    pub version: u64,
    /// What is asked.
    #[serde(flatten)]
    pub method: Method,
}

/// What is asked of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Method {
    /// Describe it.
    Show,
    /// Set its security.
    Set {
        /// The whole id: another guard may have this one's process id by now.
        id: String,
        /// What to set.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        security: Option<SessionSecurity>,
        /// The level of commands outside the guard.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        elevated: Option<ElevatedLevel>,
    },
    /// End it.
    End {
        /// The whole id.
        id: String,
    },
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum SessionReply {
    /// The session as it is, after what was asked.
    Session(Box<SessionInfo>),
    /// What was asked is not done.
    Error {
        /// Why, for people.
        message: String,
    },
}

/// A running session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its name: the `session` of its lines in the audit log.
    pub id: String,
    /// The process id of its supervisor.
    pub pid: u32,
    /// The agent whose policy is in force.
    pub agent: String,
    /// OpenClaw's key of the session that started it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session_key: Option<String>,
    /// The command, cut and with secrets masked. U+FFFD replaces what is not UTF-8.
    pub command: Vec<String>,
    /// The directory in which it was started.
    pub directory: String,
    /// The file of its policy, whether it exists or not.
    pub policy: String,
    /// The limits in force, in words: `memory 2G, pids 512`. Empty if there are none.
    #[serde(default)]
    pub limits: String,
    /// When it was started, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// What becomes of the verdicts.
    pub mode: SessionMode,
    /// `exec.security` in force: `deny`, `allowlist` or `full`.
    pub security: String,
    /// What the operator has set.
    pub set: SessionSecurity,
    /// The level of commands outside the guard.
    #[serde(default)]
    pub elevated: ElevatedLevel,
    /// The number of questions that wait for an answer.
    pub pending: usize,
    /// The number of calls denied so far; with `--observe`, of those that would have been.
    pub denials: u64,
    /// Whether it is being ended.
    pub is_ending: bool,
}

/// What becomes of the verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionMode {
    /// They are enforced.
    Enforce,
    /// `--observe`: nothing is denied.
    Observe,
    /// `learn`: every access is recorded, and only what no policy could allow is denied.
    Learn,
}
