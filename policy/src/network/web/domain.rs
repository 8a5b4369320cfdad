//! An entry of `network.web.allowedDomains` or `deniedDomains`.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use super::name::is_name;
use super::registries::{NamedHosts, UnknownNamedHosts};
use super::target::WebEndpoint;
use crate::network::address::AddressClass;
use crate::network::hostname_pattern::HostnamePattern;
use crate::network::prefix::{Prefix, PrefixError};
use crate::paths::expansion::trim;

/// A host, every host below a domain (`*.example.com`), the hosts of a package registry (`@npm`), or the hosts at addresses
/// of a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DomainRule {
    /// By name.
    Name(HostnamePattern),
    /// By a name that stands for several hosts.
    Named(NamedHosts),
    /// By address.
    Prefix(Prefix),
}

const EXPECTED: &str = "write a host (example.com), *.example.com for every host below it, or an address";

/// Why a text is not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DomainRuleError {
    /// A name with `@` that stands for nothing.
    #[error(transparent)]
    NamedHosts(#[from] UnknownNamedHosts),
    /// An address with a length that does not fit.
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    /// A URL, or a host with a path.
    #[error("this is not a host: {EXPECTED}; whole URLs go into allowedOrigins or deniedOrigins")]
    Url,
    /// A host with a port.
    #[error("this has a port: {EXPECTED}; network.connect.ports has the ports")]
    Port,
    /// A star in a part of a name.
    #[error("a star stands for whole names only: {EXPECTED}")]
    Star,
    /// A name that is looked up in another form, which this holds.
    #[error("this is looked up as \"{0}\": write that")]
    OtherForm(String),
    /// No pattern matches it.
    #[error("{EXPECTED}")]
    NoPattern,
    /// Any other text.
    #[error("this is not a host: {EXPECTED}")]
    NotHost,
}

impl DomainRule {
    /// Parses an entry.
    ///
    /// # Errors
    /// If the text is not an entry.
    pub(crate) fn parse(text: &str) -> Result<DomainRule, DomainRuleError> {
        let text = trim(text);
        if text.starts_with('@') {
            return Ok(DomainRule::Named(NamedHosts::parse(text)?));
        }
        if let Some(prefix) = prefix(text)? {
            return Ok(DomainRule::Prefix(prefix));
        }
        if text.contains("://") || text.contains('/') {
            return Err(DomainRuleError::Url);
        }
        if text.contains(':') {
            return Err(DomainRuleError::Port);
        }
        let name = text.strip_prefix("*.").unwrap_or(text);
        match url::Host::parse(name) {
            _ if name.contains('*') => Err(DomainRuleError::Star),
            Ok(url::Host::Domain(ascii)) if ascii == name.to_ascii_lowercase() && is_name(&ascii) => {
                let pattern = HostnamePattern::list(&[text.to_owned()]).pop();
                pattern.map(DomainRule::Name).ok_or(DomainRuleError::NoPattern)
            }
            Ok(url::Host::Domain(ascii)) if is_name(&ascii) => Err(DomainRuleError::OtherForm(ascii)),
            _ => Err(DomainRuleError::NotHost),
        }
    }

    /// The names for several hosts whose hosts are all in `hosts`. With `partly`, the names of which at least one host
    /// is in `hosts`.
    pub(crate) fn lists_of(hosts: &BTreeSet<String>, partly: bool) -> impl Iterator<Item = DomainRule> {
        NamedHosts::among(hosts, partly).map(DomainRule::Named)
    }

    /// Whether the entry matches an endpoint's host, before any look-up.
    pub(crate) fn names(&self, endpoint: &WebEndpoint) -> bool {
        let address = endpoint.address();
        address.is_some_and(|address| self.covers(address.ip())) || self.names_host(endpoint.host())
    }

    /// Whether the entry matches a normalized host by its name.
    pub(crate) fn names_host(&self, host: &str) -> bool {
        match self {
            DomainRule::Name(pattern) => pattern.matches(host),
            DomainRule::Named(hosts) => hosts.pattern(host).is_some(),
            DomainRule::Prefix(_) => false,
        }
    }

    /// Whether the entry is a prefix that covers an address.
    pub(super) fn covers(&self, ip: IpAddr) -> bool {
        matches!(self, DomainRule::Prefix(prefix) if prefix.covers(ip.to_canonical()))
    }

    /// The class of the addresses that the entry covers, if they are not public. Such an entry in `allowedDomains` would not
    /// open them by itself.
    pub(crate) fn private_class(&self) -> Option<AddressClass> {
        let DomainRule::Prefix(prefix) = self else { return None };
        Some(AddressClass::from_ip(prefix.network())).filter(|class| *class != AddressClass::Public)
    }
}

/// An address or a prefix, if the text is one.
fn prefix(text: &str) -> Result<Option<Prefix>, PrefixError> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address = address.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(address);
    match address.parse() {
        Ok(address) => Prefix::parse(address, length).map(Some),
        Err(_) => Ok(None),
    }
}

impl fmt::Display for DomainRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DomainRule::Name(pattern) => pattern.fmt(f),
            DomainRule::Named(hosts) => hosts.fmt(f),
            DomainRule::Prefix(prefix) => prefix.fmt(f),
        }
    }
}
