//! The hosts that a session reached, and the `network` that lets it reach them again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::{LeftOut, Used, Why, Width};
use crate::network::DomainRule;
use crate::{
    AddressClass, Connection, Outcome, Policy, Request, Source, Verdict, WebEndpoint, WebRequest, WebTarget,
    decide,
};

/// The other hosts that a session reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReachedHosts {
    /// Through the guard's proxy: each origin, such as `https://example.com:443`, with the addresses of its name.
    pub by_name: BTreeMap<String, BTreeSet<IpAddr>>,
    /// Without the proxy.
    pub directly: BTreeSet<SocketAddr>,
}

/// What lets a session reach its hosts again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearnedNetwork {
    /// `network.web.allowedDomains`.
    pub domains: Vec<String>,
    /// `network.connect.allow`, with ports: the addresses that the names led to and that are not public, and the
    /// addresses of private networks that were reached without the proxy.
    pub addresses: Vec<String>,
}

impl ReachedHosts {
    /// What `network.web` has to allow. A host is left out if no policy can allow one of its addresses.
    pub(super) fn learned(&self, width: Width) -> LearnedNetwork {
        let reached = || self.endpoints().filter(|(_, addresses)| !addresses.iter().any(is_out_of_reach));
        let hosts: BTreeSet<String> = reached().map(|(endpoint, _)| endpoint.host().to_owned()).collect();
        let lists: Vec<_> = DomainRule::lists_of(&hosts, width == Width::Wide).collect();
        let lists = if width == Width::Tight { Vec::new() } else { lists };
        let domains = hosts.iter().map(|host| {
            let list = lists.iter().find(|list| list.names_host(host));
            list.map_or_else(|| host.clone(), DomainRule::to_string)
        });
        // An entry of `allowedDomains` does not open an address that is not public, so there is no entry for such an address.
        let is_entry =
            |domain: &String| DomainRule::parse(domain).is_ok_and(|rule| rule.private_class().is_none());
        let domains: BTreeSet<String> = domains.filter(is_entry).collect();
        let named = reached().filter(|(endpoint, _)| endpoint.address().is_none());
        let led_to = named.flat_map(|(endpoint, addresses)| not_public(endpoint.port(), addresses));
        let addresses: BTreeSet<SocketAddr> = led_to.chain(self.private()).collect();
        LearnedNetwork {
            domains: domains.into_iter().collect(),
            addresses: addresses.iter().map(SocketAddr::to_string).collect(),
        }
    }

    /// The addresses of private networks that were reached without the proxy.
    fn private(&self) -> impl Iterator<Item = SocketAddr> {
        let is_private = |address: &SocketAddr| AddressClass::from_ip(address.ip()) == AddressClass::Private;
        self.directly.iter().copied().filter(is_private)
    }

    /// The addresses that a policy without `network.web` closes because they are in a private network, although no key says
    /// so.
    pub(super) fn closed_by_default(&self, policy: &Policy) -> BTreeSet<SocketAddr> {
        let by_name = self.by_name.iter().flat_map(|(origin, addresses)| connections(origin, addresses));
        let all = by_name.chain(self.directly.iter().copied().map(Connection::to));
        let is_closed = |connection: &Connection| {
            let verdict = decide(policy, &Request::Connect(*connection));
            verdict.outcome == Outcome::Deny
                && verdict.reason.source == Source::Default
                && verdict.reason.path == "network.connect.private"
        };
        all.filter(is_closed).map(|connection| connection.address).collect()
    }

    /// The hosts and the addresses that a policy does not allow.
    pub(super) fn refused<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = LeftOut> {
        self.verdicts(policy).filter(|(_, verdict)| verdict.outcome != Outcome::Allow).map(
            |(name, verdict)| {
                let mut led_to = self.by_name.get(&name).into_iter().flatten();
                let why = match led_to.find(|ip| is_out_of_reach(ip)) {
                    Some(ip) => {
                        format!("its name leads to {ip}, where the guard's proxy connects to for nobody")
                    }
                    None => verdict.reason.text.into_owned(),
                };
                LeftOut { path: name.into_bytes(), used: Used::SPOKEN_TO, why: Why::Refused(why) }
            },
        )
    }

    /// The verdicts of a policy on each host, and on each address that was reached without the proxy.
    fn verdicts<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = (String, Verdict<'a>)> {
        let by_name = self.by_name.iter().flat_map(|(origin, addresses)| {
            let addresses = connections(origin, addresses);
            // Without `network.web` there is no proxy, and each address has its own verdict.
            let verdicts = match policy.has_web_rules() {
                true => vec![judged(policy, origin, &addresses, false)],
                false => addresses.iter().map(|to| decide(policy, &Request::Connect(*to))).collect(),
            };
            verdicts.into_iter().map(|verdict| (origin.clone(), verdict))
        });
        let directly = self.directly.iter().map(|address| {
            let verdict = decide(policy, &Request::Connect(Connection::to(*address)));
            (address.to_string(), verdict)
        });
        by_name.chain(directly)
    }

    /// The outcome for each host, and for each address that was reached without the proxy.
    pub fn outcomes<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = Outcome> {
        self.verdicts(policy).map(|(_, verdict)| verdict.outcome)
    }

    fn endpoints(&self) -> impl Iterator<Item = (WebEndpoint, &BTreeSet<IpAddr>)> {
        self.by_name.iter().filter_map(|(origin, addresses)| Some((endpoint(origin)?, addresses)))
    }
}

/// The host and the port of an origin.
pub(super) fn endpoint(origin: &str) -> Option<WebEndpoint> {
    WebTarget::Url(origin).endpoint().ok()
}

/// The connections to the addresses of an origin's name.
pub(super) fn connections(origin: &str, addresses: &BTreeSet<IpAddr>) -> Vec<Connection> {
    let port = endpoint(origin).map_or(0, |endpoint| endpoint.port());
    addresses.iter().map(|ip| Connection::to(SocketAddr::new(*ip, port))).collect()
}

/// The verdict of `network.web` on an origin.
pub(super) fn judged<'p>(
    policy: &'p Policy,
    origin: &str,
    addresses: &[Connection],
    is_name_approved: bool,
) -> Verdict<'p> {
    decide(policy, &Request::Web(WebRequest { target: WebTarget::Url(origin), addresses, is_name_approved }))
}

/// The addresses of a name that need their entry in `network.connect.allow`.
pub(super) fn not_public(port: u16, addresses: &BTreeSet<IpAddr>) -> impl Iterator<Item = SocketAddr> {
    let is_other =
        |ip: &IpAddr| matches!(AddressClass::from_ip(*ip), AddressClass::Private | AddressClass::Reserved);
    addresses.iter().copied().filter(is_other).map(move |ip| SocketAddr::new(ip, port))
}

/// Whether an address is one to which no learned policy lets a name lead: this host, this link, the metadata service of a
/// cloud.
fn is_out_of_reach(ip: &IpAddr) -> bool {
    let class = AddressClass::from_ip(*ip);
    ip.is_unspecified()
        || !matches!(class, AddressClass::Public | AddressClass::Private | AddressClass::Reserved)
}
