//! What the gateway says of a question. What is not understood is no answer.

use guard_openclaw::gateway::Refused;
use guard_policy::text::shown;
use serde::Deserialize;
use serde_json::Value;

use crate::decision::{Decision, GrantWidth};

/// To `exec.approval.request` and `exec.approval.waitDecision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayReply {
    /// It waits for an answer there.
    Accepted,
    /// Somebody has answered.
    Decided(Decision),
    /// Nobody will answer there: nobody is connected, or the time is up. OpenClaw's word for it, where it has one.
    Nobody(Option<String>),
}

#[derive(Deserialize)]
struct Raw {
    id: String,
    status: Option<String>,
    /// Outer `None`: it is not there at all.
    #[serde(default, deserialize_with = "present")]
    decision: Option<Option<String>>,
    #[serde(rename = "terminalReason")]
    terminal_reason: Option<String>,
}

/// A value that is there, `null` included.
fn present<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Reads what was replied of the question `id`.
///
/// # Errors
/// A sentence: it is of something else, or says nothing that is known.
pub fn read(id: &str, payload: &Value) -> Result<GatewayReply, String> {
    // An array of the fields would be taken for the object.
    if !payload.is_object() {
        return Err("it is no object".to_owned());
    }
    // An array of the fields would be taken for the object.
    if !payload.is_object() {
        return Err("it is no object".to_owned());
    }
    let raw = Raw::deserialize(payload).map_err(|error| shown(error.to_string().as_bytes()))?;
    if raw.id != id {
        return Err(format!("it answers for {} when asked for {id}", shown(raw.id.as_bytes())));
    }
    match (raw.decision, raw.status.as_deref()) {
        (Some(Some(word)), _) => decision(&word).map(GatewayReply::Decided),
        (Some(None), _) => Ok(GatewayReply::Nobody(raw.terminal_reason)),
        (None, Some("accepted")) => Ok(GatewayReply::Accepted),
        (None, _) => Err("it neither takes the question nor answers it".to_owned()),
    }
}

fn decision(word: &str) -> Result<Decision, String> {
    match word {
        "allow-once" => Ok(Decision::AllowOnce),
        "allow-always" => Ok(Decision::AllowAlways(GrantWidth::Narrow)),
        "deny" => Ok(Decision::Deny),
        other => Err(format!("it decides {:?}", shown(other.as_bytes()))),
    }
}

/// The word by which the gateway is told of an answer that was given elsewhere: what holds for longer is not its affair.
pub fn word(decision: Decision) -> &'static str {
    if decision.allows() { "allow-once" } else { "deny" }
}

/// What a refusal means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// This release does not know the parameter.
    Unknown(String),
    /// A question of this id waits there already.
    Pending,
    /// A question had this id there, before the gateway was started again (2026.9.6).
    Used,
    /// There is no question of this id there, or none any more.
    NotFound,
    /// Something else.
    Other,
}

/// Reads a refusal.
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
