//! The ports of OpenClaw's gateway. A process that reaches the gateway and has its token can answer the guard's
//! questions.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::destination::port;
use crate::config::approvals::{GatewayHost, GatewayUrl, Scheme};

/// The ports of OpenClaw's gateway on this host, as far as the caller could find out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub(crate) ports: Vec<u16>,
    likeliest: u16,
    /// Warnings about what could not be read.
    pub(crate) warnings: Vec<String>,
}

/// The operator's `openclaw.json`, as it was found.
#[derive(Clone, Copy, Debug)]
pub enum GatewayConfig<'a> {
    /// The file does not exist.
    Absent,
    /// The file exists but cannot be read, for this reason.
    Unreadable(&'a str),
    /// The contents, in JSON5.
    Text(&'a str),
}

/// The default port of the gateway (OpenClaw 2026.9.6).
const DEFAULT: u16 = 18789;
const VARIABLE: &str = "OPENCLAW_GATEWAY_PORT";

impl Default for Gateway {
    fn default() -> Gateway {
        Gateway { ports: vec![DEFAULT], likeliest: DEFAULT, warnings: Vec::new() }
    }
}

impl Gateway {
    /// Finds the ports by `OPENCLAW_GATEWAY_PORT` in the operator's environment and `gateway.port` in the
    /// configuration. OpenClaw prefers the variable; here both count. `file` names the configuration in messages.
    pub fn find(variable: Option<&str>, config: GatewayConfig<'_>, file: &str) -> Gateway {
        let mut warnings = Vec::new();
        let mut warn = |text: String| {
            warnings.push(format!("{text}, so network.connect.gateway denies port {DEFAULT} as well"));
        };
        let variable = variable.map(str::trim).filter(|value| !value.is_empty());
        // OpenClaw also accepts `127.0.0.1:18789`, as docker compose writes it.
        let named = variable.and_then(|value| port(value.rsplit(':').next().unwrap_or_default()));
        if variable.is_some() && named.is_none() {
            warn(format!("{VARIABLE} in the guard's environment is not a port"));
        }
        let configured = match config {
            GatewayConfig::Absent => Ok(Vec::new()),
            GatewayConfig::Unreadable(why) => Err(why.to_owned()),
            GatewayConfig::Text(text) => configured(text),
        };
        let configured = configured.unwrap_or_else(|why| {
            warn(format!("{file}: cannot read gateway.port: {why}"));
            Vec::new()
        });
        let mut ports: Vec<u16> = named.into_iter().chain(configured).collect();
        if ports.is_empty() || !warnings.is_empty() {
            ports.push(DEFAULT);
        }
        // OpenClaw itself uses the variable, then the last `gateway.port` of the configuration.
        let likeliest = named.or(ports.last().copied()).unwrap_or(DEFAULT);
        ports.sort_unstable();
        ports.dedup();
        Gateway { ports, likeliest, warnings }
    }

    /// Adds the port of a gateway URL if it leads to this host, perhaps into a tunnel. A `ws` URL with a host name
    /// counts as this host, because the client does not leave the host without TLS.
    pub fn and(mut self, url: &GatewayUrl) -> Gateway {
        let is_here = match url.host() {
            GatewayHost::Name(_) => url.is_loopback() || url.scheme() == Scheme::Ws,
            GatewayHost::Address(_) => url.is_loopback(),
        };
        if is_here && !self.ports.contains(&url.port()) {
            self.ports.push(url.port());
            self.ports.sort_unstable();
        }
        self
    }

    /// Adds the ports of another.
    pub fn with_ports_of(mut self, other: &Gateway) -> Gateway {
        self.ports.extend(&other.ports);
        self.ports.sort_unstable();
        self.ports.dedup();
        self
    }

    /// The port that OpenClaw itself would use.
    pub fn likeliest(&self) -> u16 {
        self.likeliest
    }
}

/// Every `gateway.port` of a configuration: none, or several if a key is duplicated.
fn configured(text: &str) -> Result<Vec<u16>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // The parser's default accepts all of JSON5.
    let tree = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let Some(Value::Object(top)) = tree.map_err(|error| error.to_string())?.value else {
        return Err("it is no object".to_owned());
    };
    let mut ports = Vec::new();
    for gateway in all(&top, "gateway") {
        let Value::Object(gateway) = gateway else { return Err("gateway is not an object".to_owned()) };
        for value in all(gateway, "port") {
            ports.push(number(value).ok_or("it is no port")?);
        }
    }
    Ok(ports)
}

fn all<'o, 'a>(object: &'o Object<'a>, name: &'static str) -> impl Iterator<Item = &'o Value<'a>> {
    object
        .properties
        .iter()
        .filter(move |property| property.name.as_str() == name)
        .map(|property| &property.value)
}

/// Parses a JSON5 number as a port.
fn number(value: &Value<'_>) -> Option<u16> {
    let Value::NumberLit(number) = value else { return None };
    let text = number.value.strip_prefix('+').unwrap_or(number.value);
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => f64::from(u32::from_str_radix(digits, 16).ok()?),
        None => text.parse().ok()?,
    };
    (number.fract() == 0.0 && (1.0..=65535.0).contains(&number)).then_some(number as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(variable: Option<&str>, text: &str) -> (Vec<u16>, usize) {
        let gateway = Gateway::find(variable, GatewayConfig::Text(text), "openclaw.json");
        (gateway.ports, gateway.warnings.len())
    }

    #[test]
    fn the_port_is_the_one_that_the_operator_sets() {
        assert_eq!(Gateway::find(None, GatewayConfig::Absent, "f"), Gateway::default());
        assert_eq!(ports(None, "{}"), (vec![DEFAULT], 0));
        assert_eq!(ports(None, r#"{"gateway": {"port": 20000}}"#), (vec![20000], 0));
        assert_eq!(ports(None, "// JSON5\n{gateway: {mode: 'local', port: +0x4e20,},}"), (vec![20000], 0));
        assert_eq!(ports(None, r#"{"gateway": {"port": 2e4}}"#), (vec![20000], 0));
        assert_eq!(ports(Some(" 20001 "), r#"{"gateway": {"port": 20000}}"#), (vec![20000, 20001], 0));
        assert_eq!(ports(Some("127.0.0.1:20001"), "{}"), (vec![20001], 0));
        assert_eq!(ports(Some("[::1]:20001"), "{}"), (vec![20001], 0));
        assert_eq!(ports(Some(""), "{}"), (vec![DEFAULT], 0));
        // JavaScript uses the last.
        assert_eq!(ports(None, "{gateway: {port: 1}, gateway: {port: 2, port: 3}}"), (vec![1, 2, 3], 0));
    }

    #[test]
    fn an_unreadable_port_is_the_default_with_a_warning() {
        for text in [
            "",
            "{",
            "[]",
            "{gateway: 1}",
            "{gateway: {port: '20000'}}",
            "{gateway: {port: 0}}",
            "{gateway: {port: 65536}}",
            "{gateway: {port: 1.5}}",
            "{gateway: {port: NaN}}",
            "{gateway: {port: -1}}",
        ] {
            assert_eq!(ports(None, text), (vec![DEFAULT], 1), "{text}");
            assert_eq!(ports(Some("20000"), text), (vec![DEFAULT, 20000], 1), "{text}");
        }
        for variable in ["x", "-1", "0", "65536", "+80", "80 81"] {
            assert_eq!(
                ports(Some(variable), "{gateway: {port: 20000}}"),
                (vec![DEFAULT, 20000], 1),
                "{variable}"
            );
        }
        let unreadable =
            Gateway::find(None, GatewayConfig::Unreadable("Permission denied"), "/x/openclaw.json");
        assert_eq!(unreadable.ports, [DEFAULT]);
        assert_eq!(
            unreadable.warnings,
            [
                "/x/openclaw.json: cannot read gateway.port: Permission denied, so network.connect.gateway denies port 18789 as well"
            ]
        );
    }

    #[test]
    fn the_url_for_clients_counts_too() {
        let and = |url: &str| {
            let gateway = Gateway::find(Some("20001"), GatewayConfig::Absent, "openclaw.json");
            let gateway = gateway.and(&GatewayUrl::parse(url).unwrap());
            (gateway.likeliest(), gateway.ports)
        };
        assert_eq!(and("ws://127.0.0.1:9"), (20001, vec![9, 20001]));
        assert_eq!(and("wss://localhost"), (20001, vec![443, 20001]));
        assert_eq!(and("ws://[::1]:20001"), (20001, vec![20001]));
        assert_eq!(and("wss://gw.example:9"), (20001, vec![20001]));
        assert_eq!(and("ws://ip6-localhost:9"), (20001, vec![9, 20001]));
        assert_eq!(and("ws://192.0.2.1:9"), (20001, vec![20001]));
    }
}
