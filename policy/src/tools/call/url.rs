//! Judges an address of the Web, before anything is looked up or connected.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use crate::network::{AddressClass, Connection, Page, SsrfPolicy, WebRequest, WebTarget};
use crate::{Outcome, Policy, Reason, Request, Source, Verdict, decide};

/// Judges an address by the network rules, with `network.web` among them, and by the class of its host. Nothing is looked
/// up: OpenClaw itself judges the addresses of a name. A host that is not public needs its own entry in
/// `network.connect.allow`, loopback included.
pub fn judge_url<'p>(policy: &'p Policy, url: &str, page: Page) -> Verdict<'p> {
    // Browsers have a page without content.
    if url == "about:blank" {
        return allowed("the page has no content");
    }
    let Ok(parsed) = Url::parse(url) else { return denied("the address is no URL") };
    if !matches!(parsed.scheme(), "http" | "https") {
        return denied("the address is neither http: nor https:");
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return denied("the address has a user or a password in it");
    }
    let (Some(host), Some(port)) = (parsed.host(), parsed.port_or_known_default()) else {
        return denied("the address has no host");
    };
    let request = WebRequest { target: WebTarget::Url(url), addresses: &[], is_name_approved: false };
    let web = policy.has_web_rules().then(|| decide(policy, &Request::Web(request)));
    match web {
        Some(web) if web.outcome == Outcome::Deny => web,
        Some(web) if web.outcome == Outcome::Ask => {
            let judged = judge_host(policy, &host, port, page);
            if judged.outcome == Outcome::Deny { judged } else { web }
        }
        _ => judge_host(policy, &host, port, page),
    }
}

/// Judges a host by the class of its address, or by what its name says of it.
fn judge_host<'p>(policy: &'p Policy, host: &Host<&str>, port: u16, page: Page) -> Verdict<'p> {
    let ip = match host {
        Host::Ipv4(ip) => IpAddr::from(*ip),
        Host::Ipv6(ip) => IpAddr::from(*ip),
        Host::Domain(name) => return judge_name(policy, name, port),
    };
    let address = SocketAddr::new(ip, port);
    let is_public = AddressClass::from_ip(ip) == AddressClass::Public
        && SsrfPolicy::default().check_hostname(&ip.to_string()).is_ok();
    if !is_public && !policy.network.excepts(address) {
        return denied(&format!(
            "it is a {} address, which network.connect.allow does not name",
            AddressClass::from_ip(ip)
        ));
    }
    let connection = Connection { page, ..Connection::to(address) };
    decide(policy, &Request::Connect(connection))
}

fn judge_name<'p>(policy: &'p Policy, name: &str, port: u16) -> Verdict<'p> {
    if let Err(error) = SsrfPolicy::default().check_hostname(name) {
        return denied(&error.to_string());
    }
    match policy.tcp_ports() {
        Some(ports) if !ports.contains(&port) => Verdict {
            outcome: Outcome::Deny,
            reason: Reason::new(
                Source::Global,
                "network.connect.ports",
                "network.connect.ports",
                format!("port {port} is not in network.connect.ports"),
            ),
        },
        _ => allowed("the host's name is public"),
    }
}

fn allowed(text: &str) -> Verdict<'static> {
    verdict(Outcome::Allow, text)
}

fn denied(text: &str) -> Verdict<'static> {
    verdict(Outcome::Deny, text)
}

fn verdict(outcome: Outcome, text: &str) -> Verdict<'static> {
    let rule = "the gate for OpenClaw's tools";
    Verdict { outcome, reason: Reason::new(Source::Builtin, "builtin.gate", rule, text.to_owned()) }
}
