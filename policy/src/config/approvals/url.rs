//! The URL of a gateway, such as `ws://127.0.0.1:18789`.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

use crate::network::is_loopback;

/// The URL of a gateway. It contains only what every URL parser reads alike: unescaped characters, and no host name
/// that could be taken for a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayUrl {
    scheme: Scheme,
    host: GatewayHost,
    port: u16,
    path: String,
    text: String,
}

/// The protocol by which a client speaks to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In clear.
    Ws,
    /// Over TLS.
    Wss,
}

/// Where the gateway runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayHost {
    /// At this address; an IPv4-mapped one is written as IPv4.
    Address(IpAddr),
    /// Where this name leads, in small letters.
    Name(String),
}

/// Why a text is not the URL of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatewayUrlError {
    /// It is no URL of a WebSocket, or has no host.
    #[error("must be ws://HOST:PORT or wss://HOST:PORT, optionally with a path")]
    Form,
    /// It would show a secret where the URL is shown.
    #[error("must not contain a name or password: put the token into tokenFile")]
    Password,
    /// It goes on after its path.
    #[error("must end with the path: no query, no fragment")]
    Query,
    /// A character of its path must be quoted.
    #[error("has a character in its path that must be written as %XX")]
    Path,
    /// An IPv6 address without its end.
    #[error("the bracket is not closed")]
    Bracket,
    /// The text between the brackets is not an IPv6 address.
    #[error("[{0}] is not an IPv6 address")]
    NotIpv6(String),
    /// The host is a name with characters outside ASCII.
    #[error("\"{0}\": write the name in ASCII (xn--…)")]
    NotAscii(String),
    /// The host is neither a name nor an address.
    #[error("\"{0}\" is not a host name")]
    NotHostName(String),
    /// Some parsers would read the host as an address.
    #[error("\"{0}\" is not an address: write all four numbers")]
    ShortAddress(String),
    /// The text after the colon is no port.
    #[error("\"{0}\" is not a port from 1 to 65535")]
    Port(String),
}

const LOCALHOST: &str = "localhost";
/// The longest DNS name, in bytes (RFC 1035, 2.3.4).
const MAX_NAME_LEN: usize = 253;

impl GatewayUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// If the text is not such a URL.
    pub fn parse(text: &str) -> Result<GatewayUrl, GatewayUrlError> {
        let (scheme, rest) = match text.split_once("://") {
            Some(("ws", rest)) => (Scheme::Ws, rest),
            Some(("wss", rest)) => (Scheme::Wss, rest),
            _ => return Err(GatewayUrlError::Form),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(GatewayUrlError::Password);
        }
        if path.contains(['?', '#']) {
            return Err(GatewayUrlError::Query);
        }
        if !path.bytes().all(is_of_a_path) {
            return Err(GatewayUrlError::Path);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (written, port) = rest.split_once(']').ok_or(GatewayUrlError::Bracket)?;
                let address = written.parse().ok().filter(IpAddr::is_ipv6);
                let address = address.ok_or_else(|| GatewayUrlError::NotIpv6(written.to_owned()))?;
                (GatewayHost::Address(address.to_canonical()), port)
            }
            None => {
                let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
                (GatewayHost::parse(host)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            Some(digits) => {
                crate::network::port(digits).ok_or_else(|| GatewayUrlError::Port(digits.to_owned()))?
            }
            None if port.is_empty() => scheme.default_port(),
            None => return Err(GatewayUrlError::Form),
        };
        Ok(GatewayUrl { scheme, host, port, path: path.to_owned(), text: text.to_owned() })
    }

    /// The protocol by which a client speaks to the gateway.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Where the gateway runs.
    pub fn host(&self) -> &GatewayHost {
        &self.host
    }

    /// The TCP port: as written, otherwise 80 for `ws` and 443 for `wss`.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path; `/` if none is written.
    pub fn path(&self) -> &str {
        if self.path.is_empty() { "/" } else { &self.path }
    }

    /// Whether the URL names this host. Looks at the text only and resolves no name.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            GatewayHost::Address(address) => is_loopback(*address),
            GatewayHost::Name(name) => name == LOCALHOST,
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Scheme::Ws => 80,
            Scheme::Wss => 443,
        }
    }
}

impl GatewayHost {
    fn parse(text: &str) -> Result<GatewayHost, GatewayUrlError> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(GatewayHost::Address(address.to_canonical()));
        }
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        if text.len() > MAX_NAME_LEN || !text.split('.').all(is_label) {
            return Err(match text {
                "" => GatewayUrlError::Form,
                _ if !text.is_ascii() => GatewayUrlError::NotAscii(text.to_owned()),
                _ => GatewayUrlError::NotHostName(text.to_owned()),
            });
        }
        // Some parsers read `127.1` and `0x7f000001` as addresses, others as names.
        let last = text.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
            return Err(GatewayUrlError::ShortAddress(text.to_owned()));
        }
        Ok(GatewayHost::Name(text.to_ascii_lowercase()))
    }
}

/// Whether a byte may stand in a path: unreserved characters, delimiters and percent signs (RFC 3986, 3.3).
fn is_of_a_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%/".contains(&byte)
}

impl fmt::Display for GatewayHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GatewayHost::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            GatewayHost::Address(address) => write!(f, "{address}"),
            GatewayHost::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for GatewayUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_as_written() {
        let parts = |text: &str| {
            let url = GatewayUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), text);
            (url.scheme(), url.host().to_string(), url.port(), url.path().to_owned(), url.is_loopback())
        };
        let expected = |scheme, host: &str, port, path: &str, is_loopback| {
            (scheme, host.to_owned(), port, path.to_owned(), is_loopback)
        };
        for (text, whole) in [
            ("ws://127.0.0.1:18789", expected(Scheme::Ws, "127.0.0.1", 18789, "/", true)),
            ("ws://127.8.0.1:1/a/b", expected(Scheme::Ws, "127.8.0.1", 1, "/a/b", true)),
            ("ws://[::1]", expected(Scheme::Ws, "[::1]", 80, "/", true)),
            ("ws://[::ffff:127.0.0.1]:2", expected(Scheme::Ws, "127.0.0.1", 2, "/", true)),
            ("ws://0.0.0.0:2", expected(Scheme::Ws, "0.0.0.0", 2, "/", true)),
            ("ws://LocalHost:65535/", expected(Scheme::Ws, "localhost", 65535, "/", true)),
            ("wss://gw.Example.org", expected(Scheme::Wss, "gw.example.org", 443, "/", false)),
            ("wss://10.0.0.5:8443/x%20y", expected(Scheme::Wss, "10.0.0.5", 8443, "/x%20y", false)),
            ("wss://[fd00::5]:8443", expected(Scheme::Wss, "[fd00::5]", 8443, "/", false)),
            ("wss://gate_way-1:1", expected(Scheme::Wss, "gate_way-1", 1, "/", false)),
            ("wss://localhost.example", expected(Scheme::Wss, "localhost.example", 443, "/", false)),
        ] {
            assert_eq!(parts(text), whole, "{text}");
        }
    }

    #[test]
    fn ambiguous_urls_are_refused() {
        for text in [
            "",
            "127.0.0.1:18789",
            "http://127.0.0.1:1",
            "WS://127.0.0.1",
            "ws:/127.0.0.1",
            "ws://",
            "ws:///x",
            "ws://:1",
            "ws://u@h:1",
            "ws://u:p@127.0.0.1:1",
            "ws://127.0.0.1:1@example.org",
            "ws://example.org\\@127.0.0.1",
            "ws://127.0.0.1?x",
            "ws://127.0.0.1/#x",
            "ws://127.0.0.1#@x",
            "ws://127.0.0.1/a b",
            "ws://127.0.0.1/a\\b",
            "ws://127.0.0.1/\u{1b}[2J",
            "ws://127.0.0.1:",
            "ws://127.0.0.1:0",
            "ws://127.0.0.1:+1",
            "ws://127.0.0.1:65536",
            "ws://127.0.0.1:1:2",
            "ws://127.1",
            "ws://127.1.:1",
            "ws://0x7f000001",
            "ws://0X7F.1",
            "ws://2130706433",
            "ws://a.0x7f",
            "ws://010.0.0.1",
            "ws://::1",
            "ws://[::1",
            "ws://[::1]x",
            "ws://[127.0.0.1]",
            "ws://[fe80::1%25lo]",
            "ws://a..b",
            "ws://.a",
            "ws://lokal\u{e4}",
            "ws:// 127.0.0.1",
            "ws://127.0.0.1 ",
        ] {
            assert!(GatewayUrl::parse(text).is_err(), "{text:?}: {:?}", GatewayUrl::parse(text));
        }
    }
}
