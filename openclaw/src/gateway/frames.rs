//! What goes over a connection: one JSON object a text message. What is not known here does not count; what is known and of
//! the wrong kind makes the whole frame one that cannot be read.

use guard_policy::text::shown;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A longer message is none, in bytes. The gateway would send 25 MiB (OpenClaw 2026.9.6), a guard has no use for it.
pub const MAX_LEN: usize = 4 << 20;

/// What the gateway says.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// The answer to the request of this id.
    Answer {
        /// The request's.
        id: String,
        /// What the method returned, or why it was not called.
        answer: Result<Value, Refused>,
    },
    /// Something has happened.
    Event(GatewayEvent),
    /// A kind of frame that is not known here.
    Other,
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayEvent {
    /// Its name, such as `exec.approval.resolved`.
    pub event: String,
    /// What it says; null where it says nothing.
    pub payload: Value,
}

/// Why the gateway does not do what it was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refused {
    /// Such as `INVALID_REQUEST`.
    pub code: String,
    /// For people.
    pub message: String,
    /// For programs; null where there is nothing.
    pub details: Value,
}

impl Refused {
    /// `details.code`, which is more exact than the code.
    pub fn detail(&self) -> Option<&str> {
        self.details.get("code").and_then(Value::as_str)
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.detail().unwrap_or(&self.code);
        let (message, code) = (shown(self.message.as_bytes()), shown(code.as_bytes()));
        match (message.as_str(), code.as_str()) {
            ("", "") => f.write_str("it does not say why"),
            ("", code) => f.write_str(code),
            (message, "") => f.write_str(message),
            (message, code) => write!(f, "{message} ({code})"),
        }
    }
}

/// As a frame is written.
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

/// Reads a text message.
///
/// # Errors
/// Why it is no frame.
pub fn read(text: &str) -> Result<Frame, String> {
    // An array of the fields would be taken for the object.
    if !text.trim_start().starts_with('{') {
        return Err("it is no object".to_owned());
    }
    let written = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(match written {
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
    // Strings and values: nothing that could fail.
    serde_json::to_string(&RequestFrame { r#type: "req", id, method, params }).unwrap_or_default()
}
