//! Formats a store as text, and computes the hash that reveals changes of the text.

use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Store;
use crate::text::hex;

impl Store {
    /// The text as OpenClaw writes it: JSON, indented by two spaces, with a line feed at the end.
    pub fn to_text(&self) -> String {
        print(&self.root)
    }

    /// The document, in the form that `exec.approvals.set` takes.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::Value::Object(self.root.clone())
    }

    /// The text for display, with the socket's token removed. It cannot be parsed as a store again.
    pub fn redacted(&self) -> String {
        let mut root = self.root.clone();
        if let Some(Value::Object(socket)) = root.get_mut("socket") {
            socket.shift_remove("token");
        }
        print(&root)
    }
}

fn print(root: &serde_json::Map<String, Value>) -> String {
    // Serializing strings, numbers and string-keyed maps cannot fail.
    let mut text = serde_json::to_string_pretty(root).unwrap_or_default();
    text.push('\n');
    text
}

/// Omits the token, because debug output ends up in logs.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store {}", self.redacted())
    }
}

/// The SHA-256 of a store's text, as `exec.approvals.get` reports it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BaseHash(String);

impl BaseHash {
    /// Hashes the raw bytes of the file.
    pub fn new(text: &[u8]) -> BaseHash {
        BaseHash(hex(&Sha256::digest(text)))
    }

    /// The hash for a missing file: that of an empty file.
    pub fn missing() -> BaseHash {
        BaseHash::new(b"")
    }

    /// The hash in lowercase hexadecimal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BaseHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BaseHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
