//! Reads the gateway's replies about a question. A reply that is not understood is never an answer.

use guard_openclaw::gateway::Refused;
use guard_policy::text::shown;
use serde::Deserialize;
use serde_json::Value;

use crate::decision::{Decision, GrantWidth};

/// A reply to `exec.approval.request` or `exec.approval.waitDecision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayReply {
    /// The question waits for an answer there.
    Accepted,
    /// Somebody has answered.
    Decided(Decision),
    /// Nobody will answer there: nobody is connected, or it timed out. Holds OpenClaw's reason if it gives one.
    Nobody(Option<String>),
}

#[derive(Deserialize)]
struct Raw {
    id: String,
    status: Option<String>,
    /// The outer `None` means that the field is missing.
    #[serde(default, deserialize_with = "present")]
    decision: Option<Option<String>>,
    #[serde(rename = "terminalReason")]
    terminal_reason: Option<String>,
}

/// Reads a field that is present, `null` included.
fn present<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Why a reply says nothing of the question.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// The reply is JSON, but not an object.
    #[error("it is no object")]
    NotObject,
    /// A field is missing, or has the wrong type.
    #[error("{}", shown(.0.to_string().as_bytes()))]
    Json(#[from] serde_json::Error),
    /// It is about another question.
    #[error("it answers for {} when asked for {asked}", shown(answered.as_bytes()))]
    OtherQuestion {
        /// The id in the reply.
        answered: String,
        /// The question's.
        asked: String,
    },
    /// It has neither a state nor an answer.
    #[error("the reply has neither a state nor a decision")]
    Nothing,
    /// It has a word that is no answer.
    #[error("the reply has the unknown decision {:?}", shown(.0.as_bytes()))]
    UnknownDecision(String),
    /// It is the reply to a question, not to a request for its answer.
    #[error("the reply says that the question waits, and has no decision")]
    NotAnswer,
    /// The gateway has rejected each parameter of the question.
    #[error("it knows none of the parameters")]
    UnknownParameters,
}

/// Reads a reply about the question `id`.
///
/// # Errors
/// If the reply is about something else, or is not understood.
pub fn read(id: &str, payload: &Value) -> Result<GatewayReply, ReplyError> {
    // serde would accept an array of the fields as well.
    if !payload.is_object() {
        return Err(ReplyError::NotObject);
    }
    let raw = Raw::deserialize(payload)?;
    if raw.id != id {
        return Err(ReplyError::OtherQuestion { answered: raw.id, asked: id.to_owned() });
    }
    match (raw.decision, raw.status.as_deref()) {
        (Some(Some(word)), _) => decision(&word).map(GatewayReply::Decided),
        (Some(None), _) => Ok(GatewayReply::Nobody(raw.terminal_reason)),
        (None, Some("accepted")) => Ok(GatewayReply::Accepted),
        (None, _) => Err(ReplyError::Nothing),
    }
}

fn decision(word: &str) -> Result<Decision, ReplyError> {
    match word {
        "allow-once" => Ok(Decision::AllowOnce),
        "allow-always" => Ok(Decision::AllowAlways(GrantWidth::Narrow)),
        "deny" => Ok(Decision::Deny),
        other => Err(ReplyError::UnknownDecision(other.to_owned())),
    }
}

/// The word by which the guard reports an answer from elsewhere to the gateway. It does not say how long the answer
/// holds.
pub fn word(decision: Decision) -> &'static str {
    if decision.allows() { "allow-once" } else { "deny" }
}

/// What a rejection means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// This release does not know this parameter.
    Unknown(String),
    /// A question with this id already waits there.
    Pending,
    /// A question had this id before the gateway restarted (2026.9.6).
    Used,
    /// There is no question with this id, or not any more.
    NotFound,
    /// Something else.
    Other,
}

/// Reads a rejection.
pub fn meaning(refused: &Refused) -> Meaning {
    let message = &refused.message;
    if let Some((_, rest)) = message.split_once("unexpected property '")
        && let Some((name, _)) = rest.split_once('\'')
    {
        return Meaning::Unknown(name.to_owned());
    }
    match message.as_str() {
        "approval id already pending" => Meaning::Pending,
        "approval request unavailable" => Meaning::Used,
        "approval expired or not found" => Meaning::NotFound,
        _ if message.contains("unknown or expired approval id") => Meaning::NotFound,
        _ => Meaning::Other,
    }
}
