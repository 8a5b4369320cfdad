//! Network rules: where the tree may connect, and where it may not listen.

mod address;
mod connect_reasons;
mod connection;
mod destination;
mod gateway;
mod hostname;
mod hostname_pattern;
mod page;
mod prefix;
mod private;
mod resolvers;
mod special_use;
mod ssrf;
mod web;
mod web_origin;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub use address::AddressClass;
pub use connection::{Connection, Interface, Transport};
pub(crate) use destination::{Destination, is_loopback, port};
pub use gateway::{Gateway, GatewayConfig};
pub use page::Page;
pub use resolvers::resolvers;
pub use ssrf::{HostCheck, LookupAddress, SsrfError, SsrfPolicy};
pub(crate) use web::{ASKED_NAME, DomainRule, WebRules};
pub use web::{
    PUBLIC_SUFFIX_LIST, PublicSuffixes, WebEndpoint, WebRequest, WebScheme, WebTarget, WebTargetError,
};
pub(crate) use web_origin::WebOrigin;

use crate::config::approvals::{GatewayHost, GatewayUrl};
use crate::config::network::{self, Connect, ConnectAccess, PrivateAccess};
use crate::verdict::{CompiledReason, Outcome, Source, Verdict};
use private::PrivateRule;

/// `network.connect` and `network.web`, compiled. The reasons are built in advance, so that a decision allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    denies: Vec<(Destination, CompiledReason)>,
    /// The exceptions to what the class of an address denies.
    allows: Vec<Destination>,
    /// The name servers of this host, which may be asked wherever they are.
    resolvers: Vec<IpAddr>,
    by_metadata: CompiledReason,
    by_link_local: CompiledReason,
    /// What becomes of connections to other hosts that are not public: by guard.json first, then by projects' files.
    private: Vec<PrivateRule>,
    /// The only allowed TCP ports, sorted; `None` if all are allowed.
    ports: Option<Vec<u16>>,
    by_port: CompiledReason,
    /// The gateway's ports; empty if it may be reached.
    gateway: Vec<u16>,
    /// The gateway's address, if guard.json names one on another host.
    gateway_elsewhere: Option<SocketAddr>,
    by_gateway: CompiledReason,
    by_bound_link: CompiledReason,
    by_server: CompiledReason,
    by_page: CompiledReason,
    by_lost_page: CompiledReason,
    allowed: CompiledReason,
    /// Why there is no network at all, if there is none.
    closed: Option<CompiledReason>,
    /// `network.web`, if there is one: then only the proxy leads to other hosts.
    web: Option<WebRules>,
    by_web: CompiledReason,
    by_lookup: CompiledReason,
    allowed_by_web: CompiledReason,
}

impl Network {
    /// Compiles the section of a document; `asked` is the gateway that guard.json names, and `private` counts where
    /// `network.connect.private` is left out.
    pub(crate) fn compile(
        section: &network::Network,
        gateway: &Gateway,
        asked: Option<&GatewayUrl>,
        resolvers: &[IpAddr],
        private: PrivateAccess,
    ) -> (Network, Vec<String>) {
        let network::Network { connect: section, web, .. } = section;
        // An invalid destination has already been reported with the document.
        let denied = |(i, text): (usize, &String)| {
            Some((Destination::parse(text).ok()?, connect_reasons::denied(i, text)))
        };
        let ports = section.ports.as_ref().map(|ports| {
            let mut ports = ports.clone();
            ports.sort_unstable();
            ports.dedup();
            ports
        });
        let is_allowed = section.gateway == Some(ConnectAccess::Allow);
        let (gateway, gateway_elsewhere, warnings) = match is_allowed {
            true => Default::default(),
            false => (gateway_ports(gateway, asked), asked.and_then(elsewhere), gateway.warnings.clone()),
        };
        let network = Network {
            denies: section.deny.iter().enumerate().filter_map(denied).collect(),
            allows: section.allow.iter().filter_map(|text| Destination::parse_exception(text).ok()).collect(),
            resolvers: resolvers.to_vec(),
            by_metadata: connect_reasons::metadata(),
            by_link_local: connect_reasons::link_local(),
            // With `network.web` the proxy alone leads to other hosts, by the rules for names.
            private: vec![PrivateRule::new(
                section.private,
                if web.is_some() { PrivateAccess::Allow } else { private },
            )],
            by_port: connect_reasons::port(ports.as_deref().unwrap_or_default()),
            ports,
            gateway,
            gateway_elsewhere,
            by_gateway: connect_reasons::gateway(section.gateway),
            by_bound_link: connect_reasons::bound_link(),
            by_server: connect_reasons::server(),
            by_page: connect_reasons::page(),
            by_lost_page: connect_reasons::lost_page(),
            allowed: connect_reasons::allowed(),
            closed: None,
            web: web.as_ref().map(WebRules::compile),
            by_web: web::beside_proxy(),
            by_lookup: web::lookup(),
            allowed_by_web: web::allowed(),
        };
        (network, warnings)
    }

    /// Adds the restrictions of a project file's section. `key` is where the section is.
    pub(crate) fn restrict(&mut self, section: &Connect, key: &str) {
        let reason = |name: &str, text: &str| CompiledReason {
            source: Source::Project,
            path: format!("{key}.{name}"),
            rule: format!("{key}.{name}"),
            text: text.to_owned(),
        };
        let denied =
            section.deny.iter().filter_map(|text| Destination::parse(text).ok().map(|one| (one, text)));
        self.denies.extend(denied.map(|(one, text)| (one, reason("deny", &format!("\"{text}\" is denied")))));
        if let Some(only) = &section.ports {
            let ports = self.ports.take();
            let mut both: Vec<u16> = match &ports {
                Some(ports) => ports.iter().copied().filter(|port| only.contains(port)).collect(),
                None => only.clone(),
            };
            both.sort_unstable();
            both.dedup();
            if ports.as_ref() != Some(&both) {
                self.by_port =
                    reason("ports", "the port is not in network.connect.ports of the project's own policy");
            }
            self.ports = Some(both);
        }
        if let Some(access) = section.private {
            let verb = if access == PrivateAccess::Ask { "asks about" } else { "denies" };
            let text = format!("the address is not public, and the project's own policy {verb} it");
            self.private.push(PrivateRule::from_project(access, reason("private", &text)));
        }
    }

    /// Adds the origins that a human has allowed "always". They count for names that `network.web` asks about.
    pub(crate) fn answer(&mut self, origins: Vec<(WebOrigin, CompiledReason)>) {
        if let Some(web) = &mut self.web {
            web.saved = origins;
        }
    }

    /// A copy that asks about names that no entry allows, instead of denying them. `None` without `network.web`.
    pub(crate) fn with_names_asked(&self) -> Option<Network> {
        let web = self.web.as_ref()?.with_names_asked();
        Some(Network { web: Some(web), ..self.clone() })
    }

    /// The origins that a human has allowed "always", each with the reason.
    pub(crate) fn saved_origins(&self) -> impl Iterator<Item = &(WebOrigin, CompiledReason)> {
        self.web.iter().flat_map(|web| &web.saved)
    }

    /// Takes everything away: nothing may be connected to, listened on, sent to or asked of the proxy.
    pub(crate) fn close(&mut self, reason: CompiledReason) {
        // The kernel's part: no TCP port.
        self.ports = Some(Vec::new());
        self.web = None;
        self.closed = Some(reason);
    }

    /// Decides about a connection of the tree. With `network.web` the proxy is the only way to other hosts, and name servers
    /// of this host are not for the tree either: they would pass on what they are asked.
    pub(crate) fn connect(&self, connection: &Connection) -> Verdict<'_> {
        if let Some(reason) = &self.closed {
            return verdict(Outcome::Deny, reason);
        }
        let Connection { address, interface, proxy, .. } = *connection;
        let ip = address.ip().to_canonical();
        if ip == PROXY_ADDRESS && proxy == Some(address.port()) {
            return verdict(Outcome::Allow, &self.allowed_by_web);
        }
        let judged = self.connect_directly(connection);
        if judged.outcome == Outcome::Deny || self.web.is_none() {
            return judged;
        }
        if address.port() == resolvers::DNS {
            return verdict(Outcome::Deny, &self.by_lookup);
        }
        if interface == Interface::Own || destination::is_loopback(ip) {
            return judged;
        }
        verdict(Outcome::Deny, &self.by_web)
    }

    /// Decides whether a socket may be made, and a UDP socket used. Each message's destination is decided by itself.
    pub(crate) fn sockets(&self) -> Verdict<'_> {
        match &self.closed {
            Some(reason) => verdict(Outcome::Deny, reason),
            None => verdict(Outcome::Allow, &self.allowed),
        }
    }

    /// Whether there is no network at all.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// `network.web`, if there is one.
    pub(crate) fn web_rules(&self) -> Option<&WebRules> {
        self.web.as_ref()
    }

    /// Decides about a connection that does not use the proxy.
    fn connect_directly(&self, connection: &Connection) -> Verdict<'_> {
        let Connection { address, transport, interface, page, .. } = *connection;
        let (port, is_tcp) = (address.port(), transport == Transport::Tcp);
        let is_loopback = destination::is_loopback(address.ip());
        let is_local = interface != Interface::Unknown || is_loopback;
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
            None => match self.by_class(address, interface == Interface::Own || is_loopback) {
                Some((Outcome::Deny, reason)) => verdict(Outcome::Deny, reason),
                _ if is_tcp
                    && self.ports.as_ref().is_some_and(|ports| ports.binary_search(&port).is_err()) =>
                {
                    verdict(Outcome::Deny, &self.by_port)
                }
                Some((outcome, reason)) => verdict(outcome, reason),
                None => verdict(Outcome::Allow, &self.allowed),
            },
        }
    }

    /// Why the class of an address denies it, or asks about it. The class of metadata services counts on this host, too.
    fn by_class(&self, address: SocketAddr, is_local: bool) -> Option<(Outcome, &CompiledReason)> {
        let ip = address.ip().to_canonical();
        let allows = |names: fn(&Destination, SocketAddr) -> bool| {
            self.allows.iter().any(|destination| names(destination, address))
        };
        let (judged, is_excepted) = match AddressClass::from_ip(ip) {
            AddressClass::Metadata => ((Outcome::Deny, &self.by_metadata), allows(Destination::names)),
            AddressClass::Public => return None,
            _ if is_local => return None,
            AddressClass::LinkLocal => ((Outcome::Deny, &self.by_link_local), allows(Destination::names)),
            // A socket that connects to a group on one link keeps to that link: it sends even to this host by the link.
            AddressClass::Multicast if self.keeps_to_link(ip) => {
                ((Outcome::Deny, &self.by_link_local), allows(Destination::names))
            }
            class => {
                let judged = self.by_private(ip, class)?;
                (judged, allows(|destination, address| destination.covers(address, false)))
            }
        };
        (!is_excepted && !self.is_resolver(address)).then_some(judged)
    }

    /// Whether this is a name server of the host.
    pub(crate) fn is_resolver(&self, address: SocketAddr) -> bool {
        address.port() == resolvers::DNS && self.resolvers.contains(&address.ip().to_canonical())
    }

    /// The strictest `network.connect.private` for a class of addresses; `None` if all allow it.
    fn by_private(&self, ip: IpAddr, class: AddressClass) -> Option<(Outcome, &CompiledReason)> {
        self.private.iter().filter_map(|rule| rule.judge(ip, class)).min_by_key(|(outcome, _)| *outcome)
    }

    /// Whether a socket that is bound or connected to this address keeps to one link, where that could lead past a rule.
    fn keeps_to_link(&self, ip: IpAddr) -> bool {
        is_of_link(ip) && (self.web.is_some() || self.private() != PrivateAccess::Allow)
    }

    /// Decides about listening. A process on the gateway's port would receive the gateway's token while the gateway is
    /// down; a process on the page's port at another address could pass for the page. Only the port matters, because a
    /// socket can only be bound to an address of this host.
    pub(crate) fn bind(
        &self,
        address: SocketAddr,
        transport: Transport,
        page: Page,
        is_beside: bool,
    ) -> Verdict<'_> {
        let port = address.port();
        if let Some(reason) = &self.closed {
            return verdict(Outcome::Deny, reason);
        }
        if is_beside {
            return verdict(Outcome::Deny, &self.by_server);
        }
        if self.keeps_to_link(address.ip()) {
            // A socket that keeps to a link would send even to this host by that link.
            verdict(Outcome::Deny, &self.by_bound_link)
        } else if transport != Transport::Tcp {
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

    /// What becomes of connections to other hosts of private networks.
    pub(crate) fn private(&self) -> PrivateAccess {
        self.private.iter().map(PrivateRule::access).min().unwrap_or(PrivateAccess::Deny)
    }

    /// The exceptions to what the class of an address denies, in the form in which they are compared.
    pub(crate) fn exceptions(&self) -> impl Iterator<Item = String> {
        self.allows.iter().map(Destination::to_string)
    }

    /// Whether an exception covers an address.
    pub(crate) fn excepts(&self, address: SocketAddr) -> bool {
        self.allows.iter().any(|destination| destination.covers(address, false))
    }

    /// The only allowed TCP ports, sorted; `None` if all are allowed.
    pub(crate) fn ports(&self) -> Option<&[u16]> {
        self.ports.as_deref()
    }

    /// Whether the verdict on an address depends on this host's interfaces. A loopback address is this host's in any case.
    pub(crate) fn needs_interfaces(&self, address: SocketAddr, page: Page) -> bool {
        let port = address.port();
        let is_of_class = || match AddressClass::from_ip(address.ip()) {
            AddressClass::Public | AddressClass::Metadata => false,
            AddressClass::LinkLocal => true,
            class => self.by_private(address.ip().to_canonical(), class).is_some(),
        };
        !destination::is_loopback(address.ip())
            && (page.may_be_at(port)
                || self.gateway.contains(&port)
                || self.web.is_some()
                || is_of_class()
                || self.denies.iter().any(|(destination, _)| destination.needs_interfaces(port)))
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

/// Whether an address is meant for one link, so that a socket which is bound to the address keeps to that link
/// (net/ipv6/addrconf.h, `__ipv6_addr_needs_scope_id`).
fn is_of_link(ip: IpAddr) -> bool {
    let IpAddr::V6(v6) = ip else { return false };
    let [first, ..] = v6.segments();
    v6.is_unicast_link_local() || v6.is_multicast() && matches!(first & 0xf, 1 | 2)
}

/// Where the guard's proxy listens.
const PROXY_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Returns the ports of the gateway on this host, sorted; `asked` is the gateway that guard.json names.
fn gateway_ports(gateway: &Gateway, asked: Option<&GatewayUrl>) -> Vec<u16> {
    let mut ports = gateway.ports.clone();
    ports.extend(asked.filter(|url| url.is_loopback()).map(GatewayUrl::port));
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Returns the address of a gateway on another host, if guard.json has it as an address.
fn elsewhere(url: &GatewayUrl) -> Option<SocketAddr> {
    match url.host() {
        GatewayHost::Address(address) if !url.is_loopback() => Some(SocketAddr::new(*address, url.port())),
        GatewayHost::Address(_) | GatewayHost::Name(_) => None,
    }
}

/// Ports, as written in guard.json.
pub(crate) fn listed(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

fn verdict(outcome: Outcome, reason: &CompiledReason) -> Verdict<'_> {
    Verdict { outcome, reason: reason.to_reason() }
}
