//! Hosts as text: as a URL, a policy or a program spells them.

use std::net::IpAddr;

use crate::paths::expansion::trim;

/// What a text names as a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hostname {
    /// Nothing.
    Empty,
    /// An address in its canonical form.
    Address(IpAddr),
    /// Almost an address. Parsers disagree: to some it is one address, to others another one, or a name. Examples:
    /// `0177.0.0.1`, `2130706433`, `1..2`, `:::1`.
    Ambiguous(String),
    /// A name to look up, in small letters.
    Name(String),
}

/// Names of this host.
const LOCALHOST: [&str; 2] = ["localhost", "localhost.localdomain"];
/// The domain of this host (RFC 6761).
const LOCALHOST_DOMAIN: &str = ".localhost";
/// The domains of this host's network (RFC 6762, and ICANN's resolution of 2024-07-29). Clouds name their metadata services in
/// the second.
const LOCAL_DOMAINS: [&str; 2] = [".local", ".internal"];

/// A host as policies compare it: without white space around it, in small letters, without dots at the end, without
/// the brackets of a URL.
pub(super) fn normalized(text: &str) -> String {
    bare(&trim(text).to_lowercase()).to_owned()
}

/// The hosts of a policy's list, normalized.
pub(super) fn listed(texts: &[String]) -> impl Iterator<Item = String> {
    texts.iter().map(|text| trim(&normalized(text)).to_owned())
}

/// Removes the dots at the end, then the brackets.
fn bare(text: &str) -> &str {
    let text = text.trim_end_matches('.');
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text)
}

impl Hostname {
    /// Parses a host of any spelling. What looks like an address to some parser is never a name.
    pub(super) fn parse(text: &str) -> Hostname {
        let mut text = normalized(text);
        // Brackets within brackets must not hide an address.
        while trim(bare(&text)) != text {
            text = trim(bare(&text)).to_owned();
        }
        if text.is_empty() {
            return Hostname::Empty;
        }
        match address(&text) {
            Some(ip) => Hostname::Address(ip),
            None if text.contains(':') || is_like_ipv4(&text) => Hostname::Ambiguous(text),
            None if text.is_ascii() => Hostname::Name(text),
            None => Hostname::of_unicode(text),
        }
    }

    /// A name that is looked up in another form (UTS 46): `１２７.０.０.１` is digits and dots to a browser.
    fn of_unicode(text: String) -> Hostname {
        match url::Host::parse(&text) {
            Ok(url::Host::Domain(name)) => Hostname::Name(bare(&name).to_owned()),
            Ok(url::Host::Ipv4(_) | url::Host::Ipv6(_)) | Err(url::ParseError::InvalidIpv4Address) => {
                Hostname::Ambiguous(text)
            }
            Err(_) => Hostname::Name(text),
        }
    }

    /// Whether it is a name of this host, of its network, or of a metadata service.
    pub(super) fn is_local_name(&self) -> bool {
        let is_below = |name: &str| LOCAL_DOMAINS.iter().any(|domain| name.ends_with(domain));
        self.is_localhost() || self.name().is_some_and(is_below)
    }

    /// Whether it is a name of this host.
    pub(super) fn is_localhost(&self) -> bool {
        self.name().is_some_and(|name| LOCALHOST.contains(&name) || name.ends_with(LOCALHOST_DOMAIN))
    }

    /// The text, if some program may look it up as a name.
    fn name(&self) -> Option<&str> {
        match self {
            Hostname::Name(text) | Hostname::Ambiguous(text) => Some(text),
            Hostname::Empty | Hostname::Address(_) => None,
        }
    }
}

/// An address, if it is written as one: IPv4 as four decimal numbers, IPv6 with or without a zone (RFC 4007). The zone
/// only picks an interface.
fn address(text: &str) -> Option<IpAddr> {
    let (address, zone) = text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
    let is_zone = |zone: &str| !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match address.parse().ok()? {
        IpAddr::V4(_) if zone.is_some() => None,
        _ if !zone.is_none_or(is_zone) => None,
        ip => Some(ip),
    }
}

/// Whether `inet_aton(3)`, or another lenient parser, may take a text for an IPv4 address: at most four parts, all of
/// them numbers, or one of them empty.
fn is_like_ipv4(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_number = |part: &str| part.starts_with("0x") || part.bytes().all(|byte| byte.is_ascii_digit());
    text.split('.').count() <= 4 && (text.split('.').any(str::is_empty) || parts.all(is_number))
}
