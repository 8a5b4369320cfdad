//! Questions about sockets: `connect`, `bind`, `url`. This host's network interfaces are not examined.

use std::net::{IpAddr, SocketAddr};

use guard_policy::{Connection, Page, Policy, Request, Transport, WebRequest, WebTarget, decide};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::check::output::json;

/// `connect`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    address: SocketAddr,
    #[serde(default)]
    transport: Spoken,
}

/// `url`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct UrlQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    url: String,
    /// What the name resolves to.
    #[serde(default)]
    resolves_to: Vec<IpAddr>,
}

/// `bind`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    address: SocketAddr,
    #[serde(default)]
    transport: Spoken,
}

/// The socket's protocol, as the question names it.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Spoken {
    #[default]
    Tcp,
    Udp,
}

impl From<Spoken> for Transport {
    fn from(spoken: Spoken) -> Transport {
        match spoken {
            Spoken::Tcp => Transport::Tcp,
            Spoken::Udp => Transport::Udp,
        }
    }
}

impl ConnectQuestion {
    pub fn answer(&self, policy: &Policy) -> String {
        let (address, transport) = (self.address, self.transport.into());
        let connection = Connection { transport, ..Connection::to(address) };
        json(&decide(policy, &Request::Connect(connection)))
    }
}

impl UrlQuestion {
    pub fn answer(&self, policy: &Policy) -> String {
        let target = WebTarget::Url(&self.url);
        let port = target.endpoint().map_or(0, |endpoint| endpoint.port());
        let addresses = self.resolves_to.iter().map(|ip| Connection::to(SocketAddr::new(*ip, port)));
        let addresses: Vec<_> = addresses.collect();
        json(&decide(
            policy,
            &Request::Web(WebRequest { target, addresses: &addresses, is_name_approved: false }),
        ))
    }
}

impl BindQuestion {
    pub fn answer(&self, policy: &Policy) -> String {
        json(&decide(
            policy,
            &Request::Bind {
                address: self.address,
                transport: self.transport.into(),
                page: Page::Down,
                is_beside: false,
            },
        ))
    }
}
