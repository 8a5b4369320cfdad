//! A store as text, and the hash by which a change of the text is noticed.

use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Store;

impl Store {
    /// The text as OpenClaw writes it: JSON, two spaces, a line feed at the end.
    pub fn to_text(&self) -> String {
        print(&self.root)
    }

    /// The document, as `exec.approvals.set` takes it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::Value::Object(self.root.clone())
    }

    /// The text for showing, without the socket's token. It is no store any more.
    pub fn redacted(&self) -> String {
        let mut root = self.root.clone();
        if let Some(Value::Object(socket)) = root.get_mut("socket") {
            socket.shift_remove("token");
        }
        print(&root)
    }
}

fn print(root: &serde_json::Map<String, Value>) -> String {
    // Strings, numbers and string-keyed maps: nothing here can fail to serialize.
    let mut text = serde_json::to_string_pretty(root).unwrap_or_default();
    text.push('\n');
    text
}

/// Without the token: what is shown for debugging ends in logs.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store {}", self.redacted())
    }
}

/// The SHA-256 of a stored text, as `exec.approvals.get` reports it: two that are equal are of the same text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BaseHash(String);

impl BaseHash {
    /// Of the raw bytes of the file.
    pub fn new(text: &[u8]) -> BaseHash {
        BaseHash(Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Where there is no file: that of an empty one.
    pub fn missing() -> BaseHash {
        BaseHash::new(b"")
    }

    /// Lowercase hexadecimal.
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
