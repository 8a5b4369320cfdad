//! A host that a human is asked about.

use std::fmt;
use std::net::IpAddr;

use guard_policy::{Transport, WebScheme};

/// A host that a program wants to reach.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskedHost {
    /// The host and the port, as they were judged.
    pub authority: String,
    /// How it is reached.
    pub by: HostProtocol,
    /// The addresses of the host, if the question is about them. Empty if it is about the host's name.
    pub addresses: Vec<IpAddr>,
    /// The hosts that a wider answer may be for: `*.example.com`. `None` if the question is about addresses.
    pub domain: Option<String>,
}

impl AskedHost {
    /// How the host is reached, and where: `TLS`, `plain HTTP GET`, `TLS at 10.0.0.1`, `TCP`.
    pub fn way(&self) -> String {
        let by = self.by.to_string();
        let addresses: Vec<_> = self.addresses.iter().map(IpAddr::to_string).collect();
        if addresses.is_empty() { by } else { format!("{by} at {}", addresses.join(", ")) }
    }
}

/// How a host is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostProtocol {
    /// TLS through the guard's proxy.
    Tls,
    /// Plain HTTP through the guard's proxy, with the method of the request, which is empty for a tunnel.
    Http(String),
    /// A connection of the program's own.
    Tcp,
    /// Datagrams of the program's own.
    Udp,
}

impl HostProtocol {
    /// Returns how a request of the Web reaches its host. Only plain HTTP has the `method`.
    pub fn from_web(scheme: WebScheme, method: String) -> HostProtocol {
        match scheme {
            WebScheme::Https => HostProtocol::Tls,
            WebScheme::Http => HostProtocol::Http(method),
        }
    }
}

impl From<Transport> for HostProtocol {
    fn from(transport: Transport) -> HostProtocol {
        match transport {
            Transport::Tcp => HostProtocol::Tcp,
            Transport::Udp => HostProtocol::Udp,
        }
    }
}

impl fmt::Display for HostProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostProtocol::Tls => f.write_str("TLS"),
            HostProtocol::Http(method) if method.is_empty() => f.write_str("plain HTTP"),
            HostProtocol::Http(method) => write!(f, "plain HTTP {method}"),
            HostProtocol::Tcp => f.write_str("TCP"),
            HostProtocol::Udp => f.write_str("UDP"),
        }
    }
}
