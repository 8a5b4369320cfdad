//! The identity of a client: a key, and what it signs when it connects.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

/// A device identity: an Ed25519 key.
#[derive(Debug)]
pub struct Identity(Ed25519KeyPair);

impl Identity {
    /// Generates a new identity.
    ///
    /// # Panics
    /// When the system has no randomness.
    #[must_use]
    pub fn new() -> Identity {
        let text = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("randomness");
        Identity(Ed25519KeyPair::from_pkcs8(text.as_ref()).expect("a key"))
    }

    /// Returns `device` of connect: version 3 of the signed text (OpenClaw 2026.4 and later).
    pub(super) fn device(&self, client: &Value, scopes: &[&str], token: &str, challenge: &Value) -> Value {
        let key = self.0.public_key().as_ref();
        let id = HEXLOWER.encode(ring::digest::digest(&ring::digest::SHA256, key).as_ref());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (nonce, at) = (text(&challenge["nonce"]), challenge["ts"].to_string());
        let signed = [
            "v3",
            &id,
            &text(&client["id"]),
            &text(&client["mode"]),
            "operator",
            &scopes.join(","),
            &at,
            token,
            &nonce,
            &text(&client["platform"]),
            "",
        ]
        .join("|");
        json!({
            "id": id,
            "publicKey": BASE64URL_NOPAD.encode(key),
            "signature": BASE64URL_NOPAD.encode(self.0.sign(signed.as_bytes()).as_ref()),
            "signedAt": challenge["ts"],
            "nonce": nonce,
        })
    }
}

impl Default for Identity {
    fn default() -> Identity {
        Identity::new()
    }
}
