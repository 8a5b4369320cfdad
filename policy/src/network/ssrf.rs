//! OpenClaw's protection against server-side request forgery: which hosts a tool of the Web may reach (release 2026.9.6,
//! `src/infra/net/ssrf.ts`).
//!
//! Four things are stricter here: the metadata services that OpenClaw does not know (Azure's), 5f00::/16, 2001:10::/28,
//! and names that become an address, or another name, in the form in which they are looked up. docs/compatibility.md
//! ("Hosts of the Web") has each row.

use serde::Deserialize;
use thiserror::Error;
use url::Url;

use super::address::{AddressClass, special_uses};
use super::hostname::{Hostname, listed, normalized};
use super::hostname_pattern::HostnamePattern;
use super::special_use::{Registration, SpecialUse};
use super::web_origin::WebOrigin;

/// `SsrFPolicy`: which hosts an operator allows, among those that are not public and among the public ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct SsrfPolicy {
    /// Every host and every address, metadata services included.
    pub allow_private_network: bool,
    /// A second name for [`SsrfPolicy::allow_private_network`].
    pub dangerously_allow_private_network: bool,
    /// 198.18.0.0/15, where proxies that answer look-ups themselves put their addresses.
    pub allow_rfc2544_benchmark_range: bool,
    /// fc00::/7, for the same reason.
    pub allow_ipv6_unique_local_range: bool,
    /// Hosts that may be private. Their names may also lead to private addresses, except those of this host, of
    /// metadata services, and unspecified and link-local ones.
    pub allowed_hostnames: Vec<String>,
    /// Origins whose host counts as one of `allowedHostnames` in a request to that origin.
    pub allowed_origins: Vec<String>,
    /// The only hosts, or `*.example.com`; every host if there are none.
    pub hostname_allowlist: Vec<String>,
    /// Hosts, or `*.example.com`, that nothing allows.
    pub blocked_hostnames: Vec<String>,
}

/// An address from a look-up, as Node's `dns.lookup` returns it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookupAddress {
    /// The address.
    pub address: String,
    /// 4 or 6.
    pub family: u8,
}

/// What a host is, before any look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCheck {
    /// The host is a name of this host, of its network, or of a metadata service.
    pub is_blocked_hostname: bool,
    /// The host is an address that the policy does not allow, or a text that some parsers read as an address
    /// (`0177.0.0.1`).
    pub is_private_ip: bool,
}

/// Why a host may not be reached, in OpenClaw's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SsrfError {
    /// No host at all.
    #[error("Invalid hostname")]
    InvalidHostname,
    /// No URL.
    #[error("Invalid URL")]
    InvalidUrl,
    /// `blockedHostnames` has the host.
    #[error(
        "Domain policy: Blocked hostname (configured blocklist): {0}. Try a URL on a different domain or ask the operator to review blockedHostnames."
    )]
    Blocklisted(String),
    /// `hostnameAllowlist` does not have the host.
    #[error(
        "Domain policy: Blocked hostname (not in allowlist): {host}. Permitted hostname patterns: {permitted}. Try a URL on a permitted domain."
    )]
    NotAllowlisted {
        /// The host, as written.
        host: String,
        /// The patterns, separated by commas.
        permitted: String,
    },
    /// The host's own text names a special host.
    #[error("Blocked hostname or private/internal/special-use IP address")]
    SpecialHost,
    /// The host leads to a special address.
    #[error("Blocked: resolves to private/internal/special-use IP address")]
    SpecialAddress,
    /// A look-up without an answer.
    #[error("Unable to resolve hostname: {0}")]
    Unresolved(String),
}

impl SsrfError {
    /// The class of OpenClaw's exception.
    pub fn name(&self) -> &'static str {
        match self {
            SsrfError::InvalidHostname | SsrfError::Unresolved(_) => "Error",
            SsrfError::InvalidUrl => "TypeError",
            SsrfError::Blocklisted(_)
            | SsrfError::NotAllowlisted { .. }
            | SsrfError::SpecialHost
            | SsrfError::SpecialAddress => "SsrFBlockedError",
        }
    }
}

/// How strictly the addresses of a host are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostTrust {
    /// They must be public.
    None,
    /// The operator named the host: they may be private.
    Named,
    /// The operator allows every network.
    Full,
}

impl SsrfPolicy {
    /// `isBlockedHostname` and `isPrivateIpAddress`.
    pub fn check_host(&self, host: &str) -> HostCheck {
        let hostname = Hostname::parse(host);
        let is_private_ip = match &hostname {
            Hostname::Address(ip) => special_uses(*ip).any(|registration| !self.exempts(registration)),
            Hostname::Ambiguous(_) => true,
            Hostname::Empty | Hostname::Name(_) => false,
        };
        HostCheck { is_blocked_hostname: hostname.is_local_name(), is_private_ip }
    }

    /// `assertHostnameAllowedWithPolicy`: the host in the form in which policies compare it.
    ///
    /// # Errors
    /// Why it may not be reached, before any look-up.
    pub fn check_hostname(&self, host: &str) -> Result<String, SsrfError> {
        self.judged(host, None).map(|(host, _)| host)
    }

    /// `resolvePinnedHostnameWithPolicy`: the addresses to connect to, IPv4 first, each once.
    ///
    /// # Errors
    /// Why none may be reached.
    pub fn check_lookup<'a>(
        &self,
        host: &str,
        answers: &'a [LookupAddress],
    ) -> Result<Vec<&'a str>, SsrfError> {
        self.pinned(host, None, answers)
    }

    /// Like [`SsrfPolicy::check_lookup`], for the host of a URL, with `allowedOrigins`.
    ///
    /// # Errors
    /// Why none may be reached.
    pub fn check_url<'a>(&self, url: &str, answers: &'a [LookupAddress]) -> Result<Vec<&'a str>, SsrfError> {
        let url = Url::parse(url).map_err(|_| SsrfError::InvalidUrl)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        self.pinned(&host, WebOrigin::from_url(url).as_ref(), answers)
    }

    fn pinned<'a>(
        &self,
        host: &str,
        origin: Option<&WebOrigin>,
        answers: &'a [LookupAddress],
    ) -> Result<Vec<&'a str>, SsrfError> {
        let (normalized, trust) = self.judged(host, origin)?;
        if answers.is_empty() {
            return Err(SsrfError::Unresolved(host.to_owned()));
        }
        let host = Hostname::parse(&normalized);
        if answers.iter().any(|answer| self.blocks(trust, &host, &Hostname::parse(&answer.address))) {
            return Err(SsrfError::SpecialAddress);
        }
        let (first, then): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.family == 4);
        let mut addresses: Vec<&str> = Vec::with_capacity(answers.len());
        for answer in first.into_iter().chain(then) {
            if !addresses.contains(&&answer.address[..]) {
                addresses.push(&answer.address);
            }
        }
        Ok(addresses)
    }

    /// The normalized host, if its text is allowed, and how its addresses are judged.
    fn judged(&self, host: &str, origin: Option<&WebOrigin>) -> Result<(String, HostTrust), SsrfError> {
        let name = normalized(host);
        if name.is_empty() {
            return Err(SsrfError::InvalidHostname);
        }
        if HostnamePattern::list(&self.blocked_hostnames).iter().any(|pattern| pattern.matches(&name)) {
            return Err(SsrfError::Blocklisted(host.to_owned()));
        }
        let permitted = HostnamePattern::list(&self.hostname_allowlist);
        if !permitted.is_empty() && !permitted.iter().any(|pattern| pattern.matches(&name)) {
            let permitted: Vec<_> = permitted.iter().map(ToString::to_string).collect();
            return Err(SsrfError::NotAllowlisted { host: host.to_owned(), permitted: permitted.join(", ") });
        }
        let trust = self.trust(&name, origin);
        if trust == HostTrust::None && self.check_host(&name).is_blocked() {
            return Err(SsrfError::SpecialHost);
        }
        Ok((name, trust))
    }

    fn trust(&self, name: &str, origin: Option<&WebOrigin>) -> HostTrust {
        if self.allow_private_network || self.dangerously_allow_private_network {
            return HostTrust::Full;
        }
        let is_origin = |text: &String| origin.is_some() && WebOrigin::parse(text).as_ref() == origin;
        let is_named = listed(&self.allowed_hostnames).any(|text| text == name)
            || self.allowed_origins.iter().any(is_origin);
        if is_named { HostTrust::Named } else { HostTrust::None }
    }

    /// Whether an address of a host is denied. A text that is not an address is denied.
    fn blocks(&self, trust: HostTrust, host: &Hostname, answer: &Hostname) -> bool {
        let Hostname::Address(ip) = answer else { return trust != HostTrust::Full };
        match trust {
            HostTrust::Full => false,
            HostTrust::None => special_uses(*ip).any(|registration| !self.exempts(registration)),
            HostTrust::Named => special_uses(*ip).any(|registration| match registration.special_use {
                SpecialUse::ThisNetwork
                | SpecialUse::LinkLocal
                | SpecialUse::Metadata
                | SpecialUse::LocalNat64 => true,
                SpecialUse::Loopback => !is_this_host(host),
                _ => false,
            }),
        }
    }

    /// Whether the policy lets a range through, as it does with all that is global.
    fn exempts(&self, registration: &Registration) -> bool {
        match registration.special_use {
            SpecialUse::UniqueLocal => self.allow_ipv6_unique_local_range,
            // OpenClaw's option covers RFC 2544 only; the IPv6 range is from RFC 5180.
            SpecialUse::Benchmarking if registration.prefix.is_ipv4() => self.allow_rfc2544_benchmark_range,
            other => AddressClass::from(other) == AddressClass::Public,
        }
    }
}

impl HostCheck {
    /// `isBlockedHostnameOrIp`.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked_hostname || self.is_private_ip
    }
}

/// Whether a host's own text says that it is this host.
fn is_this_host(host: &Hostname) -> bool {
    match host {
        Hostname::Address(ip) => {
            special_uses(*ip).any(|registration| registration.special_use == SpecialUse::Loopback)
        }
        other => other.is_localhost(),
    }
}
