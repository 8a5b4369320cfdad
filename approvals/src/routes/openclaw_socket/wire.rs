//! The messages of OpenClaw's exec-approvals.sock: JSON Lines, one request per connection. Unknown keys are ignored.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use super::paths::SocketToken;
use crate::decision::{Decision, GrantWidth};

/// The maximum number of bytes read while waiting for an answer.
pub const MAX_ANSWER_LEN: u64 = 64 << 10;

/// A client's message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ClientMessage {
    /// A request to approve a command.
    Request {
        /// The socket's token.
        token: String,
        /// The client's id of the question, repeated in the answer.
        id: String,
        /// The command.
        request: Box<ApprovalRequest>,
    },
    /// A request to the listening program to run a command.
    #[serde(rename_all = "camelCase")]
    Exec {
        /// The client's id of the request, repeated in the reply.
        id: String,
        /// A text that no other request with this token has used.
        nonce: String,
        /// When it was written, in milliseconds since 1970.
        ts: i64,
        /// HMAC-SHA-256 of `nonce:ts:requestJson` with the token as the key, in hexadecimal digits.
        hmac: String,
        /// The command to run, as JSON in a string.
        request_json: String,
    },
}

/// The command to approve. As in OpenClaw, everything but the command may be missing or null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The command as a shell would take it; for a file, `[write] /path`.
    pub command: String,
    /// The current directory.
    pub cwd: Option<String>,
    /// The kind of client: `gateway`, `node`, or `openclaw-guard`.
    pub host: Option<String>,
    /// OpenClaw's `security` for the agent: `deny`, `allowlist` or `full`.
    pub security: Option<String>,
    /// When to ask: `off`, `on-miss` or `always`.
    pub ask: Option<String>,
    /// The agent.
    pub agent_id: Option<String>,
    /// The real path of the program or the file.
    pub resolved_path: Option<String>,
    /// The agent's session.
    pub session_key: Option<String>,
}

/// A listener's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ServerMessage {
    /// The answer to `request`.
    Decision {
        /// The id of the question.
        id: String,
        /// The answer.
        decision: Word,
    },
    /// The reply to `exec`: always an error here.
    ExecRes {
        /// The id of the request.
        id: String,
        /// Whether the command was run.
        ok: bool,
        /// Why it was not run.
        error: Problem,
    },
}

/// Why a command was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// OpenClaw's error code, such as `INVALID_REQUEST`.
    pub code: String,
    /// The reason, for humans.
    pub message: String,
    /// What is wrong with the request, for programs: `ttl`, `hmac`, `nonce`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The possible answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Allow the waiting calls.
    AllowOnce,
    /// Allow the waiting calls, and save the entry that the question names.
    AllowAlways,
    /// Deny the waiting calls.
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
    /// An error with OpenClaw's code, and its reason if it has one.
    pub fn new(code: &str, message: &str, reason: Option<&str>) -> Problem {
        Problem { code: code.to_owned(), message: message.to_owned(), reason: reason.map(str::to_owned) }
    }
}

impl ClientMessage {
    /// The line that asks a question.
    pub fn request(token: &SocketToken, id: &str, asked: &ApprovalRequest) -> Vec<u8> {
        let request = Box::new(asked.clone());
        line(&ClientMessage::Request { token: token.text().to_owned(), id: id.to_owned(), request })
    }
}

impl ServerMessage {
    /// The message as a line.
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }
}

fn line(message: &impl Serialize) -> Vec<u8> {
    // Only strings and numbers: serialising them cannot fail.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Reads until the question with this id is answered. Ignores all other messages, and a last line without its newline.
/// Returns `None` if the peer closes without sending anything.
///
/// # Errors
/// If the peer closes or sends more than [`MAX_ANSWER_LEN`] bytes without an answer.
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
