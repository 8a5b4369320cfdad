//! The lines of OpenClaw's exec-approvals.sock: JSON Lines, one request a connection. Keys that are not known here do
//! not count.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use super::place::SocketToken;
use crate::decision::{Decision, GrantWidth};

/// All that is read of an answer: more is none.
pub const MAX_ANSWER_LEN: u64 = 64 << 10;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ClientMessage {
    /// A command is to be approved.
    Request {
        /// What opens the socket.
        token: String,
        /// The client's name for the question; the answer has it too.
        id: String,
        /// The command.
        request: Box<ApprovalRequest>,
    },
    /// A command is to be run by the program that listens.
    #[serde(rename_all = "camelCase")]
    Exec {
        /// The client's name for the request; the reply has it too.
        id: String,
        /// A text that no other request of this token has.
        nonce: String,
        /// When it was written, in milliseconds since 1970.
        ts: i64,
        /// HMAC-SHA-256 of `nonce:ts:requestJson` by the token, in hexadecimal digits.
        hmac: String,
        /// What is to be run, as JSON in a string.
        request_json: String,
    },
}

/// What is to be approved. As OpenClaw has it, everything but the command may be missing or null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The command as a shell would take it; a file reads `[write] /path`.
    pub command: String,
    /// The current directory.
    pub cwd: Option<String>,
    /// The side that asks: `gateway`, `node`, or `openclaw-guard`.
    pub host: Option<String>,
    /// OpenClaw's `security` for the agent: `deny`, `allowlist` or `full`.
    pub security: Option<String>,
    /// When it is asked: `off`, `on-miss` or `always`.
    pub ask: Option<String>,
    /// The agent.
    pub agent_id: Option<String>,
    /// The real path of the program or the file.
    pub resolved_path: Option<String>,
    /// The agent's session.
    pub session_key: Option<String>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ServerMessage {
    /// To `request`.
    Decision {
        /// The question's.
        id: String,
        /// The answer.
        decision: Word,
    },
    /// To `exec`: always an error here.
    ExecRes {
        /// The request's.
        id: String,
        /// Whether it was run.
        ok: bool,
        /// Why not.
        error: Problem,
    },
}

/// Why a command was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// OpenClaw's, such as `INVALID_REQUEST`.
    pub code: String,
    /// For people.
    pub message: String,
    /// What is wrong with the request, for programs: `ttl`, `hmac`, `nonce`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The answers that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The calls that wait go on.
    AllowOnce,
    /// They go on, and what the question names is saved.
    AllowAlways,
    /// They are denied.
    Deny,
}

impl From<Word> for Decision {
    fn from(word: Word) -> Decision {
        match word {
            Word::AllowOnce => Decision::AllowOnce,
            Word::AllowAlways => Decision::AllowAlways(GrantWidth::Narrow),
            Word::Deny => Decision::Deny,
        }
    }
}

impl Problem {
    /// With OpenClaw's code, and its reason where it has one.
    pub fn new(code: &str, message: &str, reason: Option<&str>) -> Problem {
        Problem { code: code.to_owned(), message: message.to_owned(), reason: reason.map(str::to_owned) }
    }
}

impl ClientMessage {
    /// A question, as a line.
    pub fn request(token: &SocketToken, id: &str, asked: &ApprovalRequest) -> Vec<u8> {
        let request = Box::new(asked.clone());
        line(&ClientMessage::Request { token: token.text().to_owned(), id: id.to_owned(), request })
    }
}

impl ServerMessage {
    /// As a line.
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }
}

fn line(message: &impl Serialize) -> Vec<u8> {
    // Strings and numbers: nothing that could fail.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Reads until somebody answers the question of this id; what else is said does not count, and neither does a line
/// without its end. `None` where the other end goes and has said nothing at all.
///
/// # Errors
/// When the other end goes, or says more than [`MAX_ANSWER_LEN`], without having answered.
pub async fn answer(read: impl AsyncBufRead + Unpin, id: &str) -> io::Result<Option<Word>> {
    let mut read = read.take(MAX_ANSWER_LEN);
    let mut line = Vec::new();
    loop {
        line.clear();
        read.read_until(b'\n', &mut line).await?;
        if line.is_empty() && read.limit() == MAX_ANSWER_LEN {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended without an answer"));
        }
        match serde_json::from_slice(&line) {
            Ok(ServerMessage::Decision { id: answered, decision }) if answered == id => {
                return Ok(Some(decision));
            }
            _ => {}
        }
    }
}
