//! The hosts of a session in the policy that is learned from it.

use std::net::{IpAddr, SocketAddr};

use guard_policy::learn::{Addition, LearnedNetwork, Proposal, ReachedHosts, Session, Width, merge, propose};
use guard_policy::{Connection, Outcome, Request, WebRequest, WebTarget, decide};

use super::{WIDTHS, host, policy};

/// The hosts of a session: each origin with the addresses of its name.
fn reached(hosts: &[(&str, &[&str])]) -> ReachedHosts {
    let addresses = |ips: &[&str]| ips.iter().map(|ip| ip.parse().unwrap()).collect();
    let by_name = hosts.iter().map(|(origin, ips)| ((*origin).to_owned(), addresses(ips)));
    ReachedHosts { by_name: by_name.collect(), ..ReachedHosts::default() }
}

fn session<'a>(reached: &'a ReachedHosts, host: &'a guard_policy::Host<'a>) -> Session<'a> {
    Session { reached, ..super::session(&[], host) }
}

fn learned(reached: &ReachedHosts, width: Width) -> Proposal {
    propose(&session(reached, &host()), width).expect("a proposal")
}

/// The outcome for a URL whose name leads to an address.
fn outcome(text: &str, url: &str, ip: &str) -> Outcome {
    let host = host();
    let address: IpAddr = ip.parse().unwrap();
    let addresses = [Connection::to(SocketAddr::new(address, 443))];
    let request = WebRequest { target: WebTarget::Url(url), addresses: &addresses, is_name_approved: false };
    decide(&policy(text, &host), &Request::Web(request)).outcome
}

const PUBLIC: &str = "93.184.216.34";

#[test]
fn the_hosts_that_were_seen_are_the_only_ones() {
    let seen = reached(&[("https://example.com:443", &[PUBLIC]), ("http://[2606:2800::1]:8080", &[])]);
    for width in WIDTHS {
        let proposal = learned(&seen, width);
        assert_eq!(proposal.left_out, []);
        assert_eq!(proposal.network.domains, ["2606:2800::1", "example.com"], "{width:?}");
        assert_eq!(outcome(&proposal.text, "https://example.com/", PUBLIC), Outcome::Allow);
        for other in ["https://www.example.com/", "https://example.org/"] {
            assert_eq!(outcome(&proposal.text, other, PUBLIC), Outcome::Deny, "{other}");
        }
        assert_eq!(outcome(&proposal.text, "https://example.com/", "10.0.0.1"), Outcome::Deny);
    }
    let proposal = learned(&seen, Width::Normal);
    let expected = r#"  "network": {
    "web": {
      "allowedDomains": [
        "2606:2800::1", "example.com"
      ]
    }
  },
"#;
    assert!(proposal.text.contains(expected), "{}", proposal.text);
    for width in WIDTHS {
        let none = learned(&ReachedHosts::default(), width);
        assert!(!none.text.contains("network"), "{}", none.text);
    }
}

#[test]
fn the_hosts_of_a_registry_become_its_name() {
    let cargo = reached(&[
        ("https://index.crates.io:443", &[PUBLIC]),
        ("https://static.crates.io:443", &[PUBLIC]),
        ("https://pypi.org:443", &[PUBLIC]),
    ]);
    let domains = |width| learned(&cargo, width).network.domains;
    assert_eq!(domains(Width::Tight), ["index.crates.io", "pypi.org", "static.crates.io"]);
    assert_eq!(domains(Width::Normal), ["@crates", "pypi.org"]);
    assert_eq!(domains(Width::Wide), ["@crates", "@pypi"]);
}

#[test]
fn what_a_name_leads_to_is_allowed_with_it() {
    let seen = reached(&[
        ("https://example.com:443", &[PUBLIC]),
        ("https://mirror.corp:443", &["10.0.0.9", "fd00::9"]),
    ]);
    let proposal = learned(&seen, Width::Normal);
    assert_eq!(proposal.left_out, []);
    let expected = LearnedNetwork {
        domains: vec!["example.com".to_owned(), "mirror.corp".to_owned()],
        addresses: vec!["10.0.0.9:443".to_owned(), "[fd00::9]:443".to_owned()],
    };
    assert_eq!(proposal.network, expected);
    assert_eq!(outcome(&proposal.text, "https://mirror.corp/", "10.0.0.9"), Outcome::Allow);
    assert_eq!(outcome(&proposal.text, "https://mirror.corp/", "10.0.0.8"), Outcome::Deny);
}

#[test]
fn what_no_entry_can_allow_is_left_out() {
    for (origin, ip) in [
        ("http://metadata.corp:80", "169.254.169.254"),
        ("http://own.corp:80", "127.0.0.1"),
        ("http://10.0.0.7:80", "10.0.0.7"),
    ] {
        let seen = reached(&[("https://example.com:443", &[PUBLIC]), (origin, &[ip])]);
        let proposal = learned(&seen, Width::Wide);
        let [left] = &proposal.left_out[..] else { panic!("{origin}: {:?}", proposal.left_out) };
        assert_eq!(left.path, origin.as_bytes());
        assert!(!proposal.network.addresses.iter().any(|address| address.starts_with("169.")));
    }
}

#[test]
fn hosts_without_the_proxy_leave_no_rule_for_names() {
    let mut seen = reached(&[("https://example.com:443", &[PUBLIC])]);
    seen.directly.insert("192.0.2.1:22".parse().unwrap());
    for width in WIDTHS {
        let proposal = learned(&seen, width);
        assert_eq!(proposal.left_out, []);
        assert!(!proposal.text.contains("network"), "{}", proposal.text);
    }
    seen.directly.insert("10.0.0.9:5432".parse().unwrap());
    for width in WIDTHS {
        let proposal = learned(&seen, width);
        assert_eq!(
            (&proposal.network.addresses[..], proposal.left_out),
            (&["10.0.0.9:5432".to_owned()][..], vec![])
        );
        assert!(!proposal.text.contains("web"), "{}", proposal.text);
    }
}

#[test]
fn a_host_that_no_policy_can_open_gets_no_entry() {
    for ip in ["127.0.0.1", "0.0.0.0", "::1", "169.254.169.254", "169.254.1.1"] {
        let seen = reached(&[("https://example.com:443", &[PUBLIC]), ("http://own.corp:80", &[ip])]);
        let proposal = learned(&seen, Width::Wide);
        assert_eq!(
            (proposal.network.domains, proposal.network.addresses.len()),
            (vec!["example.com".to_owned()], 0)
        );
        assert!(proposal.left_out[0].why.text().contains("its name leads to"), "{:?}", proposal.left_out);
    }
}

/// What becomes of a policy with this `network` after a session.
fn merged(network: &str, seen: &ReachedHosts) -> guard_policy::learn::Merge {
    let text = format!("{{\"version\": 1, \"network\": {network}}}");
    let host = host();
    let session = session(seen, &host);
    let proposal = propose(&session, Width::Normal).expect("a proposal");
    merge("guard.json", &text, &session, &proposal).expect("a merge")
}

#[test]
fn an_existing_policy_gets_the_missing_hosts() {
    let mut seen = reached(&[
        ("https://good.test:443", &[PUBLIC]),
        ("https://new.test:443", &[PUBLIC]),
        ("https://bad.test:443", &[PUBLIC]),
        ("https://mirror.corp:443", &["10.0.0.9"]),
    ]);
    let web = r#"{"web": {"allowedDomains": ["good.test"], "deniedDomains": ["bad.test"]}}"#;
    let merge = merged(web, &seen);
    let hosts = ["mirror.corp", "new.test", "10.0.0.9:443"];
    assert_eq!(merge.added, hosts.map(|host| Addition::Host(host.to_owned())));
    assert_eq!(outcome(&merge.text, "https://new.test/", PUBLIC), Outcome::Allow);
    assert_eq!(outcome(&merge.text, "https://mirror.corp/", "10.0.0.9"), Outcome::Allow);
    assert_eq!(outcome(&merge.text, "https://bad.test/", PUBLIC), Outcome::Deny);
    let conflicts: Vec<_> = merge.conflicts.iter().map(|one| (&*one.requested, &*one.by)).collect();
    assert_eq!(conflicts, [("host bad.test", "network.web.deniedDomains")]);
    assert_eq!(merge.refused.len(), 1, "{:?}", merge.refused);
    // A policy that allows every name stays as it is, but for the private network that only its silence closes.
    let mirror = Addition::Host("10.0.0.9:443".to_owned());
    for (open, added, refused) in [
        (r#"{}"#, vec![mirror], 0),
        (r#"{"connect": {"private": "allow"}}"#, vec![], 0),
        (r#"{"connect": {"private": "deny"}}"#, vec![], 1),
        (r#"{"web": {"private": "allow"}}"#, vec![], 0),
    ] {
        let merge = merged(open, &seen);
        assert_eq!((merge.added, merge.refused.len()), (added, refused), "{open}");
    }
    // What was reached without the proxy stays refused, and the others are added.
    seen.directly.insert("192.0.2.1:22".parse().unwrap());
    let merge = merged(web, &seen);
    assert_eq!(merge.added.len(), 3, "{:?}", merge.added);
    assert!(merge.refused.iter().any(|left| left.path == b"192.0.2.1:22"), "{:?}", merge.refused);
}

/// What a merge adds and does not, for `private.test`, which leads to 10.0.0.1, and `good.test`.
#[test]
fn a_merge_lifts_nothing_that_the_operator_withholds() {
    let seen = reached(&[("http://good.test:80", &[PUBLIC]), ("http://private.test:80", &["10.0.0.1"])]);
    for (network, added, by) in [
        (
            r#"{"connect": {"private": "deny"}, "web": {"allowedDomains": ["good.test"], "private": "allow"}}"#,
            &[][..],
            "network.connect.private",
        ),
        (
            r#"{"web": {"allowedDomains": ["good.test", "private.test"], "private": "deny"}}"#,
            &[],
            "network.connect.allow",
        ),
        (
            r#"{"connect": {"deny": ["10.0.0.1"]}, "web": {"allowedDomains": ["good.test"]}}"#,
            &[],
            "network.connect.deny[0]",
        ),
        (
            r#"{"web": {"allowedDomains": ["good.test"], "deniedDomains": ["10.0.0.0/8"]}}"#,
            &[],
            "network.web.deniedDomains",
        ),
        // An empty list allows every name, and one entry would close it.
        (r#"{"web": {}}"#, &["10.0.0.1:80"], ""),
        (r#"{"web": {"deniedDomains": ["bad.test"]}}"#, &["10.0.0.1:80"], ""),
        // Only the name is missing.
        (
            r#"{"connect": {"allow": ["10.0.0.1:80"]}, "web": {"allowedDomains": ["good.test"]}}"#,
            &["private.test"],
            "",
        ),
        (r#"{"web": {"allowedDomains": ["good.test"], "private": "allow"}}"#, &["private.test"], ""),
        (r#"{"web": {"allowedDomains": ["good.test"], "private": "ask"}}"#, &["private.test"], ""),
    ] {
        let merge = merged(network, &seen);
        let expected: Vec<_> = added.iter().map(|host| Addition::Host((*host).to_owned())).collect();
        assert_eq!(merge.added, expected, "{network}");
        let conflict = merge.conflicts.iter().find(|one| one.requested == "host private.test");
        assert_eq!(conflict.map_or("", |one| &one.by), by, "{network}: {:?}", merge.conflicts);
        assert_eq!(outcome(&merge.text, "http://good.test/", PUBLIC), Outcome::Allow, "{network}");
    }
}
