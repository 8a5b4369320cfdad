//! The lines of OpenClaw's exec-approvals.sock: JSON Lines, one request a connection. Keys that are not known here do
//! not count.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use super::place::Token;
use crate::decision::{Decision, Width};

/// All that is read of an answer: more is none.
pub const LONGEST_ANSWER: u64 = 64 << 10;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Line {
    /// A command is to be approved.
    Request { token: String, id: String, request: Box<Asked> },
    /// A command is to be run by the program that listens.
    #[serde(rename_all = "camelCase")]
    Exec { id: String, nonce: String, ts: i64, hmac: String, request_json: String },
}

/// What is to be approved. As OpenClaw has it, everything but the command may be missing or null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    pub command: String,
    pub cwd: Option<String>,
    pub host: Option<String>,
    pub security: Option<String>,
    pub ask: Option<String>,
    pub agent_id: Option<String>,
    pub resolved_path: Option<String>,
    pub session_key: Option<String>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Reply {
    /// To `request`.
    Decision { id: String, decision: Word },
    /// To `exec`: always an error here.
    ExecRes { id: String, ok: bool, error: Problem },
}

/// Why a command was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The answers that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    AllowOnce,
    AllowAlways,
    Deny,
}

impl From<Word> for Decision {
    fn from(word: Word) -> Decision {
        match word {
            Word::AllowOnce => Decision::AllowOnce,
            Word::AllowAlways => Decision::AllowAlways(Width::Narrow),
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

impl Line {
    /// A question, as a line.
    pub fn request(token: &Token, id: &str, asked: &Asked) -> Vec<u8> {
        let request = Box::new(asked.clone());
        line(&Line::Request { token: token.text().to_owned(), id: id.to_owned(), request })
    }
}

impl Reply {
    /// As a line.
    pub fn line(&self) -> Vec<u8> {
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
/// When the other end goes, or says more than [`LONGEST_ANSWER`], without having answered.
pub async fn answer(read: impl AsyncBufRead + Unpin, id: &str) -> io::Result<Option<Word>> {
    let mut read = read.take(LONGEST_ANSWER);
    let mut line = Vec::new();
    loop {
        line.clear();
        read.read_until(b'\n', &mut line).await?;
        if line.is_empty() && read.limit() == LONGEST_ANSWER {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended without an answer"));
        }
        match serde_json::from_slice(&line) {
            Ok(Reply::Decision { id: answered, decision }) if answered == id => return Ok(Some(decision)),
            _ => {}
        }
    }
}
