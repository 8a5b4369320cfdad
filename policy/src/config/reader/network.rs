//! Reads `network`.

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::document::{Connect, ConnectAccess, Network};
use crate::network::Destination;

pub(super) const NETWORK: [&str; 2] = ["unixDatagram", "connect"];
pub(super) const CONNECT: [&str; 5] = ["deny", "allow", "ports", "gateway", "private"];

impl Reader<'_> {
    pub(super) fn network(&mut self, value: &Value<'_>, key: &str) -> Network {
        let mut network = Network::default();
        for (name, key, property) in self.object(value, key, Some(&NETWORK)) {
            match name.as_str() {
                "unixDatagram" => network.unix_datagram = self.boolean(&property.value, &key),
                _ => network.connect = self.connect(&property.value, &key),
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
                    let problem = |text: &str| Destination::parse(text).err();
                    connect.deny = self.strings(value, &key, problem).unwrap_or_default();
                }
                "allow" => {
                    let problem = |text: &str| Destination::parse_exception(text).err();
                    connect.allow = self.strings(value, &key, problem).unwrap_or_default();
                }
                "ports" => connect.ports = self.ports(value, &key),
                "gateway" => connect.gateway = self.access(value, &key),
                _ => connect.private = self.access(value, &key),
            }
        }
        connect
    }

    fn access(&mut self, value: &Value<'_>, key: &str) -> Option<ConnectAccess> {
        self.word(value, key, &ConnectAccess::NAMES, ConnectAccess::from_name)
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
