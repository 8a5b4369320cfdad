//! Checks the minimal shape of a store.

use serde_json::{Map, Value};

/// The path of a malformed value, and what it must be.
pub(super) type Misshapen = (Vec<String>, &'static str);

/// The message for a section that is not an object.
pub(super) const OBJECT: &str = "must be an object { … }";

/// Checks the shape of a document. Fails if it cannot be read as a store.
pub(super) fn shape(root: Value) -> Result<Map<String, Value>, Misshapen> {
    let Value::Object(root) = root else {
        return Err((vec![], OBJECT));
    };
    match root.get("version") {
        // To OpenClaw, 1.0 is the same as 1.
        Some(version) if version.as_f64() == Some(1.0) => {}
        Some(_) => {
            return Err((vec!["version".to_owned()], "must be 1: this guard supports no other version"));
        }
        None => return Err((vec![], "\"version\" is missing: it must be 1")),
    }
    for name in ["defaults", "agents"] {
        if root.get(name).is_some_and(|section| !section.is_object() && !section.is_null()) {
            return Err((vec![name.to_owned()], OBJECT));
        }
    }
    let agents = root.get("agents").and_then(Value::as_object);
    match agents.into_iter().flatten().find(|(_, agent)| !agent.is_object()) {
        Some((name, _)) => Err((vec!["agents".to_owned(), name.clone()], OBJECT)),
        None => Ok(root),
    }
}
