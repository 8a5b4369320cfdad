//! What the proxy and the supervisor say to each other: a line of JSON for each message.

use std::io::{self, BufRead, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use guard_policy::WebScheme;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The longest line, in bytes. A name has at most 253 bytes, and a question at most [`MAX_ADDRESSES`] addresses.
const MAX_LINE: u64 = 16 * 1024;
/// The maximum number of addresses of a name. The proxy does not connect to a name with more.
pub const MAX_ADDRESSES: usize = 64;

/// A message of the proxy.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProxyMessage {
    /// May this client reach that host?
    Asks(WebQuestion),
    /// Nobody waits for the answer to this question any more.
    Withdraws {
        /// The question's number.
        id: u64,
    },
    /// The proxy refuses a request to an allowed host, because of what is in it. The refusal gets an answer, too: the
    /// client is told after the refusal is in the log.
    Refuses(WebRefusal),
    /// What was this redirected connection for?
    Accepts {
        /// A number that the answer has, too.
        id: u64,
        /// The client.
        client: WebPeer,
    },
    /// Which address stands for this name?
    LooksUp(WebLookup),
    /// A connection to a host has ended.
    Moved(WebTransfer),
    /// A client's connection has ended.
    Left {
        /// The client.
        client: WebPeer,
    },
}

/// A client of the proxy, as the proxy and the supervisor know it. No two sockets that exist at the same time have both
/// parts in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WebPeer {
    /// The client's own address.
    pub from: SocketAddr,
    /// Where it has connected to.
    pub to: ProxySocket,
}

/// A socket of the proxy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProxySocket {
    /// TCP: for programs that know the proxy.
    Proxy,
    /// TCP: for connections to where other hosts would be, which the supervisor has redirected.
    Redirected,
    /// UDP: for look-ups, which the supervisor has redirected.
    Lookups,
}

/// A question about a host. The proxy asks it twice: without addresses before the look-up, so that a denied name is
/// never looked up, and with all addresses before it connects.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebQuestion {
    /// A number that the answer has, too.
    pub id: u64,
    /// The number of the request. What a human allows once is for one request, which has several questions.
    pub request: u64,
    /// The client.
    pub client: WebPeer,
    /// The method of a request of plain HTTP. Empty for a tunnel.
    pub method: String,
    /// The host and the port, as the client wrote them.
    pub authority: String,
    /// Whether it is for TLS.
    #[serde(with = "SchemeName")]
    pub scheme: WebScheme,
    /// What the name resolves to.
    pub addresses: Vec<IpAddr>,
}

/// [`WebScheme`], as it is sent.
#[derive(Serialize, Deserialize)]
#[serde(remote = "WebScheme", rename_all = "lowercase")]
enum SchemeName {
    Http,
    Https,
}

/// A look-up of a name's IPv4 addresses. Other look-ups find nothing, and the supervisor does not hear of them.
#[derive(Debug, Serialize, Deserialize)]
pub struct WebLookup {
    /// A number that the answer has, too.
    pub id: u64,
    /// The client.
    pub client: WebPeer,
    /// The name, as the client wrote it.
    pub name: String,
}

/// What a connection was for before the supervisor redirected it to the proxy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Redirected {
    /// A host and a port.
    Host(String),
    /// Look-ups.
    Lookups,
}

/// What became of a connection to a host.
#[derive(Debug, Serialize, Deserialize)]
pub struct WebTransfer {
    /// The client.
    pub client: WebPeer,
    /// The host and the port.
    pub authority: String,
    /// The address that was connected to.
    pub address: IpAddr,
    /// Bytes from the client.
    pub sent: u64,
    /// Bytes to the client.
    pub received: u64,
}

/// A request that differs from what was judged.
#[derive(Debug, Serialize, Deserialize)]
pub struct WebRefusal {
    /// A number that the answer has, too.
    pub id: u64,
    /// The client.
    pub client: WebPeer,
    /// The host and the port that were judged.
    pub authority: String,
    /// Why.
    pub why: RefusalReason,
}

/// Why the proxy refuses a request to a host that is allowed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RefusalReason {
    /// TLS for another name.
    ServerName(String),
    /// TLS that names no host.
    NoServerName,
    /// TLS that hides the name (Encrypted Client Hello).
    HiddenServerName,
    /// What begins like TLS and is not TLS.
    NotTls,
    /// HTTP for another host.
    Host(String),
    /// A response that is longer than `network.web.maxResponseBytes`.
    TooLong(u64),
    /// A redirect, with `network.web.followRedirects` false.
    Redirect,
}

/// The supervisor's answer to a message.
#[derive(Debug, Serialize, Deserialize)]
pub struct WebAnswer {
    /// The number of the message that it answers.
    pub id: u64,
    /// The answer.
    pub verdict: WebVerdict,
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WebVerdict {
    /// What the client's connection was for.
    Redirected(Redirected),
    /// The address that stands for the name.
    Address(Ipv4Addr),
    /// The client may reach the host.
    Allowed(WebGrant),
    /// The client may not reach the host, by this rule.
    Denied(String),
    /// A human is asked. Another answer follows.
    Asked,
    /// The client is not of the tree, or its connection is not registered yet.
    UnknownClient,
}

/// What an allowed request may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebGrant {
    /// The host, in the form that was judged.
    pub host: String,
    /// The host and the port.
    pub authority: String,
    /// The port.
    pub port: u16,
    /// The longest response of plain HTTP.
    pub max_response_bytes: Option<u64>,
    /// Whether redirects of plain HTTP reach the client.
    pub follow_redirects: bool,
}

/// Reads a message; `None` at the end.
///
/// # Errors
/// The error of the read; `InvalidData` if a line is too long or not a message.
pub fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// A message as a line.
pub fn line(message: &impl Serialize) -> Vec<u8> {
    // A message consists of strings, numbers and structures of them, so serializing it cannot fail.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> WebPeer {
        WebPeer { from: SocketAddr::from(([127, 0, 0, 1], port)), to: ProxySocket::Proxy }
    }

    fn question(authority: &str) -> ProxyMessage {
        ProxyMessage::Asks(WebQuestion {
            id: 7,
            request: 1,
            method: String::new(),
            client: peer(40000),
            authority: authority.to_owned(),
            scheme: WebScheme::Https,
            addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        })
    }

    #[test]
    fn messages_are_lines() {
        let text =
            [line(&question("example.com:443")), line(&ProxyMessage::Left { client: peer(1) })].concat();
        let mut from = &text[..];
        let first: Option<ProxyMessage> = receive(&mut from).unwrap();
        assert!(
            matches!(first, Some(ProxyMessage::Asks(WebQuestion { id: 7, client, .. })) if client == peer(40000)),
            "{first:?}"
        );
        assert!(
            matches!(receive(&mut from).unwrap(), Some(ProxyMessage::Left { client }) if client == peer(1))
        );
        assert!(receive::<ProxyMessage>(&mut from).unwrap().is_none());
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let long = line(&question(&"x".repeat(MAX_LINE as usize)));
        for text in [&b"{}\n"[..], b"{\"left\":{\"client\":1}}", b"\xff\n", &long] {
            assert!(receive::<ProxyMessage>(&mut &text[..]).is_err(), "{}", text.len());
        }
    }
}
