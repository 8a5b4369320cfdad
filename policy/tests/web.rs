//! Tests of `network.web`: hosts of the Web, by name and by what the names lead to.

use crate::common::{self, compile, parse};
use guard_policy::{
    Connection, Interface, Outcome, Page, Policy, Request, Transport, WebRequest, WebScheme, WebTarget,
    decide,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn policy(network: Value) -> Policy {
    compile(&json!({ "version": 1, "network": network }))
}

fn web(rules: Value) -> Policy {
    policy(json!({ "web": rules }))
}

/// The outcome and the rule for a URL whose name has these addresses.
fn judged(policy: &Policy, url: &str, addresses: &[&str]) -> (Outcome, String) {
    judged_as(policy, url, addresses, false)
}

/// The outcome for a name that a human has approved.
fn approved(policy: &Policy, url: &str, addresses: &[&str]) -> Outcome {
    judged_as(policy, url, addresses, true).0
}

fn judged_as(policy: &Policy, url: &str, addresses: &[&str], is_name_approved: bool) -> (Outcome, String) {
    let connection = |ip: &&str| Connection::to(std::net::SocketAddr::new(ip.parse().unwrap(), 443));
    let addresses: Vec<_> = addresses.iter().map(connection).collect();
    let request = WebRequest { target: WebTarget::Url(url), addresses: &addresses, is_name_approved };
    let verdict = decide(policy, &Request::Web(request));
    (verdict.outcome, verdict.reason.rule().to_owned())
}

fn allows(policy: &Policy, url: &str) -> bool {
    judged(policy, url, &[]).0 == Outcome::Allow
}

fn problem(rules: Value) -> String {
    let document = json!({ "version": 1, "network": { "web": rules } }).to_string();
    let problems = parse(&document).expect_err("should be refused");
    assert_eq!(problems.len(), 1, "{problems:?}");
    let line = problems[0].to_string();
    line.split_once(": ").expect("a place").1.to_owned()
}

#[test]
fn names_are_compared_as_they_are_looked_up() {
    let policy = web(
        json!({ "allowedDomains": ["Example.com", "*.example.org"], "deniedDomains": ["bad.example.org"] }),
    );
    for url in [
        "https://example.com/",
        "https://EXAMPLE.com./x",
        "http://example.com:8080/",
        "https://a.example.org/",
        "https://a.b.example.org",
    ] {
        assert!(allows(&policy, url), "{url}");
    }
    for url in [
        "https://example.org/",
        "https://www.example.com/",
        "https://example.com.evil.net/",
        "https://notexample.org/",
        "https://bad.example.org/",
        "https://evil.net/?example.com",
        "https://evil.net#.example.org",
    ] {
        assert!(!allows(&policy, url), "{url}");
    }
    // No list allows every name; one that denies leaves the others.
    assert!(allows(&web(json!({})), "https://evil.net/"));
    assert!(allows(&web(json!({ "deniedDomains": ["evil.net"] })), "https://www.evil.net/"));
}

#[test]
fn a_denial_comes_first() {
    let policy = web(json!({
        "allowedDomains": ["*.example.com"], "deniedDomains": ["*.x.example.com", "203.0.114.0/24"],
        "allowedOrigins": ["https://a.x.example.com"], "deniedOrigins": ["http://y.example.com", "https://z.example.com:8443"],
    }));
    let denied = |url: &str, ips: &[&str]| judged(&policy, url, ips).0 == Outcome::Deny;
    assert!(denied("https://a.x.example.com/", &[]));
    assert!(denied("http://y.example.com/", &[]) && !denied("https://y.example.com/", &[]));
    assert!(denied("https://z.example.com:8443/", &[]) && !denied("https://z.example.com/", &[]));
    assert!(denied("https://b.example.com/", &["8.8.8.8", "203.0.114.9"]));
    assert!(!denied("https://b.example.com/", &["8.8.8.8"]));
}

#[test]
fn every_address_counts() {
    let policy = web(json!({ "allowedDomains": ["example.com"] }));
    for public in [&["93.184.216.34"][..], &["2a00::1", "8.8.8.8"]] {
        assert_eq!(judged(&policy, "https://example.com/", public).0, Outcome::Allow, "{public:?}");
    }
    for bad in [
        "10.0.0.1",
        "127.0.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "169.254.1.1",
        "168.63.129.16",
        "100.64.0.1",
        "224.0.0.1",
        "::1",
        "::",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "fd00::1",
        "fe80::1",
    ] {
        for all in [&[bad][..], &["93.184.216.34", bad]] {
            assert_eq!(judged(&policy, "https://example.com/", all).0, Outcome::Deny, "{all:?}");
        }
    }
}

/// This host's own addresses are reached without a proxy, where its services are guarded.
#[test]
fn a_name_of_this_host_is_denied() {
    let policy = web(json!({}));
    let own =
        Connection { interface: Interface::Own, ..Connection::to("93.184.216.34:443".parse().unwrap()) };
    let request = WebRequest {
        target: WebTarget::Url("https://example.com/"),
        addresses: &[own],
        is_name_approved: false,
    };
    assert_eq!(decide(&policy, &Request::Web(request)).outcome, Outcome::Deny);
    for url in [
        "http://localhost/",
        "http://x.localhost/",
        "http://printer.local/",
        "http://db.internal/",
        "http://[::1]/",
    ] {
        assert!(!allows(&policy, url), "{url}");
    }
    // An entry makes the addresses decide.
    let named = web(json!({ "allowedDomains": ["db.internal", "x.localhost"] }));
    assert!(allows(&named, "http://db.internal/"));
    assert_eq!(judged(&named, "http://db.internal/", &["10.0.0.1"]).0, Outcome::Deny);
    assert_eq!(judged(&named, "http://x.localhost/", &["127.0.0.1"]).0, Outcome::Deny);
}

#[test]
fn private_addresses_are_opened_by_their_entries() {
    let entry = policy(json!({ "connect": { "allow": ["10.0.0.0/8:443"] }, "web": {} }));
    assert_eq!(judged(&entry, "https://a.example/", &["10.0.0.1"]).0, Outcome::Allow);
    assert_eq!(judged(&entry, "https://a.example/", &["192.168.0.1"]).0, Outcome::Deny);
    let all = policy(json!({ "connect": { "private": "allow" }, "web": {} }));
    assert_eq!(judged(&all, "https://a.example/", &["192.168.0.1"]).0, Outcome::Allow);
    assert_eq!(judged(&all, "https://a.example/", &["169.254.169.254"]).0, Outcome::Deny);
    assert_eq!(judged(&all, "https://a.example/", &["127.0.0.1"]).0, Outcome::Deny);
    let ports = policy(json!({ "connect": { "ports": [443] }, "web": {} }));
    assert!(allows(&ports, "https://a.example/") && !allows(&ports, "http://a.example/"));
}

#[test]
fn what_names_no_host_for_certain_is_denied() {
    let policy = web(json!({}));
    for url in [
        "",
        "example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://@example.com:0/",
        "http://0177.0.0.1/",
        "http://2130706433/",
        "http://134744072/",
        "http://0x8.8.8.8/",
        "http://8.8.2056/",
        "http://[fe80::1%25eth0]/",
        "http://exa mple.com/",
        "http://example.com\n.evil.net/",
        "http://example..com/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://１０.0.0.1/",
        &format!("http://{}.com/", "a".repeat(64)),
        &format!("http://{}com/", "a.".repeat(130)),
    ] {
        assert!(!allows(&policy, url), "{url}");
    }
    assert!(allows(&policy, "http://8.8.8.8/") && allows(&policy, "https://xn--bcher-kva.example/"));
    // In the form in which they are looked up.
    let named = web(json!({ "allowedDomains": ["xn--bcher-kva.example"] }));
    assert!(allows(&named, "https://bücher.example/") && allows(&named, "https://BÜCHER.example./"));
}

/// A client of the proxy names a host and a port.
#[test]
fn an_authority_is_a_host_and_a_port() {
    let of = |text, scheme| WebTarget::Authority(text, scheme).endpoint();
    let plain = of("Example.COM.:8080", WebScheme::Http).unwrap();
    assert_eq!(
        (plain.host(), plain.port(), plain.authority().as_str()),
        ("example.com", 8080, "example.com:8080")
    );
    assert_eq!(of("example.com", WebScheme::Https).unwrap().port(), 443);
    assert_eq!(of("[2A00::1]:443", WebScheme::Https).unwrap().authority(), "[2a00::1]:443");
    for text in [
        "",
        "a/b",
        "a?b",
        "a#b",
        "a\\b",
        "u@a:80",
        "a:80@b:80",
        "a:",
        "a:b",
        "a b",
        ":80",
        "a\0b",
        "http://a",
    ] {
        let text = of(text, WebScheme::Https).map(|endpoint| endpoint.authority());
        // An empty port is the scheme's own.
        assert!(text.is_err() || text == Ok("a:443".to_owned()), "{text:?}");
    }
}

#[test]
fn with_rules_only_the_proxy_leads_out() {
    let (ruled, free) = (web(json!({})), policy(json!({ "connect": { "private": "allow" } })));
    let judge = |policy: &Policy, address: &str, transport, interface| {
        let connection = Connection {
            transport,
            interface,
            proxy: Some(3128),
            ..Connection::to(address.parse().unwrap())
        };
        decide(policy, &Request::Connect(connection)).outcome
    };
    let tcp = |policy: &Policy, address: &str| judge(policy, address, Transport::Tcp, Interface::Unknown);
    for address in
        ["93.184.216.34:443", "[2a00::1]:443", "10.0.0.1:80", "127.0.0.53:53", "[::1]:53", "127.0.0.2:53"]
    {
        assert_eq!(tcp(&ruled, address), Outcome::Deny, "{address}");
        assert_eq!(tcp(&free, address), Outcome::Allow, "{address}");
    }
    for address in ["127.0.0.1:3128", "[::ffff:127.0.0.1]:3128", "127.0.0.1:8080", "[::1]:8080"] {
        assert_eq!(tcp(&ruled, address), Outcome::Allow, "{address}");
    }
    assert_eq!(judge(&ruled, "192.0.2.1:8080", Transport::Tcp, Interface::Own), Outcome::Allow);
    assert_eq!(judge(&ruled, "192.0.2.1:8080", Transport::Tcp, Interface::Perhaps), Outcome::Deny);
    assert_eq!(judge(&ruled, "93.184.216.34:443", Transport::Udp, Interface::Unknown), Outcome::Deny);
    assert_eq!(judge(&ruled, "192.0.2.1:8080", Transport::Udp, Interface::Own), Outcome::Allow);
    assert_eq!(judge(&ruled, "127.0.0.53:53", Transport::Udp, Interface::Own), Outcome::Deny);
    assert_eq!(decide(&ruled, &Request::Sockets).outcome, Outcome::Allow);
    assert_eq!(decide(&free, &Request::Sockets).outcome, Outcome::Allow);
    // The proxy is reached whatever else is closed, and nothing else at its port.
    let closed = policy(json!({ "connect": { "deny": ["*"], "ports": [] }, "web": {} }));
    assert_eq!(tcp(&closed, "127.0.0.1:3128"), Outcome::Allow);
    assert_eq!(tcp(&closed, "127.0.0.2:3128"), Outcome::Deny);
    // What stays kept from the tree on this host stays kept.
    let page = Connection { page: Page::At(8080), ..Connection::to("127.0.0.1:8080".parse().unwrap()) };
    assert_eq!(decide(&ruled, &Request::Connect(page)).outcome, Outcome::Deny);
}

#[test]
fn bad_entries_are_named() {
    let of = |key: &str, entry: &str| problem(json!({ key: [entry] }));
    for (key, entry, part) in [
        ("allowedDomains", "https://example.com", "whole URLs go into allowedOrigins"),
        ("allowedDomains", "example.com/path", "this is not a host"),
        ("allowedDomains", "example.com:443", "network.connect.ports has the ports"),
        ("allowedDomains", "ex*mple.com", "a star stands for whole names only"),
        ("allowedDomains", "*", "a star stands for whole names only"),
        ("allowedDomains", "*.", "this is not a host"),
        ("allowedDomains", "", "this is not a host"),
        ("allowedDomains", "bücher.example", "this is looked up as \"xn--bcher-kva.example\""),
        ("allowedDomains", "10.0.0.0/8", "a private address is opened by network.connect.allow"),
        ("allowedDomains", "0177.0.0.1", "this is not a host"),
        ("allowedDomains", "@nope", "no list of hosts has this name; there are @npm, @crates"),
        ("allowedDomains", "@", "no list of hosts has this name"),
        ("allowedDomains", "@NPM", "no list of hosts has this name"),
        ("allowedDomains", "@npm:443", "no list of hosts has this name"),
        ("allowedDomains", "*.@npm", "this is not a host"),
        ("deniedDomains", "@nope", "no list of hosts has this name"),
        ("deniedDomains", "10.0.0.1/8", "did you mean \"10.0.0.0/8\"?"),
        ("allowedOrigins", "example.com", "must be a scheme, a host and a port"),
        ("allowedOrigins", "ftp://example.com", "must be a scheme, a host and a port"),
        ("deniedOrigins", "https://example.com/path", "must be a scheme, a host and a port"),
        ("deniedOrigins", "https://*.example.com", "must be a scheme, a host and a port"),
    ] {
        let line = of(key, entry);
        assert!(line.contains(part), "{entry}: {line}");
    }
    for fine in [
        "https://example.com",
        "https://Example.com/",
        "https://example.com:443",
        "http://example.com:8080",
        "https://[2a00::1]:8443",
    ] {
        let document =
            json!({ "version": 1, "network": { "web": { "allowedOrigins": [fine] } } }).to_string();
        assert!(parse(&document).is_ok(), "{fine}: {:?}", parse(&document).err());
    }
    assert!(problem(json!({ "maxResponseBytes": 0 })).contains("must be a number of bytes"));
    assert!(problem(json!({ "followRedirects": "no" })).contains("followRedirects"));
    assert!(problem(json!({ "ask": "always" })).contains("on-miss"));
    assert!(problem(json!({ "private": true })).contains("network.web.private"));
    assert!(problem(json!({ "allowedDomain": [] })).contains("did you mean \"allowedDomains\"?"));
}

#[test]
fn names_of_registries_stand_for_their_hosts() {
    let policy =
        web(json!({ "allowedDomains": ["@npm", " @github ", "pypi.org"], "deniedDomains": ["@debian"] }));
    let judged = |url: &str| judged(&policy, url, &["93.184.216.34"]);
    let named = |set: &str| (Outcome::Allow, format!("network.web.allowedDomains \"{set}\""));
    assert_eq!(judged("https://registry.npmjs.org/left-pad"), named("@npm"));
    assert_eq!(judged("https://REGISTRY.npmjs.org./x"), named("@npm"));
    assert_eq!(judged("https://raw.githubusercontent.com/x"), named("@github"));
    assert_eq!(judged("https://pypi.org/simple/"), (Outcome::Allow, "network.web".to_owned()));
    let denied = (Outcome::Deny, "network.web.deniedDomains \"@debian\"".to_owned());
    assert_eq!(judged("http://deb.debian.org/debian"), denied);
    for url in [
        "https://npmjs.org/",
        "https://x.registry.npmjs.org/",
        "https://registry.npmjs.org.evil.net/",
        "https://githubusercontent.com/",
        "https://gist.github.com/",
        "https://files.pythonhosted.org/",
        "https://npm/",
        "https://@npm/",
        "https://@github/",
    ] {
        assert_eq!(judged(url).0, Outcome::Deny, "{url}");
    }
    // The text names the entry and the host; a host's addresses are judged as always.
    let request = |addresses| WebRequest {
        target: WebTarget::Url("https://objects.githubusercontent.com/"),
        addresses,
        is_name_approved: false,
    };
    let verdict = decide(&policy, &Request::Web(request(&[])));
    assert_eq!(verdict.reason.text, "\"*.githubusercontent.com\" is among the hosts of \"@github\"");
    assert_eq!(verdict.reason.path, "network.web.allowedDomains");
    let private = [Connection::to("10.0.0.1:443".parse().unwrap())];
    assert_eq!(decide(&policy, &Request::Web(request(&private))).outcome, Outcome::Deny);
    // Such a list is one that allows: what it does not name is denied.
    assert!(!allows(&web(json!({ "allowedDomains": ["@crates"] })), "https://example.com/"));
}

/// The rows of docs/network.md are the names with their hosts, and there are no others.
#[test]
fn the_document_lists_the_hosts_of_each_name() {
    let path = format!("{}/../docs/network.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let quoted = |cell: &'_ str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = text
        .lines()
        .filter(|line| line.starts_with("| `@"))
        .map(|line| line.split('|').skip(1).take(2).flat_map(quoted).collect())
        .collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let line = problem(json!({ "allowedDomains": ["@nope"] }));
    assert!(line.ends_with(&format!("there are {}", names.join(", "))), "{line}");
    for row in &rows {
        let text = json!({ "version": 1, "network": { "web": { "allowedDomains": [row[0]] } } }).to_string();
        let document = parse(&text).unwrap();
        let policy =
            Policy::compile(&document, "main", &common::host(), &guard_policy::Overrides::default()).unwrap();
        let settings = policy.explain(Some(&document));
        let setting = settings.iter().find(|one| one.name == "network.web.allowedDomains").unwrap();
        let hosts =
            setting.value.strip_prefix(&format!("{} (", row[0])).and_then(|rest| rest.strip_suffix(')'));
        assert_eq!(hosts, Some(&*row[1..].join(", ")), "{}", setting.value);
    }
}

#[test]
fn a_host_that_no_entry_allows_is_asked_about() {
    let policy = web(json!({
        "ask": "on-miss", "allowedDomains": ["good.example"], "deniedDomains": ["bad.example", "203.0.114.0/24"],
        "deniedOrigins": ["http://half.example"],
    }));
    let outcome = |url: &str, ips: &[&str]| judged(&policy, url, ips).0;
    assert_eq!(outcome("https://good.example/", &["93.184.216.34"]), Outcome::Allow);
    let asked = judged(&policy, "https://other.example/", &[]);
    assert_eq!(asked, (Outcome::Ask, "network.web.ask \"on-miss\"".to_owned()));
    assert_eq!(approved(&policy, "https://other.example/", &["93.184.216.34"]), Outcome::Allow);
    // No approval lifts a denial: by name, origin, prefix or class.
    for (url, ips) in [
        ("https://bad.example/", &[][..]),
        ("http://half.example/", &[]),
        ("https://other.example/", &["203.0.114.1"]),
        ("https://other.example/", &["10.0.0.1"]),
        ("https://other.example/", &["93.184.216.34", "169.254.169.254"]),
        ("https://other.example/", &["127.0.0.1"]),
        ("https://printer.local/", &[]),
        ("https://2130706433/", &[]),
    ] {
        assert_eq!(outcome(url, ips), Outcome::Deny, "{url} {ips:?}");
        assert_eq!(approved(&policy, url, ips), Outcome::Deny, "{url} {ips:?}");
    }
    // Without an entry, each host is asked about; by default, none is.
    assert_eq!(judged(&web(json!({ "ask": "on-miss" })), "https://a.example/", &[]).0, Outcome::Ask);
    let off = web(json!({ "ask": "off", "allowedDomains": ["good.example"] }));
    assert_eq!(judged(&off, "https://other.example/", &[]).0, Outcome::Deny);
}

#[test]
fn names_lead_to_private_addresses_by_their_own_key() {
    let of = |connect: Value, private: Value| {
        let mut rules = json!({ "allowedDomains": ["a.example", "db.internal"] });
        if !private.is_null() {
            rules["private"] = private;
        }
        policy(json!({ "connect": connect, "web": rules }))
    };
    let outcome = |policy: &Policy, ip: &str| judged(policy, "https://a.example/", &[ip]).0;
    for (connect, private, expected) in [
        (json!({}), Value::Null, Outcome::Deny),
        (json!({ "private": "allow" }), Value::Null, Outcome::Allow),
        (json!({ "private": "allow" }), json!("deny"), Outcome::Deny),
        (json!({}), json!("ask"), Outcome::Ask),
        (json!({}), json!("allow"), Outcome::Allow),
        (json!({ "private": "deny" }), json!("allow"), Outcome::Deny),
        (json!({ "private": "deny" }), json!("ask"), Outcome::Deny),
        (json!({ "private": "deny" }), Value::Null, Outcome::Deny),
        (json!({ "private": "ask" }), Value::Null, Outcome::Ask),
        (json!({ "private": "ask" }), json!("allow"), Outcome::Ask),
        (json!({ "private": "ask" }), json!("deny"), Outcome::Deny),
        (json!({ "deny": ["10.0.0.0/8"] }), json!("ask"), Outcome::Deny),
        (json!({ "allow": ["10.0.0.0/8"] }), json!("ask"), Outcome::Allow),
    ] {
        let policy = of(connect.clone(), private.clone());
        assert_eq!(outcome(&policy, "10.0.0.1"), expected, "{connect} {private}");
        assert_eq!(outcome(&policy, "93.184.216.34"), Outcome::Allow, "{connect} {private}");
        for never in ["169.254.169.254", "fe80::1", "127.0.0.1"] {
            assert_eq!(outcome(&policy, never), Outcome::Deny, "{connect} {private} {never}");
        }
    }
    let asks = of(json!({}), json!("ask"));
    // An approval of the name is not one of its addresses.
    assert_eq!(approved(&asks, "https://a.example/", &["10.0.0.1"]), Outcome::Ask);
    assert_eq!(judged(&asks, "https://db.internal/", &[]).0, Outcome::Allow);
    let open = web(json!({ "private": "ask" }));
    assert_eq!(judged(&open, "https://db.internal/", &[]).0, Outcome::Ask);
    assert_eq!(judged(&open, "https://10.0.0.1/", &[]).0, Outcome::Ask);
}

/// A name may be looked up if any port of its host could be reached.
#[test]
fn names_that_could_be_reached_may_be_looked_up() {
    let rules = web(json!({
        "allowedDomains": ["good.example", "*.sub.example"],
        "deniedDomains": ["bad.sub.example"],
        "allowedOrigins": ["https://port.example:8443", "http://bad.sub.example:8080"],
    }));
    let outcome = |policy: &Policy, name: &str| decide(policy, &Request::Lookup(name)).outcome;
    for name in ["good.example", "GOOD.example.", "a.sub.example", "port.example"] {
        assert_eq!(outcome(&rules, name), Outcome::Allow, "{name}");
    }
    for name in [
        "other.example",
        "bad.sub.example",
        "8.8.8.8",
        "::1",
        "",
        "good.example:1",
        "a b",
        "good.example/x",
        "1",
    ] {
        assert_eq!(outcome(&rules, name), Outcome::Deny, "{name}");
    }
    let asking = web(json!({ "ask": "on-miss", "deniedDomains": ["bad.example"] }));
    assert_eq!(outcome(&asking, "other.example"), Outcome::Allow);
    assert_eq!(outcome(&asking, "bad.example"), Outcome::Deny);
    assert_eq!(outcome(&web(json!({})), "localhost"), Outcome::Deny);
    let denied = decide(&rules, &Request::Lookup("other.example")).reason;
    assert_eq!(denied.rule(), "add \"other.example\" to network.web.allowedDomains to allow it");
}

#[test]
fn settings_are_shown() {
    let document = parse(
        r#"{"version": 1, "network": {"web": {"allowedDomains": ["a.example", "*.b.example"], "maxResponseBytes": 5}}}"#,
    );
    let document = document.unwrap();
    let policy =
        Policy::compile(&document, "main", &common::host(), &guard_policy::Overrides::default()).unwrap();
    let settings = policy.explain(Some(&document));
    let value = |name: &str| {
        settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    };
    assert_eq!(value("network.web.allowedDomains"), Some("a.example, *.b.example"));
    assert_eq!(value("network.web.maxResponseBytes"), Some("5"));
    assert_eq!(value("network.web.followRedirects"), Some("true"));
    assert_eq!((value("network.web.ask"), value("network.web.private")), (Some("off"), Some("deny")));
    assert_eq!((policy.max_response_bytes(), policy.follows_redirects()), (Some(5), true));
}

proptest! {
    /// No text is judged in two ways, and none panics: what is allowed names a host that its own form is allowed for, too.
    #[test]
    fn what_is_allowed_is_allowed_in_its_own_form(text in "[a-z0-9.:@/\\\\%\\[\\]*-]{0,24}|\\PC{0,12}") {
        let policy = web(json!({ "allowedDomains": ["*.example", "a.b"] }));
        for text in [text.clone(), format!("http://{text}"), format!("https://{text}.example/")] {
            for target in [WebTarget::Url(&text), WebTarget::Authority(&text, WebScheme::Https)] {
                let request = WebRequest { target, addresses: &[], is_name_approved: false };
                if decide(&policy, &Request::Web(request)).outcome == Outcome::Allow {
                    let endpoint = target.endpoint().unwrap();
                    prop_assert!(endpoint.host().ends_with(".example") || endpoint.host() == "a.b", "{}", text);
                    let again = endpoint.authority();
                    let own = WebTarget::Authority(&again, endpoint.scheme()).endpoint();
                    prop_assert_eq!(own.map(|own| own.authority()), Ok(again.clone()));
                }
            }
        }
    }
}
