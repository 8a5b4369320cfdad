//! What a node reports of a run.

use serde_json::{Map, Value, json};

use super::output::Captured;

/// The session of a run whose call names no session.
const NO_SESSION: &str = "node";
/// Precedes the end of an output whose beginning was cut.
const CUT: &str = "... (truncated) ";

/// A run, as its events name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// OpenClaw's key of the session, if the run has one.
    pub session_key: Option<String>,
    /// The run's id.
    pub run_id: String,
    /// The command as text.
    pub command: String,
    /// Whether the gateway must not notify the agent of the run's end.
    pub is_silent: bool,
}

/// An event for the gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeEvent {
    name: &'static str,
    payload: Value,
}

impl RunReport {
    fn event(&self, name: &'static str, more: Value) -> NodeEvent {
        let mut payload = Map::new();
        let session = self.session_key.as_deref().unwrap_or(NO_SESSION);
        payload.insert("sessionKey".to_owned(), json!(session));
        payload.insert("runId".to_owned(), json!(self.run_id));
        payload.insert("host".to_owned(), json!("node"));
        payload.insert("command".to_owned(), json!(self.command));
        if let Value::Object(more) = more {
            payload.extend(more);
        }
        payload.insert("suppressNotifyOnExit".to_owned(), json!(self.is_silent));
        NodeEvent { name, payload: Value::Object(payload) }
    }

    /// The event of a run that is not started, for this reason.
    pub fn denied(&self, reason: &str) -> NodeEvent {
        self.event("exec.denied", json!({"reason": reason}))
    }

    /// The event of a run that is still going on. Releases up to 2026.9.6 ignore this event.
    pub fn running(&self) -> NodeEvent {
        self.event("exec.running", json!({}))
    }

    /// The event of a run that has ended. Of the run's output, it reports the last `tail` bytes.
    pub fn finished(&self, end: &Captured, tail: usize) -> NodeEvent {
        let parts = [&end.stdout, &end.stderr, end.error.as_ref().unwrap_or(&end.nothing)];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
        let mut more = Map::new();
        if let Some(code) = end.exit_code {
            more.insert("exitCode".to_owned(), json!(code));
        }
        more.insert("timedOut".to_owned(), json!(end.timed_out));
        more.insert("success".to_owned(), json!(end.is_success()));
        more.insert("output".to_owned(), json!(last(parts.join("\n").trim(), tail)));
        self.event("exec.finished", Value::Object(more))
    }
}

impl NodeEvent {
    /// The event's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The parameters of `node.event`.
    pub fn params(&self) -> Value {
        json!({"event": self.name, "payloadJSON": self.payload.to_string()})
    }
}

/// Returns the end of a text, at most `most` bytes, with a mark where it was cut.
fn last(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let start = (text.len() - most..=text.len()).find(|at| text.is_char_boundary(*at));
    format!("{CUT}{}", &text[start.unwrap_or(text.len())..])
}
