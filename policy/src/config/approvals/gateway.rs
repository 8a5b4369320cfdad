//! `approvals.gateway`: the OpenClaw gateway to ask, and the credentials to use.

use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::url::GatewayUrl;
use crate::config::schema_patterns::{FILE, FINGERPRINT, GATEWAY_URL};
use crate::paths::expansion::show;

/// Where the file is out of the tree's reach.
const ELSEWHERE: &str = "keep it where no rule grants access, such as OpenClaw's state directory, \
     or name it in permissions.filesystem.deny";

/// `approvals.gateway`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct GatewayRoute {
    /// The address: `ws://HOST:PORT`, or `wss://` for TLS. Default: the gateway on this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = GATEWAY_URL))]
    pub(crate) url: Option<GatewayUrl>,
    /// A file with the gateway's token. Guarded programs can never open it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = FILE))]
    pub(crate) token_file: Option<String>,
    /// Whether `ws` may be used for another host. The token then crosses the network in plain text. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_insecure: Option<bool>,
    /// The SHA-256 of the only certificate that is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = FINGERPRINT))]
    pub(crate) fingerprint: Option<Fingerprint>,
    /// Whether the guard requests the scope operator.admin, to read and save the gateway's own approvals. Default:
    /// false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) admin: Option<bool>,
}

/// Why the file of `tokenFile` must not be opened: the tree could have read it, or put it there, before it was denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFileError {
    /// If the key were not set, a rule would grant the tree access to the file.
    #[error("without this key the guarded command could {verb} {path}: {ELSEWHERE}", path = show(path))]
    Granted {
        /// `read` or `write`.
        verb: &'static str,
        /// The file, as written or by its real path.
        path: Vec<u8>,
    },
    /// The tree may replace a symbolic link on the way to the file.
    #[error(
        "{link} is a symbolic link that the guarded command may replace: {ELSEWHERE}",
        link = show(link)
    )]
    ReplaceableLink {
        /// The link.
        link: Vec<u8>,
    },
}

impl GatewayRoute {
    /// `url`; `None` stands for the gateway of this host.
    pub fn url(&self) -> Option<&GatewayUrl> {
        self.url.as_ref()
    }

    /// `tokenFile` as written. [`crate::Policy::gateway_token`] returns the real path.
    pub fn token_file(&self) -> Option<&str> {
        self.token_file.as_deref()
    }

    /// `allowInsecure`.
    pub fn allow_insecure(&self) -> bool {
        self.allow_insecure.unwrap_or(false)
    }

    /// `fingerprint`.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// `admin`: whether to request operator.admin in addition to operator.approvals.
    pub fn admin(&self) -> bool {
        self.admin.unwrap_or(false)
    }
}

/// The SHA-256 of a certificate in its DER form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Wraps a digest.
    pub fn new(bytes: [u8; 32]) -> Fingerprint {
        Fingerprint(bytes)
    }

    /// Parses 64 hexadecimal digits, with an optional colon between two bytes.
    pub fn parse(text: &str) -> Option<Fingerprint> {
        let mut bytes = [0; 32];
        let mut rest = text;
        for (i, byte) in bytes.iter_mut().enumerate() {
            rest = if i > 0 { rest.strip_prefix(':').unwrap_or(rest) } else { rest };
            let (digits, after) = rest.split_at_checked(2)?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            *byte = u8::from_str_radix(digits, 16).ok()?;
            rest = after;
        }
        rest.is_empty().then_some(Fingerprint(bytes))
    }

    /// The digest.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// As OpenSSL prints it: `AB:CD:…`.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02X}", if i > 0 { ":" } else { "" })?;
        }
        Ok(())
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    #[test]
    fn a_fingerprint_is_32_bytes() {
        let plain = "0123456789abcdef".repeat(4);
        let shown = Fingerprint::parse(&plain).unwrap().to_string();
        assert!(shown.starts_with("01:23:45:67:89:AB:CD:EF:01:") && shown.len() == 95, "{shown}");
        assert_eq!(Fingerprint::parse(&shown), Fingerprint::parse(&plain));
        for wrong in [
            "",
            &plain[1..],
            &format!("{plain}0"),
            &format!("{plain}:"),
            &format!(":{plain}"),
            &plain.replacen("23", "2:3", 1),
            &plain.replacen("23", "::23", 1),
            &plain.replacen("23", "+3", 1),
            &plain.replacen("23", "\u{e4}", 1),
            &format!("sha256:{plain}"),
        ] {
            assert_eq!(Fingerprint::parse(wrong), None, "{wrong}");
        }
    }
}
