//! Questions about sockets: `connect`, `bind`. This host's network interfaces are not examined.

use std::net::SocketAddr;

use guard_policy::{Connection, Interface, Page, Policy, Request, Transport, decide};
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
        let connection = Connection { address, transport, interface: Interface::Unknown, page: Page::Down };
        json(&decide(policy, &Request::Connect(connection)))
    }
}

impl BindQuestion {
    pub fn answer(&self, policy: &Policy) -> String {
        json(&decide(
            policy,
            &Request::Bind { address: self.address, transport: self.transport.into(), page: Page::Down },
        ))
    }
}
