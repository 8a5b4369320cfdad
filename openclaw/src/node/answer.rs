//! A node's answers to calls.

use serde_json::{Value, json};

use super::event::{NodeEvent, RunReport};

/// The result of a call, or why it failed.
pub type Answer = Result<Value, InvokeError>;

/// The code of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The call is malformed.
    InvalidRequest,
    /// The node cannot do what the call asks for, or cannot do it at the moment.
    Unavailable,
    /// The policy does not let the command run.
    Denied,
}

impl Code {
    /// The code's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::InvalidRequest => "INVALID_REQUEST",
            Code::Unavailable => "UNAVAILABLE",
            Code::Denied => "SYSTEM_RUN_DENIED",
        }
    }
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvokeError {
    /// The code.
    pub code: Code,
    /// The sentence.
    pub message: String,
}

impl InvokeError {
    /// The error for a malformed call.
    pub fn invalid(message: impl Into<String>) -> InvokeError {
        InvokeError { code: Code::InvalidRequest, message: message.into() }
    }

    /// The error for a malformed call, in the form of the errors that OpenClaw's node throws.
    pub fn thrown(message: impl std::fmt::Display) -> InvokeError {
        InvokeError::invalid(format!("Error: INVALID_REQUEST: {message}"))
    }

    /// The error for something that the node cannot do at all, or not at the moment.
    pub fn unavailable(message: impl Into<String>) -> InvokeError {
        InvokeError { code: Code::Unavailable, message: message.into() }
    }

    /// The error for a command that the node does not have, or does not offer.
    pub fn unknown() -> InvokeError {
        InvokeError::unavailable("command not supported")
    }

    /// The error for one call or command too many. The node takes `most` of them at once; `what` is their name.
    pub fn busy(most: usize, what: &str) -> InvokeError {
        InvokeError::unavailable(format!("busy: no more than {most} {what} at a time; try again later"))
    }
}

/// Why the policy does not let a command run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The policy lets no command run.
    Security,
    /// No allowlist has the command, and nobody is asked.
    Miss,
    /// The command needs an approval, and has none.
    ApprovalRequired,
    /// The command was approved under another policy.
    PolicyChanged,
    /// The command's directory is not the approved one.
    DirectoryChanged,
    /// The command's program or script is not the approved one.
    FileChanged,
    /// Before the command runs, nobody can tell which file it will run.
    Unbindable,
}

impl Denied {
    /// The reason in the event `exec.denied`.
    pub fn reason(&self) -> &'static str {
        match self {
            Denied::Security => "security=deny",
            Denied::Miss => "allowlist-miss",
            _ => "approval-required",
        }
    }

    /// The sentence.
    pub fn message(&self) -> &'static str {
        match self {
            Denied::Security => "SYSTEM_RUN_DISABLED: security=deny",
            Denied::Miss => "SYSTEM_RUN_DENIED: allowlist miss",
            Denied::ApprovalRequired => "SYSTEM_RUN_DENIED: approval required",
            Denied::PolicyChanged => {
                "SYSTEM_RUN_DENIED: exec approval policy changed; request approval again"
            }
            Denied::DirectoryChanged => "SYSTEM_RUN_DENIED: approval cwd changed before execution",
            Denied::FileChanged => "SYSTEM_RUN_DENIED: approval script operand changed before execution",
            Denied::Unbindable => "SYSTEM_RUN_DENIED: approval cannot safely bind this command",
        }
    }

    /// Returns the answer, and the event to send before the answer.
    pub fn answer(&self, run: &RunReport) -> (NodeEvent, Answer) {
        let error = InvokeError { code: Code::Denied, message: self.message().to_owned() };
        (run.denied(self.reason()), Err(error))
    }
}

/// The parameters of `node.invoke.result`.
pub fn result_params(id: &str, node: &str, answer: &Answer) -> Value {
    match answer {
        Ok(payload) => {
            json!({"id": id, "nodeId": node, "ok": true, "payloadJSON": payload.to_string()})
        }
        Err(InvokeError { code, message }) => json!({
            "id": id,
            "nodeId": node,
            "ok": false,
            "error": {"code": code.as_str(), "message": message},
        }),
    }
}
