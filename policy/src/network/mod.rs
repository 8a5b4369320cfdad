//! Network rules: where the tree may connect, and where it may not listen.

mod connection;
mod destination;
mod gateway;
mod page;

use std::net::SocketAddr;

pub use connection::{Connection, Interface, Transport};
pub(crate) use destination::{Destination, is_loopback, port};
pub use gateway::{Gateway, GatewayConfig};
pub use page::Page;

use crate::config::approvals::{GatewayHost, GatewayUrl};
use crate::config::document::{Connect, GatewayAccess};
use crate::verdict::{ABSOLUTE, CompiledReason, Outcome, Source, Verdict};

/// `network.connect`, compiled. The reasons are built in advance, so that a decision allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    denies: Vec<(Destination, CompiledReason)>,
    /// The only allowed TCP ports, sorted; `None` if all are allowed.
    ports: Option<Vec<u16>>,
    by_port: CompiledReason,
    /// The gateway's ports; empty if it may be reached.
    gateway: Vec<u16>,
    /// The gateway's address, if guard.json names one on another host.
    gateway_elsewhere: Option<SocketAddr>,
    by_gateway: CompiledReason,
    by_page: CompiledReason,
    by_lost_page: CompiledReason,
    allowed: CompiledReason,
}

impl Network {
    /// Compiles a section of a document, if there is one; `asked` is the gateway that guard.json names.
    pub(crate) fn compile(
        section: &Connect,
        gateway: &Gateway,
        asked: Option<&GatewayUrl>,
    ) -> (Network, Vec<String>) {
        let denies = section.deny.iter().enumerate().filter_map(|(i, text)| {
            let reason = CompiledReason {
                source: Source::Global,
                path: format!("network.connect.deny[{i}]"),
                rule: format!("network.connect.deny \"{text}\""),
                text: format!("\"{text}\" is denied"),
            };
            // An invalid destination has already been reported with the document.
            Destination::parse(text).ok().map(|destination| (destination, reason))
        });
        let ports = section.ports.as_ref().map(|ports| {
            let mut ports = ports.clone();
            ports.sort_unstable();
            ports.dedup();
            ports
        });
        let is_allowed = section.gateway == Some(GatewayAccess::Allow);
        let (mut denied, warnings) =
            if is_allowed { Default::default() } else { (gateway.ports.clone(), gateway.warnings.clone()) };
        let asked = asked.filter(|_| !is_allowed);
        denied.extend(asked.filter(|url| url.is_loopback()).map(GatewayUrl::port));
        denied.sort_unstable();
        denied.dedup();
        let gateway_elsewhere = asked.filter(|url| !url.is_loopback()).and_then(|url| match url.host() {
            GatewayHost::Address(address) => Some(SocketAddr::new(*address, url.port())),
            GatewayHost::Name(_) => None,
        });
        let network = Network {
            denies: denies.collect(),
            by_port: CompiledReason {
                source: Source::Global,
                path: "network.connect.ports".to_owned(),
                rule: format!("network.connect.ports [{}]", listed(ports.as_deref().unwrap_or_default())),
                text: "the port is not in network.connect.ports".to_owned(),
            },
            ports,
            gateway: denied,
            gateway_elsewhere,
            by_gateway: CompiledReason {
                source: if section.gateway.is_some() { Source::Global } else { Source::Default },
                path: "network.connect.gateway".to_owned(),
                rule: "network.connect.gateway \"deny\"".to_owned(),
                text: "the port of OpenClaw's gateway, where questions of the guard can be answered"
                    .to_owned(),
            },
            by_page: page("the guarded tree may not answer its own questions".to_owned()),
            by_lost_page: page(
                "a page is served, and guard/page.lock in the state directory does not have its address, so it may be this one".to_owned(),
            ),
            allowed: CompiledReason {
                source: Source::Default,
                path: "network.connect".to_owned(),
                rule: "network.connect".to_owned(),
                text: "nothing in network.connect denies it".to_owned(),
            },
        };
        (network, warnings)
    }

    pub(crate) fn connect(&self, connection: &Connection) -> Verdict<'_> {
        let Connection { address, transport, interface, page } = *connection;
        let (port, is_tcp) = (address.port(), transport == Transport::Tcp);
        let is_local = interface == Interface::Own || destination::is_loopback(address.ip());
        if is_tcp && is_local && page.may_be_at(port) {
            return verdict(Outcome::Deny, self.by(page));
        }
        let denied = self.denies.iter().find(|(destination, _)| destination.covers(address, is_local));
        match denied {
            Some((_, reason)) => verdict(Outcome::Deny, reason),
            None if is_tcp
                && (is_local && self.gateway.contains(&port) || self.is_gateway_elsewhere(address)) =>
            {
                verdict(Outcome::Deny, &self.by_gateway)
            }
            None if is_tcp
                && self.ports.as_ref().is_some_and(|ports| ports.binary_search(&port).is_err()) =>
            {
                verdict(Outcome::Deny, &self.by_port)
            }
            None => verdict(Outcome::Allow, &self.allowed),
        }
    }

    /// Decides about listening. A process on the gateway's port would receive the gateway's token while the gateway is
    /// down; a process on the page's port at another address could pass for the page. Only the port matters, because a
    /// socket can only be bound to an address of this host.
    pub(crate) fn bind(&self, address: SocketAddr, transport: Transport, page: Page) -> Verdict<'_> {
        let port = address.port();
        if transport != Transport::Tcp {
            verdict(Outcome::Allow, &self.allowed)
        } else if page.may_be_at(port) {
            verdict(Outcome::Deny, self.by(page))
        } else if self.gateway.contains(&port) {
            verdict(Outcome::Deny, &self.by_gateway)
        } else {
            verdict(Outcome::Allow, &self.allowed)
        }
    }

    fn by(&self, page: Page) -> &CompiledReason {
        if page == Page::Somewhere { &self.by_lost_page } else { &self.by_page }
    }

    fn is_gateway_elsewhere(&self, address: SocketAddr) -> bool {
        self.gateway_elsewhere
            .is_some_and(|gateway| gateway == SocketAddr::new(address.ip().to_canonical(), address.port()))
    }

    /// The denied destinations, in the form in which they are compared.
    pub(crate) fn denials(&self) -> impl Iterator<Item = String> {
        self.denies.iter().map(|(destination, _)| destination.to_string())
    }

    /// The only allowed TCP ports, sorted; `None` if all are allowed.
    pub(crate) fn ports(&self) -> Option<&[u16]> {
        self.ports.as_deref()
    }

    /// Whether the verdict on a port depends on this host's interfaces.
    pub(crate) fn needs_interfaces(&self, port: u16) -> bool {
        self.gateway.contains(&port)
            || self.denies.iter().any(|(destination, _)| destination.needs_interfaces(port))
    }

    /// The ports that are denied because they are the gateway's.
    pub(crate) fn gateway(&self) -> &[u16] {
        &self.gateway
    }

    /// The gateway's denied address on another host, if any.
    pub(crate) fn gateway_elsewhere(&self) -> Option<SocketAddr> {
        self.gateway_elsewhere
    }
}

/// The reason to deny the approvals page.
fn page(text: String) -> CompiledReason {
    CompiledReason {
        source: Source::Builtin,
        path: ABSOLUTE.to_owned(),
        rule: "the approvals page".to_owned(),
        text,
    }
}

/// Ports, as written in guard.json.
pub(crate) fn listed(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

fn verdict(outcome: Outcome, reason: &CompiledReason) -> Verdict<'_> {
    Verdict { outcome, reason: reason.to_reason() }
}
