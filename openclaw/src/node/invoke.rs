//! The gateway's events for a node.

use serde::Deserialize;
use serde_json::Value;

use crate::gateway::GatewayEvent;

/// A command that the gateway calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invoke {
    /// The call's id.
    pub id: String,
    /// The node that is called.
    pub node_id: String,
    /// The command, such as `system.run`.
    pub command: String,
    /// Its parameters, as JSON in a string.
    #[serde(rename = "paramsJSON")]
    pub params: Option<String>,
    /// How long the gateway waits, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Equal for repetitions of one call.
    pub idempotency_key: Option<String>,
}

/// The gateway's notice that it does not wait for a call any more.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// The call's id.
    pub invoke_id: String,
    /// The node that was called.
    pub node_id: String,
}

/// What the gateway says of a node's pairing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PairingResolved {
    node_id: String,
    #[serde(default)]
    request_id: String,
    #[serde(default)]
    decision: String,
}

/// What an operator has decided about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairingDecision {
    /// Its commands are approved.
    Approved,
    /// Its commands are rejected.
    Rejected,
    /// The node no longer belongs to this gateway.
    Removed,
}

/// An event, as far as it concerns a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A command is called.
    Invoke(Invoke),
    /// The gateway has given up a call.
    Cancel(Cancel),
    /// The operator has decided about the node.
    Paired {
        /// The request that was decided; `None` if there was none.
        request: Option<String>,
        /// The decision.
        decision: PairingDecision,
    },
    /// A call whose fields cannot be read. The ids of the call and the node can be read, so the call can be
    /// refused.
    Unreadable {
        /// The call's id.
        id: String,
        /// Why.
        why: String,
    },
    /// Nothing for this node.
    Nothing,
}

/// Reads an event for the node with this id.
pub fn heard(event: GatewayEvent, node: &str) -> Heard {
    let GatewayEvent { event, payload } = event;
    match event.as_str() {
        "node.invoke.request" => invoke(payload, node),
        "node.invoke.cancel" => match parse::<Cancel>(payload) {
            Ok(cancel) if cancel.node_id == node => Heard::Cancel(cancel),
            _ => Heard::Nothing,
        },
        "node.pair.resolved" => match parse::<PairingResolved>(payload) {
            Ok(resolved) if resolved.node_id == node => Heard::Paired {
                request: Some(resolved.request_id).filter(|id| !id.is_empty()),
                decision: match resolved.decision.as_str() {
                    "approved" => PairingDecision::Approved,
                    "removed" => PairingDecision::Removed,
                    _ => PairingDecision::Rejected,
                },
            },
            _ => Heard::Nothing,
        },
        _ => Heard::Nothing,
    }
}

fn invoke(payload: Value, node: &str) -> Heard {
    let text = |name: &str| payload.get(name).and_then(Value::as_str).map(str::to_owned);
    // Calls for other nodes are ignored.
    if text("nodeId").is_none_or(|id| id != node) {
        return Heard::Nothing;
    }
    let id = text("id");
    match (parse::<Invoke>(payload), id) {
        (Ok(invoke), _) => Heard::Invoke(invoke),
        (Err(why), Some(id)) => Heard::Unreadable { id, why },
        (Err(_), None) => Heard::Nothing,
    }
}

/// Parses an object. Without the check, serde would accept an array of the fields in place of the object.
fn parse<T: for<'de> Deserialize<'de>>(payload: Value) -> Result<T, String> {
    if !payload.is_object() {
        return Err("it is no object".to_owned());
    }
    serde_json::from_value(payload).map_err(|error| error.to_string())
}
