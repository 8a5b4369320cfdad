//! The frames of a connection: one JSON object per text message. Unknown fields and kinds are ignored. A
//! known field of the wrong type makes the whole frame unreadable.

use guard_policy::text::shown;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest message that is accepted, in bytes. The gateway would send 25 MiB (OpenClaw 2026.9.6), which
/// no guard needs.
pub const MAX_LEN: usize = 4 << 20;

/// A frame from the gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// The answer to the request of this id.
    Answer {
        /// The request's id.
        id: String,
        /// The method's result, or why the gateway refuses the request.
        answer: Result<Value, Refused>,
    },
    /// An event.
    Event(GatewayEvent),
    /// A frame of an unknown kind.
    Other,
}

/// An event that the gateway reports.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayEvent {
    /// Its name, such as `exec.approval.resolved`.
    pub event: String,
    /// The event's data; null if there is none.
    pub payload: Value,
}

/// Why the gateway refuses a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refused {
    /// The code, such as `INVALID_REQUEST`.
    pub code: String,
    /// The text for people.
    pub message: String,
    /// The data for programs; null if there is none.
    pub details: Value,
}

impl Refused {
    /// Returns `details.code`, which is more precise than `code`.
    pub fn detail(&self) -> Option<&str> {
        self.details.get("code").and_then(Value::as_str)
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.detail().unwrap_or(&self.code);
        let (message, code) = (shown(self.message.as_bytes()), shown(code.as_bytes()));
        match (message.as_str(), code.as_str()) {
            ("", "") => f.write_str("it gives no reason"),
            ("", code) => f.write_str(code),
            (message, "") => f.write_str(message),
            (message, code) => write!(f, "{message} ({code})"),
        }
    }
}

/// Why a message is not a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The message is not a JSON object.
    #[error("it is no object")]
    NotObject,
    /// The message is not JSON, or a field has the wrong type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// A frame as it is sent.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum RawFrame {
    Res {
        id: String,
        ok: bool,
        #[serde(default)]
        payload: Value,
        error: Option<WrittenError>,
    },
    Event {
        event: String,
        #[serde(default)]
        payload: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
struct WrittenError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Value,
}

#[derive(Serialize)]
struct RequestFrame<'a> {
    r#type: &'static str,
    id: &'a str,
    method: &'a str,
    params: &'a Value,
}

/// Parses a text message.
///
/// # Errors
/// Why it is not a frame.
pub fn read(text: &str) -> Result<Frame, FrameError> {
    // serde would accept an array of the fields in place of the object.
    if !text.trim_start().starts_with('{') {
        return Err(FrameError::NotObject);
    }
    Ok(match serde_json::from_str(text)? {
        RawFrame::Res { id, ok: true, payload, .. } => Frame::Answer { id, answer: Ok(payload) },
        RawFrame::Res { id, ok: false, error, .. } => {
            let WrittenError { code, message, details } = error.unwrap_or_default();
            Frame::Answer { id, answer: Err(Refused { code, message, details }) }
        }
        RawFrame::Event { event, payload } => Frame::Event(GatewayEvent { event, payload }),
        RawFrame::Other => Frame::Other,
    })
}

/// Writes a request.
pub fn request(id: &str, method: &str, params: &Value) -> String {
    // Serializing strings and JSON values cannot fail.
    serde_json::to_string(&RequestFrame { r#type: "req", id, method, params }).unwrap_or_default()
}
