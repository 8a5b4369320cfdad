//! The hosts that a session reached, and the `network` that lets it reach them again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::{LeftOut, Used, Why, Width};
use crate::network::DomainRule;
use crate::{
    AddressClass, Connection, Outcome, Policy, Request, Verdict, WebEndpoint, WebRequest, WebTarget, decide,
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
    /// `network.web.allowedDomains`; empty if there is to be no `network.web`.
    pub domains: Vec<String>,
    /// `network.connect.allow`: the addresses of these hosts that are not public.
    pub addresses: Vec<String>,
}

impl ReachedHosts {
    /// What a policy has to allow. Nothing, if some hosts were reached without the proxy, since `network.web` would deny
    /// those.
    pub(super) fn learned(&self, width: Width) -> LearnedNetwork {
        if !self.directly.is_empty() {
            return LearnedNetwork::default();
        }
        let hosts = self.endpoints().map(|(endpoint, _)| endpoint);
        let hosts: BTreeSet<String> = hosts.map(|endpoint| endpoint.host().to_owned()).collect();
        let mut domains = BTreeSet::new();
        let lists: Vec<_> = DomainRule::lists_of(&hosts, width == Width::Wide).collect();
        let lists = if width == Width::Tight { Vec::new() } else { lists };
        for host in &hosts {
            let list = lists.iter().find(|list| list.names_host(host));
            domains.insert(list.map_or_else(|| host.clone(), DomainRule::to_string));
        }
        // No entry opens an address that is not public.
        domains.retain(|domain| DomainRule::parse(domain).is_ok_and(|rule| rule.private_class().is_none()));
        if domains.is_empty() {
            return LearnedNetwork::default();
        }
        let led_to = self.by_name.values().flatten().copied();
        let is_other = |ip: &IpAddr| {
            matches!(AddressClass::from_ip(*ip), AddressClass::Private | AddressClass::Reserved)
        };
        let addresses: BTreeSet<IpAddr> = led_to.filter(is_other).collect();
        LearnedNetwork {
            domains: domains.into_iter().collect(),
            addresses: addresses.iter().map(IpAddr::to_string).collect(),
        }
    }

    /// The hosts and the addresses that a policy does not allow.
    pub(super) fn refused<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = LeftOut> {
        self.verdicts(policy).filter(|(_, verdict)| verdict.outcome != Outcome::Allow).map(
            |(name, verdict)| {
                let why = Why::Refused(verdict.reason.text.into_owned());
                LeftOut { path: name.into_bytes(), used: Used::SPOKEN_TO, why }
            },
        )
    }

    /// The verdicts of a policy on each host, and on each address that was reached without the proxy.
    pub(super) fn verdicts<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = (String, Verdict<'a>)> {
        let by_name = self.by_name.iter().flat_map(|(origin, addresses)| {
            let port = endpoint(origin).map_or(0, |endpoint| endpoint.port());
            let addresses = addresses.iter().map(|ip| Connection::to(SocketAddr::new(*ip, port)));
            let verdicts = verdicts_by_name(policy, origin, &addresses.collect::<Vec<_>>());
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

/// The verdicts on an origin. Without `network.web` there is no proxy, and each of its addresses has its own.
fn verdicts_by_name<'p>(policy: &'p Policy, origin: &str, addresses: &[Connection]) -> Vec<Verdict<'p>> {
    if !policy.has_web_rules() {
        return addresses.iter().map(|address| decide(policy, &Request::Connect(*address))).collect();
    }
    let target = WebTarget::Url(origin);
    vec![decide(policy, &Request::Web(WebRequest { target, addresses, is_name_approved: false }))]
}
