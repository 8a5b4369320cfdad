//! Reads `network`.

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::network::{Connect, ConnectAccess, Network, PrivateAccess, Web, WebAsk};
use crate::network::{Destination, DomainRule, WebOrigin, WebTarget};

pub(super) const NETWORK: [&str; 3] = ["unixDatagram", "connect", "web"];
pub(super) const CONNECT: [&str; 5] = ["deny", "allow", "ports", "gateway", "private"];

pub(super) const WEB: [&str; 8] = [
    "allowedDomains",
    "deniedDomains",
    "allowedOrigins",
    "deniedOrigins",
    "maxResponseBytes",
    "followRedirects",
    "ask",
    "private",
];

impl Reader<'_> {
    pub(super) fn network(&mut self, value: &Value<'_>, key: &str) -> Network {
        let mut network = Network::default();
        for (name, key, property) in self.object(value, key, Some(&NETWORK)) {
            match name.as_str() {
                "unixDatagram" => network.unix_datagram = self.boolean(&property.value, &key),
                "connect" => network.connect = self.connect(&property.value, &key),
                _ => network.web = Some(self.web(&property.value, &key)),
            }
        }
        network
    }

    fn connect(&mut self, value: &Value<'_>, key: &str) -> Connect {
        let mut connect = Connect::default();
        for (name, key, property) in self.object(value, key, Some(&CONNECT)) {
            let value = &property.value;
            match name.as_str() {
                "deny" => {
                    let problem = |text: &str| Destination::parse(text).err().map(|error| error.to_string());
                    connect.deny = self.strings(value, &key, problem).unwrap_or_default();
                }
                "allow" => {
                    let problem =
                        |text: &str| Destination::parse_exception(text).err().map(|error| error.to_string());
                    connect.allow = self.strings(value, &key, problem).unwrap_or_default();
                }
                "ports" => connect.ports = self.ports(value, &key),
                "gateway" => connect.gateway = self.access(value, &key),
                _ => connect.private = self.private(value, &key),
            }
        }
        connect
    }

    fn web(&mut self, value: &Value<'_>, key: &str) -> Web {
        let mut web = Web::default();
        for (name, key, property) in self.object(value, key, Some(&WEB)) {
            let value = &property.value;
            match name.as_str() {
                "allowedDomains" => {
                    web.allowed_domains = self.strings(value, &key, allowed_problem).unwrap_or_default();
                }
                "deniedDomains" => {
                    let problem = |text: &str| DomainRule::parse(text).err().map(|error| error.to_string());
                    web.denied_domains = self.strings(value, &key, problem).unwrap_or_default();
                }
                "allowedOrigins" => {
                    web.allowed_origins = self.strings(value, &key, origin_problem).unwrap_or_default();
                }
                "deniedOrigins" => {
                    web.denied_origins = self.strings(value, &key, origin_problem).unwrap_or_default();
                }
                "maxResponseBytes" => web.max_response_bytes = self.byte_count(value, &key),
                "followRedirects" => web.follow_redirects = self.boolean(value, &key),
                "ask" => web.ask = self.word(value, &key, &WebAsk::NAMES, WebAsk::from_name),
                _ => web.private = self.private(value, &key),
            }
        }
        web
    }

    fn access(&mut self, value: &Value<'_>, key: &str) -> Option<ConnectAccess> {
        self.word(value, key, &ConnectAccess::NAMES, ConnectAccess::from_name)
    }

    fn private(&mut self, value: &Value<'_>, key: &str) -> Option<PrivateAccess> {
        self.word(value, key, &PrivateAccess::NAMES, PrivateAccess::from_name)
    }

    fn ports(&mut self, value: &Value<'_>, key: &str) -> Option<Vec<u16>> {
        let Value::Array(array) = value else {
            self.wrong(value, key, "must be a list of ports: [80, 443]");
            return None;
        };
        let mut ports = Vec::new();
        for (i, element) in array.elements.iter().enumerate() {
            match element {
                Value::NumberLit(n) if n.value.parse::<u16>().is_ok_and(|port| port > 0) => {
                    ports.extend(n.value.parse::<u16>());
                }
                _ => self.wrong(
                    element,
                    &format!("{key}[{i}]"),
                    "must be a port, a whole number from 1 to 65535",
                ),
            }
        }
        Some(ports)
    }
}

/// What is wrong with an entry of `allowedDomains`, if anything is.
fn allowed_problem(text: &str) -> Option<String> {
    match DomainRule::parse(text) {
        Err(error) => Some(error.to_string()),
        Ok(rule) => rule
            .private_class()
            .map(|class| format!("a {class} address is opened by network.connect.allow, not here")),
    }
}

/// What is wrong with an origin, if anything is.
fn origin_problem(text: &str) -> Option<String> {
    let is_whole = WebTarget::Url(text).endpoint().is_ok()
        && WebOrigin::parse(text).is_some_and(|origin| {
            let bare = text.trim().trim_end_matches('/').to_ascii_lowercase();
            bare.rsplit_once(':').is_some_and(|(start, port)| {
                bare == origin.to_string() || matches!(port, "80" | "443") && start == origin.to_string()
            })
        });
    (!is_whole)
        .then(|| "must be a scheme, a host and a port if it is unusual: https://example.com:8443".to_owned())
}
