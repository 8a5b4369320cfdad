//! Where a gateway is: a WebSocket url that says no more than that.

use std::fmt;
use std::net::IpAddr;

use tokio_tungstenite::tungstenite::http::Uri;

use crate::text::shown;

/// Where a gateway is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether TLS is spoken.
    pub wire: Wire,
    /// Whose it is.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// What the request is for, beginning with a slash.
    path: String,
}

/// What stands between the guard and the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `ws://`: nothing.
    Plain,
    /// `wss://`: TLS.
    Tls,
}

/// The host of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name, in lower case.
    Name(String),
}

impl Endpoint {
    /// The gateway on this host where nobody says otherwise.
    pub fn local(wire: Wire, port: u16) -> Endpoint {
        Endpoint { wire, host: Host::Address(IpAddr::from([127, 0, 0, 1])), port, path: "/".to_owned() }
    }

    /// Reads a url.
    ///
    /// # Errors
    /// What is wrong with it, as a part of a sentence about it.
    pub fn parse(url: &str) -> Result<Endpoint, String> {
        let url = url.trim();
        // The parser drops a fragment.
        if url.contains('#') {
            return Err("a url of a gateway has no fragment (#…)".to_owned());
        }
        let uri: Uri = url.parse().map_err(|error| format!("it is no url: {error}"))?;
        let wire = match uri.scheme_str() {
            Some("ws") => Wire::Plain,
            Some("wss") => Wire::Tls,
            Some(other) => {
                return Err(format!(
                    "it begins with {}://, not with ws:// or wss://",
                    shown(other.as_bytes())
                ));
            }
            None => return Err("it does not begin with ws:// or wss://".to_owned()),
        };
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(
                "a url of a gateway has no user or password (…@): name a tokenFile instead".to_owned()
            );
        }
        if uri.query().is_some() {
            return Err("a url of a gateway has no query (?…)".to_owned());
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("it names no host")?;
        let port = match (uri.port_u16(), uri.port()) {
            (Some(0), _) => return Err("0 is no port".to_owned()),
            (Some(port), _) => port,
            (None, Some(port)) => return Err(format!("{} is no port", shown(port.as_str().as_bytes()))),
            // As in a browser.
            (None, None) => {
                if wire == Wire::Plain {
                    80
                } else {
                    443
                }
            }
        };
        Ok(Endpoint { wire, host: Host::new(host), port, path: uri.path().to_owned() })
    }

    /// Whether the endpoint is on this host by its name alone.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(name) => name == "localhost",
        }
    }
}

impl Host {
    fn new(host: &str) -> Host {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match bare.parse::<IpAddr>() {
            Ok(address) => Host::Address(address.to_canonical()),
            Err(_) => Host::Name(host.to_ascii_lowercase()),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Host::Address(address) => write!(f, "{address}"),
            Host::Name(name) => f.write_str(&shown(name.as_bytes())),
        }
    }
}

/// The whole url.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.wire == Wire::Plain { "ws" } else { "wss" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)?;
        if self.path == "/" { Ok(()) } else { f.write_str(&shown(self.path.as_bytes())) }
    }
}
