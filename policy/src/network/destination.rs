//! A destination in `network.connect`, such as `10.0.0.0/8:443`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::address::AddressClass;
use super::prefix::{Prefix, PrefixError, digits};
use crate::config::problem::nearest;

/// A set of addresses, with one port or all ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    /// `localhost`: every address at which this host reaches itself.
    Local,
    /// A prefix; a single address is a prefix of full length.
    Prefix(Prefix),
}

const LOCALHOST: &str = "localhost";
const EXPECTED: &str = "an address, a prefix (10.0.0.0/8), localhost or *, optionally with :PORT";

/// Why a text is not a destination, or not the destination of an exception.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DestinationError {
    /// An IPv6 address without its end.
    #[error("the bracket is not closed")]
    Bracket,
    /// The text between the brackets is not an IPv6 address.
    #[error("[{0}] is not an IPv6 address")]
    NotIpv6(String),
    /// It is not clear where the port begins.
    #[error("IPv6 with a port is written with brackets, [fd00::]/8:443")]
    Ipv6Port,
    /// Something else than a length follows the address.
    #[error("\"{0}\" after an address: write {EXPECTED}")]
    After(String),
    /// The text after the colon is no port.
    #[error("\"{0}\" is not a port from 1 to 65535")]
    Port(String),
    /// A word that is nearly `localhost`.
    #[error("\"{host}\" is not an address; did you mean \"{near}\"?")]
    Misspelled { host: String, near: String },
    /// A host's name.
    #[error("\"{0}\" is not an address, and names are not resolved: write {EXPECTED}")]
    Name(String),
    /// Any other text.
    #[error("\"{0}\" is not an address: write {EXPECTED}")]
    NotAddress(String),
    /// The address and the length do not fit.
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    /// An exception for `*` or `localhost`.
    #[error("\"{0}\" is not an address or a prefix")]
    NotPrefix(String),
    /// An exception for what is allowed anyway.
    #[error("{network} is {class}, and needs no exception")]
    NoException { network: IpAddr, class: AddressClass },
    /// An exception for many addresses that can give away credentials.
    #[error("\"{text}\" is not one address: {class} addresses are named each by itself")]
    NotOne { text: String, class: AddressClass },
}

impl Destination {
    /// Parses a destination. IPv6 with a port needs brackets, as in a URL: `[fd00::]/8:443`.
    ///
    /// # Errors
    /// If the text is not a destination.
    pub(crate) fn parse(text: &str) -> Result<Destination, DestinationError> {
        let Parts { host, length, port } = split(text)?;
        let port = match port {
            None | Some("*") => None,
            Some(text) => Some(self::port(text).ok_or_else(|| DestinationError::Port(text.to_owned()))?),
        };
        let hosts = match (host, length) {
            ("*", None) => Hosts::All,
            (name, None) if name.eq_ignore_ascii_case(LOCALHOST) => Hosts::Local,
            _ => Hosts::Prefix(prefix(host, length)?),
        };
        Ok(Destination { hosts, port })
    }

    /// Parses an exception: addresses that are not public, with one port or all. Link-local and metadata addresses are
    /// named each by itself.
    ///
    /// # Errors
    /// If the text is not such a destination.
    pub(crate) fn parse_exception(text: &str) -> Result<Destination, DestinationError> {
        let destination = Destination::parse(text)?;
        let Hosts::Prefix(prefix) = &destination.hosts else {
            return Err(DestinationError::NotPrefix(text.to_owned()));
        };
        match AddressClass::from_ip(prefix.network()) {
            class @ (AddressClass::Public | AddressClass::Loopback) => {
                Err(DestinationError::NoException { network: prefix.network(), class })
            }
            class @ (AddressClass::LinkLocal | AddressClass::Metadata) if prefix.address().is_none() => {
                Err(DestinationError::NotOne { text: text.to_owned(), class })
            }
            _ => Ok(destination),
        }
    }

    /// Whether the destination is a single address, and is this one.
    pub(crate) fn names(&self, address: SocketAddr) -> bool {
        let is_one = matches!(&self.hosts, Hosts::Prefix(prefix) if prefix.address().is_some());
        is_one && self.covers(address, false)
    }

    /// Whether it covers an address. `is_local` says whether the address is this host's own.
    pub(crate) fn covers(&self, address: SocketAddr, is_local: bool) -> bool {
        let ip = address.ip().to_canonical();
        self.port.is_none_or(|port| port == address.port())
            && match &self.hosts {
                Hosts::All => true,
                Hosts::Local => is_local,
                Hosts::Prefix(prefix) => meant(ip).into_iter().any(|ip| prefix.covers(ip)),
            }
    }

    /// Whether the caller must look at this host's interfaces to decide about a port.
    pub(crate) fn needs_interfaces(&self, port: u16) -> bool {
        self.hosts == Hosts::Local && self.port.is_none_or(|own| own == port)
    }
}

/// The addresses that the kernel may connect to for this address. An unspecified address means this host.
fn meant(ip: IpAddr) -> [IpAddr; 3] {
    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    match ip {
        IpAddr::V4(v4) if v4.is_unspecified() => [ip, V4, V4],
        // A socket that is bound to an IPv4-mapped address connects to the IPv4 loopback address.
        IpAddr::V6(v6) if v6.is_unspecified() => [ip, IpAddr::V6(Ipv6Addr::LOCALHOST), V4],
        _ => [ip; 3],
    }
}

/// Whether an address alone shows that it is this host: `127.0.0.0/8`, `::1`, an unspecified address, or an IPv4-mapped
/// form of these.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    ip.is_loopback() || ip.is_unspecified()
}

/// The parts of a destination, not parsed yet.
struct Parts<'t> {
    host: &'t str,
    length: Option<&'t str>,
    port: Option<&'t str>,
}

fn split(text: &str) -> Result<Parts<'_>, DestinationError> {
    let (host, after) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']').ok_or(DestinationError::Bracket)?;
            if address.parse::<Ipv6Addr>().is_err() {
                return Err(DestinationError::NotIpv6(address.to_owned()));
            }
            (address, after)
        }
        // Without brackets, the colons of an IPv6 address do not start a port.
        None => {
            let end = if text.matches(':').count() > 1 { text.find('/') } else { text.find(['/', ':']) };
            text.split_at(end.unwrap_or(text.len()))
        }
    };
    let (length, port) = match after.split_once(':') {
        Some(_) if text.matches(':').count() > 1 && !text.starts_with('[') => {
            return Err(DestinationError::Ipv6Port);
        }
        Some((length, port)) => (length, Some(port)),
        None => (after, None),
    };
    match length.strip_prefix('/') {
        None if length.is_empty() => Ok(Parts { host, length: None, port }),
        Some(length) => Ok(Parts { host, length: Some(length), port }),
        None => Err(DestinationError::After(length.to_owned())),
    }
}

fn prefix(host: &str, length: Option<&str>) -> Result<Prefix, DestinationError> {
    Ok(Prefix::parse(host.parse().map_err(|_| unknown(host))?, length)?)
}

fn unknown(host: &str) -> DestinationError {
    let text = host.to_owned();
    match nearest(host, &[LOCALHOST]) {
        Some(near) => DestinationError::Misspelled { host: text, near },
        None if host.contains(|c: char| c.is_ascii_alphabetic()) && !host.contains(':') => {
            DestinationError::Name(text)
        }
        None => DestinationError::NotAddress(text),
    }
}

/// Parses a port, which must not be 0.
pub(crate) fn port(text: &str) -> Option<u16> {
    digits(text).and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::All => f.write_str("*")?,
            Hosts::Local => f.write_str(LOCALHOST)?,
            Hosts::Prefix(prefix) => write!(f, "{prefix}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => f.write_str(":*"),
        }
    }
}
