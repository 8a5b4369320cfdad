//! `network.web`: which hosts of the Web may be reached, by name and by what the name leads to.

mod domain;
mod name;
mod public_suffix;
mod registries;
mod target;

use std::fmt;
use std::net::SocketAddr;

pub(crate) use domain::DomainRule;
pub use public_suffix::{PUBLIC_SUFFIX_LIST, PublicSuffixes};
pub use target::{WebEndpoint, WebRequest, WebScheme, WebTarget, WebTargetError};

use registries::NamedHosts;

use super::address::AddressClass;
use super::hostname_pattern::HostnamePattern;
use super::private::PrivateRule;
use super::web_origin::WebOrigin;
use super::{Connection, Interface, Network, is_loopback, verdict};
use crate::config::network::{PrivateAccess, Web, WebAsk};
use crate::verdict::{CompiledReason, Outcome, Reason, Source, Verdict};

/// The key that asks about names, and the place in the reason for such a question.
pub(crate) const ASKED_NAME: &str = "network.web.ask";

/// `network.web`, compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct WebRules {
    allowed: Vec<DomainRule>,
    denied: Vec<DomainRule>,
    allowed_origins: Vec<WebOrigin>,
    denied_origins: Vec<WebOrigin>,
    /// What a human has allowed "always", each with the reason.
    pub(super) saved: Vec<(WebOrigin, CompiledReason)>,
    pub(super) max_response_bytes: Option<u64>,
    pub(super) follow_redirects: bool,
    /// Whether a human is asked about a host that no entry allows.
    asks: bool,
    private: Option<PrivateAccess>,
}

impl WebRules {
    /// Compiles a section. Entries that do not parse were reported with the document.
    pub(super) fn compile(section: &Web) -> WebRules {
        let domains =
            |texts: &[String]| texts.iter().filter_map(|text| DomainRule::parse(text).ok()).collect();
        let origins = |texts: &[String]| texts.iter().filter_map(|text| WebOrigin::parse(text)).collect();
        WebRules {
            allowed: domains(&section.allowed_domains),
            denied: domains(&section.denied_domains),
            allowed_origins: origins(&section.allowed_origins),
            denied_origins: origins(&section.denied_origins),
            saved: Vec::new(),
            max_response_bytes: section.max_response_bytes,
            follow_redirects: section.follow_redirects.unwrap_or(true),
            asks: section.ask == Some(WebAsk::OnMiss),
            private: section.private,
        }
    }

    /// The same rules, with a question for each name that no entry allows.
    pub(super) fn with_names_asked(&self) -> WebRules {
        WebRules { asks: true, ..self.clone() }
    }

    /// The verdict of the rules for names on an endpoint. `None` if they allow the endpoint.
    fn judge_name(&self, endpoint: &WebEndpoint) -> Option<Verdict<'static>> {
        if let Some(rule) = self.denied.iter().find(|rule| rule.names(endpoint)) {
            return Some(deny(denied_domain(rule)));
        }
        let origin = endpoint.origin();
        if self.denied_origins.contains(&origin) {
            let rule = format!("network.web.deniedOrigins \"{origin}\"");
            return Some(deny(of_rules("deniedOrigins", rule, format!("\"{origin}\" is denied"))));
        }
        let is_open = self.allowed.is_empty() && self.allowed_origins.is_empty() && !self.asks;
        if is_open || self.allows_by_name(endpoint) {
            return None;
        }
        if self.asks && self.saved(endpoint).is_some() {
            return None;
        }
        let host = endpoint.host();
        let text = format!("no entry of network.web allows \"{host}\"");
        if self.asks {
            let rule = format!("{ASKED_NAME} \"on-miss\"");
            return Some(ask(Reason::new(Source::Global, ASKED_NAME, rule, text)));
        }
        let rule = format!("add \"{host}\" to network.web.allowedDomains to allow it");
        Some(deny(of_rules("allowedDomains", rule, text)))
    }

    /// Why a human's "always" allows this endpoint, if one does.
    fn saved(&self, endpoint: &WebEndpoint) -> Option<&CompiledReason> {
        let origin = endpoint.origin();
        self.saved.iter().find(|(saved, _)| saved.covers(&origin)).map(|(_, reason)| reason)
    }

    /// Whether an entry allows this endpoint. Where there are no entries, none does.
    pub(crate) fn allows_by_name(&self, endpoint: &WebEndpoint) -> bool {
        self.allowed.iter().any(|rule| rule.names(endpoint))
            || self.allowed_origins.contains(&endpoint.origin())
    }

    /// The entry that allows this endpoint by a name for several hosts, and the host among them. An entry that names the
    /// host itself needs no explanation.
    fn named(&self, endpoint: &WebEndpoint) -> Option<(&NamedHosts, &HostnamePattern)> {
        let mut rules = self.allowed.iter().filter(|rule| rule.names(endpoint));
        match rules.next()? {
            DomainRule::Named(hosts) => hosts.pattern(endpoint.host()).map(|pattern| (hosts, pattern)),
            DomainRule::Name(_) | DomainRule::Prefix(_) => None,
        }
    }

    /// Whether an origin of this host is allowed, at any port, and the host is not denied.
    fn has_origin_of(&self, endpoint: &WebEndpoint) -> bool {
        let saved = self.saved.iter().map(|(origin, _)| origin).filter(|_| self.asks);
        self.allowed_origins.iter().chain(saved).any(|origin| origin.is_of(endpoint.host()))
            && !self.denied.iter().any(|rule| rule.names(endpoint))
    }

    /// Why a prefix denies this address of a name, if one does.
    fn address_denial(&self, address: SocketAddr) -> Option<Reason<'static>> {
        self.denied.iter().find(|rule| rule.covers(address.ip())).map(denied_domain)
    }
}

/// The lists, as `policy show` has them.
pub(crate) struct Listing<T>(pub(crate) Vec<T>);

impl<T: fmt::Display> fmt::Display for Listing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, one) in self.0.iter().enumerate() {
            write!(f, "{}{one}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl WebRules {
    /// Each list's key and its entries, as they are compared. A name for several hosts is followed by the hosts.
    pub(crate) fn lists(&self) -> [(&'static str, String); 4] {
        let shown = |rule: &DomainRule| match rule {
            DomainRule::Named(hosts) => format!("{hosts} ({})", Listing(hosts.patterns().iter().collect())),
            DomainRule::Name(_) | DomainRule::Prefix(_) => rule.to_string(),
        };
        let domains = |rules: &[DomainRule]| Listing(rules.iter().map(shown).collect()).to_string();
        let origins = |origins: &[WebOrigin]| Listing(origins.iter().collect()).to_string();
        [
            ("allowedDomains", domains(&self.allowed)),
            ("deniedDomains", domains(&self.denied)),
            ("allowedOrigins", origins(&self.allowed_origins)),
            ("deniedOrigins", origins(&self.denied_origins)),
        ]
    }

    /// `maxResponseBytes`
    pub(crate) fn max_response_bytes(&self) -> Option<u64> {
        self.max_response_bytes
    }

    /// `followRedirects`
    pub(crate) fn follow_redirects(&self) -> bool {
        self.follow_redirects
    }

    /// `ask`: whether a human is asked about a host that no entry allows.
    pub(crate) fn asks(&self) -> bool {
        self.asks
    }
}

impl Network {
    /// Judges a request to a host of the Web: the name first, then every address that it has. One denial denies; a question
    /// about the name comes before one about an address.
    pub(crate) fn web(&self, request: &WebRequest<'_>) -> Verdict<'_> {
        if let Some(reason) = &self.closed {
            return verdict(Outcome::Deny, reason);
        }
        let endpoint = match request.target.endpoint() {
            Ok(endpoint) => endpoint,
            Err(error) => return deny(of_target(&error)),
        };
        let open = WebRules::default();
        let rules = self.web.as_ref().unwrap_or(&open);
        let mut asked = None;
        match rules.judge_name(&endpoint) {
            Some(judged) if judged.outcome == Outcome::Ask => asked = Some(judged),
            Some(denied) => return denied,
            None => {}
        }
        if self.ports().is_some_and(|ports| ports.binary_search(&endpoint.port()).is_err()) {
            return verdict(Outcome::Deny, &self.by_port);
        }
        if endpoint.is_local_name() && !rules.allows_by_name(&endpoint) {
            match self.web_private(rules) {
                PrivateAccess::Deny => return deny(private_name(endpoint.host())),
                PrivateAccess::Ask => {
                    let text = format!("\"{}\" is a name of this host or of its network", endpoint.host());
                    asked.get_or_insert(ask(asked_private(text)));
                }
                PrivateAccess::Allow => {}
            }
        }
        asked = asked.filter(|_| !request.is_name_approved);
        let own = endpoint.address().map(Connection::to);
        for connection in own.iter().chain(request.addresses) {
            let judged = self.connect_by_name(rules, connection);
            match judged.outcome {
                Outcome::Allow => {}
                Outcome::Ask => {
                    asked.get_or_insert(judged);
                }
                Outcome::Deny => return judged,
            }
        }
        asked.unwrap_or_else(|| match rules.named(&endpoint) {
            Some((hosts, pattern)) => Verdict { outcome: Outcome::Allow, reason: by_name(hosts, pattern) },
            None => {
                let saved = self.web.as_ref().filter(|web| !web.allows_by_name(&endpoint));
                let saved = saved.and_then(|web| web.saved(&endpoint));
                verdict(Outcome::Allow, saved.unwrap_or(&self.allowed_by_web))
            }
        })
    }

    /// Judges the look-up of a name: whether the host could be reached by any scheme, at any port. A connection to the host
    /// is judged again.
    pub(crate) fn lookup(&self, name: &str) -> Verdict<'_> {
        let authorities =
            [(WebScheme::Https, format!("{name}:443")), (WebScheme::Http, format!("{name}:80"))];
        let request = |(scheme, authority)| WebRequest {
            target: WebTarget::Authority(authority, scheme),
            addresses: &[],
            is_name_approved: false,
        };
        let [https, http] =
            authorities.each_ref().map(|(scheme, authority)| request((*scheme, &authority[..])));
        let endpoint = match https.target.endpoint() {
            Ok(endpoint) if endpoint.address().is_some() => {
                return deny(of_target(&WebTargetError::NotAName));
            }
            Ok(endpoint) => endpoint,
            Err(error) => return deny(of_target(&error)),
        };
        let denied = self.web(&https);
        if denied.outcome != Outcome::Deny || self.web(&http).outcome != Outcome::Deny {
            return verdict(Outcome::Allow, &self.allowed_by_web);
        }
        match &self.web {
            Some(rules) if self.closed.is_none() && rules.has_origin_of(&endpoint) => {
                verdict(Outcome::Allow, &self.allowed_by_web)
            }
            _ => denied,
        }
    }

    /// Whether a name may lead to other hosts that are not public.
    pub(crate) fn web_private(&self, rules: &WebRules) -> PrivateAccess {
        let own = self.private.first().and_then(PrivateRule::written);
        rules.private.or(own).unwrap_or(PrivateAccess::Deny)
    }

    /// Judges one address of a name. Programs reach their own host without the proxy, where `network.connect` judges them.
    fn connect_by_name(&self, rules: &WebRules, connection: &Connection) -> Verdict<'_> {
        if let Some(reason) = rules.address_denial(connection.address) {
            return deny(reason);
        }
        let judged = self.connect_directly(connection);
        if judged.outcome == Outcome::Deny {
            return judged;
        }
        let class = AddressClass::from_ip(connection.address.ip());
        if connection.interface == Interface::Own || is_loopback(connection.address.ip()) {
            return deny(this_host(connection.address));
        }
        let is_open = class == AddressClass::Public
            || self.allows.iter().any(|destination| destination.covers(connection.address, false));
        if is_open {
            return judged;
        }
        match self.web_private(rules) {
            PrivateAccess::Allow => judged,
            PrivateAccess::Ask => {
                let text = format!("the name leads to {}, a {class} address", connection.address.ip());
                ask(asked_private(text))
            }
            PrivateAccess::Deny => deny(private_address(class, connection.address)),
        }
    }
}

fn ask(reason: Reason<'_>) -> Verdict<'_> {
    Verdict { outcome: Outcome::Ask, reason }
}

fn asked_private(text: String) -> Reason<'static> {
    of_rules("private", "network.web.private \"ask\"".to_owned(), text)
}

fn deny(reason: Reason<'_>) -> Verdict<'_> {
    Verdict { outcome: Outcome::Deny, reason }
}

fn of_rules(key: &str, rule: String, text: String) -> Reason<'static> {
    Reason::new(Source::Global, format!("network.web.{key}"), rule, text)
}

fn denied_domain(rule: &DomainRule) -> Reason<'static> {
    of_rules(
        "deniedDomains",
        format!("network.web.deniedDomains \"{rule}\""),
        format!("\"{rule}\" is denied"),
    )
}

/// The reason to allow a host by a name for several hosts.
fn by_name(hosts: &NamedHosts, pattern: &HostnamePattern) -> Reason<'static> {
    let rule = format!("network.web.allowedDomains \"{hosts}\"");
    of_rules("allowedDomains", rule, format!("\"{pattern}\" is among the hosts of \"{hosts}\""))
}

fn of_target(error: &WebTargetError) -> Reason<'static> {
    Reason::new(Source::Builtin, "network.web", error.to_string(), error.to_string())
}

fn private_name(host: &str) -> Reason<'static> {
    let text =
        format!("\"{host}\" is a name of this host or of its network, and no entry of network.web allows it");
    Reason::new(Source::Default, "network.web", "a name of this host or of its network", text)
}

fn this_host(address: SocketAddr) -> Reason<'static> {
    let rule = "the name leads to this host";
    let text = format!("{} is this host, which programs reach without a proxy", address.ip());
    Reason::new(Source::Default, "network.web", rule, text)
}

fn private_address(class: AddressClass, address: SocketAddr) -> Reason<'static> {
    let ip = address.ip();
    let rule = format!("the name leads to {ip}, a {class} address that network.connect.allow does not name");
    let text = format!("{ip} is not public, and a name may lead there only by network.connect.allow");
    Reason::new(Source::Default, "network.connect.allow", rule, text)
}

/// The reason to deny a connection that does not go through the proxy of `network.web`.
pub(super) fn beside_proxy() -> CompiledReason {
    CompiledReason {
        source: Source::Global,
        path: "network.web".to_owned(),
        rule: "network.web: only the guard's proxy (HTTPS_PROXY) leads to other hosts".to_owned(),
        text: "with network.web, programs reach other hosts by the guard's proxy alone, which judges their names"
            .to_owned(),
    }
}

/// The reason to deny a connection to a name server, and UDP, with `network.web`.
pub(super) fn lookup() -> CompiledReason {
    CompiledReason {
        source: Source::Global,
        path: "network.web".to_owned(),
        rule: "network.web: the guard's proxy looks names up, and no program does".to_owned(),
        text: "with network.web there are no name look-ups and no UDP: the guard's proxy (HTTPS_PROXY) looks allowed names up"
            .to_owned(),
    }
}

pub(super) fn allowed() -> CompiledReason {
    CompiledReason {
        source: Source::Global,
        path: "network.web".to_owned(),
        rule: "network.web".to_owned(),
        text: "network.web allows it".to_owned(),
    }
}
