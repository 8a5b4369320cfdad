//! Peer messages, with secrets filled in that a fuzzer could not guess.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::input::Input;

/// The socket's token.
pub const TOKEN: &str = "kV3-a_secret_token_x9";

/// The values that replace placeholders in an input.
pub struct Words {
    /// The id of a question.
    pub id: String,
    /// The time in milliseconds.
    pub now: i64,
}

/// A command to run.
pub const PAYLOAD: &str = r#"{"command":["/bin/ls"]}"#;

/// The signature of a request by a peer with this token.
pub fn signature(token: &str, nonce: &str, ts: i64, json: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(token.as_bytes()).unwrap();
    mac.update(format!("{nonce}:{ts}:{json}").as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Words {
    /// Usually an object of known keys and values; otherwise any text in which bytes below 8 stand for known words.
    pub fn line(&self, input: &mut Input<'_>) -> Vec<u8> {
        let mut line = match input.below(4) {
            0 => self.filled(input.text()),
            _ => self.object(input, 0),
        };
        if input.byte() & 7 != 7 {
            line.push(b'\n');
        }
        line
    }

    fn filled(&self, text: &[u8]) -> Vec<u8> {
        let mut filled = Vec::new();
        for &byte in text {
            match byte {
                1 => filled.extend_from_slice(TOKEN.as_bytes()),
                2 => filled.extend_from_slice(self.id.as_bytes()),
                3 => filled.extend_from_slice(self.now.to_string().as_bytes()),
                4 => filled.extend_from_slice(signature(TOKEN, "n", self.now, PAYLOAD).as_bytes()),
                5 => filled.extend_from_slice(Value::from(PAYLOAD).to_string().as_bytes()),
                byte => filled.push(byte),
            }
        }
        filled
    }

    fn object(&self, input: &mut Input<'_>, depth: usize) -> Vec<u8> {
        const KEYS: [&str; 15] = [
            "type",
            "token",
            "id",
            "request",
            "nonce",
            "ts",
            "hmac",
            "requestJson",
            "version",
            "method",
            "decision",
            "revision",
            "command",
            "approvals",
            "x",
        ];
        let mut object = vec![b'{'];
        for field in 0..input.below(9) {
            if field != 0 {
                object.push(b',');
            }
            object.extend_from_slice(format!("\"{}\":", input.pick(&KEYS)).as_bytes());
            let value = self.value(input, depth);
            object.extend_from_slice(&value);
        }
        object.push(b'}');
        object
    }

    fn value(&self, input: &mut Input<'_>, depth: usize) -> Vec<u8> {
        const WORDS: [&str; 19] = [
            "request",
            "exec",
            "decision",
            "exec-res",
            "list",
            "find",
            "resolve",
            "subscribe",
            "allow-once",
            "allow-always",
            "allow-always-directory",
            "allow-session",
            "allow-5m",
            "deny",
            "n",
            "",
            "\u{1b}[31m",
            "approvals",
            "error",
        ];
        let half = |text: &str| text[..text.len() / 2].to_owned();
        let value = match input.below(16) {
            0 | 1 => json!(input.pick(&WORDS)),
            2 => json!(TOKEN),
            3 => json!(half(TOKEN)),
            4 => json!(TOKEN.to_uppercase()),
            5 => json!(self.id),
            6 => json!(half(&self.id)),
            7 => json!(self.now),
            8 => json!(signature(TOKEN, "n", self.now, PAYLOAD)),
            9 => json!(PAYLOAD),
            10 => json!({"command": "ls"}),
            11 => json!(1),
            12 => json!(input.byte()),
            13 => Value::Null,
            14 => json!(String::from_utf8_lossy(input.text())),
            _ if depth < 3 => return self.object(input, depth + 1),
            _ => json!([]),
        };
        value.to_string().into_bytes()
    }
}
