//! `network`: which addresses and which hosts of the Web may be reached.

use schemars::JsonSchema;
use serde::Serialize;

use super::schema_patterns::{DESTINATION, DOMAIN, EXCEPTION, ORIGIN};

/// `network`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct Network {
    /// AF_UNIX datagram sockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unix_datagram: Option<bool>,
    /// Where TCP may connect to.
    #[serde(skip_serializing_if = "Connect::is_empty")]
    pub(crate) connect: Connect,
    /// Which hosts of the Web may be reached, by name. If it is set, a proxy of the guard is the only way to other hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) web: Option<Web>,
}

/// `network.web`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct Web {
    /// The only hosts: `example.com`, `*.example.com` for every host below it, addresses and prefixes, and `@npm`, `@crates`,
    /// `@pypi`, `@go`, `@debian` and `@github` for those of package registries. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = DOMAIN)))]
    pub(crate) allowed_domains: Vec<String>,
    /// Hosts that nothing allows, and prefixes of addresses (`203.0.113.0/24`) that no name may lead to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = DOMAIN)))]
    pub(crate) denied_domains: Vec<String>,
    /// Origins that are allowed beside `allowedDomains`: `https://example.com:8443`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = ORIGIN)))]
    pub(crate) allowed_origins: Vec<String>,
    /// Origins that nothing allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = ORIGIN)))]
    pub(crate) denied_origins: Vec<String>,
    /// The longest response of plain HTTP, in bytes. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) max_response_bytes: Option<u64>,
    /// Whether redirects of plain HTTP reach the program. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) follow_redirects: Option<bool>,
    /// Whether a human is asked about a host that no entry allows. Default: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask: Option<WebAsk>,
    /// Whether names may lead to other hosts that are not public. Default: as `network.connect.private`, if that is written,
    /// else deny.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) private: Option<PrivateAccess>,
}

/// `network.web.ask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WebAsk {
    /// Never: what no entry allows is denied.
    Off,
    /// About each host that no entry allows.
    OnMiss,
}

impl WebAsk {
    /// Every value, as written.
    pub(crate) const NAMES: [&'static str; 2] = ["off", "on-miss"];

    pub(crate) fn from_name(name: &str) -> Option<WebAsk> {
        match name {
            "off" => Some(WebAsk::Off),
            "on-miss" => Some(WebAsk::OnMiss),
            _ => None,
        }
    }
}

/// `network.connect.private` and `network.web.private`. A later one is less strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PrivateAccess {
    /// Denied, but for the entries of `network.connect.allow`.
    Deny,
    /// A human is asked.
    Ask,
    /// Allowed, unless `network.connect` denies them.
    Allow,
}

impl PrivateAccess {
    /// Every value, as written.
    pub(crate) const NAMES: [&'static str; 3] = ["deny", "ask", "allow"];

    /// Its name.
    pub(crate) fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(crate) fn from_name(name: &str) -> Option<PrivateAccess> {
        [PrivateAccess::Deny, PrivateAccess::Ask, PrivateAccess::Allow]
            .into_iter()
            .find(|one| one.as_str() == name)
    }
}

/// `network.connect`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Connect {
    /// Denied destinations: addresses, prefixes (`10.0.0.0/8`), `localhost` or `*`, with or without a port
    /// (`[fd00::]/8:443`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = DESTINATION)))]
    pub(crate) deny: Vec<String>,
    /// Addresses and prefixes that `private` does not deny, and link-local and metadata addresses that may be reached,
    /// these each by itself; with or without a port (`10.1.0.0/16`, `169.254.169.254:80`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = EXCEPTION)))]
    pub(crate) allow: Vec<String>,
    /// The only TCP ports that may be connected to. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1, max = 65535)))]
    pub(crate) ports: Option<Vec<u16>>,
    /// Whether programs may connect to the port of OpenClaw's gateway on this host, and listen on it. Default: deny.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gateway: Option<ConnectAccess>,
    /// Whether programs may connect to other hosts of private networks, and to reserved and multicast addresses. Default:
    /// private networks are denied, the others allowed; with `network.web`, its `private` decides alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) private: Option<PrivateAccess>,
}

impl Connect {
    fn is_empty(&self) -> bool {
        *self == Connect::default()
    }
}

/// `network.connect.gateway`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ConnectAccess {
    /// Denied.
    Deny,
    /// Allowed, unless the rest of `network.connect` denies it.
    Allow,
}

impl ConnectAccess {
    /// Every value, as written.
    pub(crate) const NAMES: [&'static str; 2] = ["deny", "allow"];

    pub(crate) fn from_name(name: &str) -> Option<ConnectAccess> {
        match name {
            "deny" => Some(ConnectAccess::Deny),
            "allow" => Some(ConnectAccess::Allow),
            _ => None,
        }
    }
}
