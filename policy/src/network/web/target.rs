//! Where a request to the Web goes: a URL, or the host and port that a client of a proxy names.

use std::net::{IpAddr, SocketAddr};

use thiserror::Error;
use url::Url;

use super::name::is_name;
use super::public_suffix::PublicSuffixes;
use crate::network::connection::Connection;
use crate::network::hostname::Hostname;
use crate::network::web_origin::WebOrigin;

/// The scheme of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WebScheme {
    /// Plain HTTP.
    Http,
    /// HTTP in TLS.
    Https,
}

impl WebScheme {
    /// Its name in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            WebScheme::Http => "http",
            WebScheme::Https => "https",
        }
    }
}

/// Where a request goes, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebTarget<'a> {
    /// A URL.
    Url(&'a str),
    /// A host, and a port after a colon, as a client of a proxy writes them.
    Authority(&'a str, WebScheme),
}

/// A request to a host of the Web.
#[derive(Clone, Copy, Debug)]
pub struct WebRequest<'a> {
    /// Where it goes.
    pub target: WebTarget<'a>,
    /// The addresses that the name resolves to. All of them are judged. Empty if only the name is to be judged.
    pub addresses: &'a [Connection],
    /// Whether a human has approved the name itself. Denials count all the same, and so do questions about its addresses.
    pub is_name_approved: bool,
}

/// A host and a port, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebEndpoint {
    scheme: WebScheme,
    host: Hostname,
    /// The host as policies compare it: a name in small letters without a dot at the end, or an address.
    text: String,
    port: u16,
}

/// Why a text names no host of the Web.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WebTargetError {
    /// It does not parse.
    #[error("this is not a URL")]
    NotAUrl,
    /// Another scheme.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// `user@` or `user:password@`.
    #[error("a URL with a user or a password")]
    Userinfo,
    /// `0177.0.0.1`, `2130706433`, a zone, or anything else that some parsers take for an address.
    #[error("the host is an address to some programs, and none or another one to others")]
    Ambiguous,
    /// No name that can be looked up.
    #[error("the host is not a name")]
    NotAName,
    /// No port from 1 to 65535.
    #[error("the port is not a number from 1 to 65535")]
    Port,
}

impl WebTarget<'_> {
    /// The host and the port.
    ///
    /// # Errors
    /// Why the text names none.
    pub fn endpoint(&self) -> Result<WebEndpoint, WebTargetError> {
        match *self {
            WebTarget::Url(text) => of_url(text),
            WebTarget::Authority(text, scheme) => {
                // A text without these characters is only a host and a port.
                if text.is_empty() || text.contains(['/', '\\', '?', '#']) {
                    return Err(WebTargetError::NotAUrl);
                }
                of_url(&format!("{}://{text}/", scheme.as_str()))
            }
        }
    }
}

fn of_url(text: &str) -> Result<WebEndpoint, WebTargetError> {
    // Parsers of URLs remove some of these.
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(WebTargetError::NotAUrl);
    }
    let url = Url::parse(text).map_err(|error| match error {
        url::ParseError::InvalidPort => WebTargetError::Port,
        url::ParseError::InvalidIpv4Address | url::ParseError::InvalidIpv6Address => {
            WebTargetError::Ambiguous
        }
        _ => WebTargetError::NotAUrl,
    })?;
    let scheme = match url.scheme() {
        "http" => WebScheme::Http,
        "https" => WebScheme::Https,
        _ => return Err(WebTargetError::Scheme),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(WebTargetError::Userinfo);
    }
    let host = url.host_str().unwrap_or_default();
    let is_as_written = || {
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        rest.get(..host.len()).is_some_and(|start| start == host)
    };
    let hostname = Hostname::parse(host);
    match &hostname {
        Hostname::Address(_) if matches!(url.host(), Some(url::Host::Ipv4(_))) && !is_as_written() => {
            return Err(WebTargetError::Ambiguous);
        }
        Hostname::Address(_) => {}
        Hostname::Name(name) if is_name(name) => {}
        Hostname::Ambiguous(_) => return Err(WebTargetError::Ambiguous),
        Hostname::Name(_) | Hostname::Empty => return Err(WebTargetError::NotAName),
    }
    let port = url.port_or_known_default().filter(|port| *port > 0).ok_or(WebTargetError::Port)?;
    let text = match &hostname {
        Hostname::Address(ip) => ip.to_string(),
        Hostname::Name(text) | Hostname::Ambiguous(text) => text.clone(),
        Hostname::Empty => String::new(),
    };
    Ok(WebEndpoint { scheme, host: hostname, text, port })
}

impl WebEndpoint {
    /// The scheme.
    pub fn scheme(&self) -> WebScheme {
        self.scheme
    }

    /// The host as policies compare it: a name in small letters without a dot at the end, or an address without brackets.
    pub fn host(&self) -> &str {
        &self.text
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, if the host is one.
    pub fn address(&self) -> Option<SocketAddr> {
        match self.host {
            Hostname::Address(ip) => Some(SocketAddr::new(ip, self.port)),
            _ => None,
        }
    }

    /// The host and the port, as in a URL.
    pub fn authority(&self) -> String {
        match self.host {
            Hostname::Address(ip @ IpAddr::V6(_)) => format!("[{ip}]:{}", self.port),
            _ => format!("{}:{}", self.text, self.port),
        }
    }

    /// Whether it is a name of this host or of its network.
    pub(crate) fn is_local_name(&self) -> bool {
        self.host.is_local_name()
    }

    /// The hosts below the domain that its owner has registered: `*.example.co.uk`. `None` for an address, a name of this
    /// network, and that domain itself. A domain below which a registry or a host of pages gives names to different owners
    /// (`*.co.uk`, `*.github.io`) does not count.
    pub fn domain(&self, suffixes: &PublicSuffixes) -> Option<String> {
        // RFC 8375: the network at home.
        let is_at_home = self.text.ends_with(".home.arpa");
        let is_name = self.address().is_none() && !self.is_local_name() && !is_at_home;
        let domain = suffixes.domain(&self.text).filter(|_| is_name)?;
        (domain != self.text).then(|| format!("*.{domain}"))
    }

    /// Scheme, host and port.
    pub(crate) fn origin(&self) -> WebOrigin {
        WebOrigin::new(self.scheme.as_str(), &self.authority())
    }

    /// Scheme and port, with these hosts in place of the host.
    pub(crate) fn origin_of(&self, hosts: &str) -> WebOrigin {
        WebOrigin::new(self.scheme.as_str(), &format!("{hosts}:{}", self.port))
    }
}
