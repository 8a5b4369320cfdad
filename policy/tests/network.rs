//! Tests of `network.connect`: the destinations that TCP may reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::common::{compile, compile_with, host, parse};
use guard_policy::{
    Connection, Gateway, GatewayConfig, Host, Interface, Outcome, Overrides, Page, Policy, Request, Source,
    Transport, Verdict, decide,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn policy(connect: Value) -> Policy {
    compile(&json!({ "version": 1, "network": { "connect": connect } }))
}

fn connect_as<'p>(
    policy: &'p Policy,
    address: &str,
    transport: Transport,
    interface: Interface,
) -> Verdict<'p> {
    let address = address.parse().unwrap_or_else(|_| panic!("{address}"));
    decide(policy, &Request::Connect(Connection { transport, interface, ..Connection::to(address) }))
}

fn tcp<'p>(policy: &'p Policy, address: &str) -> Verdict<'p> {
    connect_as(policy, address, Transport::Tcp, Interface::Unknown)
}

fn udp<'p>(policy: &'p Policy, address: &str) -> Verdict<'p> {
    connect_as(policy, address, Transport::Udp, Interface::Unknown)
}

fn needs_interfaces(policy: &Policy, port: u16) -> bool {
    policy.needs_interfaces(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), port), Page::Down)
}

fn denied_of(policy: &Policy, addresses: &[&'static str]) -> Vec<&'static str> {
    addresses.iter().copied().filter(|address| tcp(policy, address).outcome == Outcome::Deny).collect()
}

fn problem(connect: Value) -> String {
    let document = json!({ "version": 1, "network": { "connect": connect } }).to_string();
    let problems = parse(&document).expect_err("should be refused");
    assert_eq!(problems.len(), 1, "{problems:?}");
    let line = problems[0].to_string();
    line.split_once(": ").expect("a place").1.to_owned()
}

/// Addresses at which this host reaches itself.
const LOOPBACK: [&str; 10] = [
    "127.0.0.1",
    "127.255.255.254",
    "127.0.0.0",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f12:3456]",
    "[::ffff:0.0.0.0]",
    "[0:0:0:0:0:ffff:7f00:1]",
];
const ELSEWHERE: [&str; 8] = [
    "128.0.0.1",
    "126.255.255.255",
    "0.0.0.1",
    "10.0.0.1",
    "[::2]",
    "[::127.0.0.1]",
    "[::ffff:10.0.0.1]",
    "[fd00::1]",
];

#[test]
fn the_gateway_is_denied_by_default_and_nothing_else() {
    for policy in [
        policy(json!({})),
        compile(&json!({ "version": 1 })),
        Policy::without_file("main", &host(), &Overrides::default()),
    ] {
        for address in LOOPBACK {
            let verdict = tcp(&policy, &format!("{address}:18789"));
            assert_eq!(verdict.outcome, Outcome::Deny, "{address}");
            assert_eq!(
                (verdict.reason.source, verdict.reason.rule()),
                (Source::Default, "network.connect.gateway \"deny\"")
            );
            assert_eq!(tcp(&policy, &format!("{address}:18790")).outcome, Outcome::Allow, "{address}");
            assert_eq!(udp(&policy, &format!("{address}:18789")).outcome, Outcome::Allow, "{address}");
        }
        for address in ELSEWHERE {
            let address = format!("{address}:18789");
            assert_ne!(tcp(&policy, &address).reason.path, "network.connect.gateway", "{address}");
            let own = connect_as(&policy, &address, Transport::Tcp, Interface::Own);
            assert_eq!(own.reason.path, "network.connect.gateway", "{address}");
        }
        assert!(needs_interfaces(&policy, 18789) && !needs_interfaces(&policy, 80));
    }
}

#[test]
fn nobody_listens_in_the_gateways_place() {
    let bind = |policy: &Policy, address: &str, transport| {
        decide(
            policy,
            &Request::Bind {
                address: address.parse().unwrap(),
                transport,
                page: Page::Down,
                is_beside: false,
            },
        )
        .outcome
    };
    let guarded = policy(json!({ "deny": ["*"], "ports": [] }));
    for address in
        ["127.0.0.1:18789", "0.0.0.0:18789", "[::]:18789", "192.168.0.7:18789", "[::ffff:127.0.0.1]:18789"]
    {
        assert_eq!(bind(&guarded, address, Transport::Tcp), Outcome::Deny, "{address}");
        assert_eq!(bind(&guarded, address, Transport::Udp), Outcome::Allow, "{address}");
        assert_eq!(
            bind(&policy(json!({ "gateway": "allow" })), address, Transport::Tcp),
            Outcome::Allow,
            "{address}"
        );
    }
    // A denied destination may still be listened on.
    assert_eq!(bind(&guarded, "127.0.0.1:8080", Transport::Tcp), Outcome::Allow);
    assert_eq!(bind(&guarded, "127.0.0.1:0", Transport::Tcp), Outcome::Allow);
}

#[test]
fn the_gateways_ports_are_the_hosts() {
    let gateway =
        Gateway::find(Some("20001"), GatewayConfig::Text("{gateway: {port: 20000}}"), "openclaw.json");
    let host = Host { gateway, ..host() };
    let policy = compile_with(&json!({ "version": 1 }), "main", &host, &Overrides::default());
    assert_eq!(
        denied_of(&policy, &["127.0.0.1:18789", "127.0.0.1:20000", "[::1]:20001"]),
        ["127.0.0.1:20000", "[::1]:20001"]
    );
    assert!(policy.warnings().is_empty());
    let gateway = Gateway::find(None, GatewayConfig::Unreadable("no"), "/h/openclaw.json");
    let host = Host { gateway, ..host };
    let policy = compile_with(&json!({ "version": 1 }), "main", &host, &Overrides::default());
    assert!(
        policy.warnings()[0].starts_with("/h/openclaw.json: cannot read gateway.port: no"),
        "{:?}",
        policy.warnings()
    );
    let open = json!({ "version": 1, "network": { "connect": { "gateway": "allow" } } });
    assert!(compile_with(&open, "main", &host, &Overrides::default()).warnings().is_empty());
}

#[test]
fn the_gateway_that_is_allowed_is_an_address_like_others() {
    let open = policy(json!({ "gateway": "allow" }));
    assert_eq!(tcp(&open, "127.0.0.1:18789").outcome, Outcome::Allow);
    let denied = policy(json!({ "gateway": "allow", "deny": ["localhost:18789"] }));
    assert_eq!(tcp(&denied, "127.0.0.1:18789").reason.path, "network.connect.deny[0]");
    let ports = policy(json!({ "gateway": "allow", "ports": [443] }));
    assert_eq!(tcp(&ports, "127.0.0.1:18789").reason.path, "network.connect.ports");
}

#[test]
fn a_denial_is_its_own_reason() {
    let policy = policy(json!({ "deny": ["127.0.0.1:8080", "10.0.0.0/8"], "ports": [8080, 18789, 443] }));
    let verdict_of = |address: &str| {
        let verdict = tcp(&policy, address);
        (verdict.outcome, verdict.reason.path.into_owned())
    };
    assert_eq!(verdict_of("127.0.0.1:8080"), (Outcome::Deny, "network.connect.deny[0]".to_owned()));
    assert_eq!(verdict_of("10.1.2.3:443"), (Outcome::Deny, "network.connect.deny[1]".to_owned()));
    assert_eq!(verdict_of("127.0.0.1:18789"), (Outcome::Deny, "network.connect.gateway".to_owned()));
    assert_eq!(verdict_of("127.0.0.1:80"), (Outcome::Deny, "network.connect.ports".to_owned()));
    assert_eq!(verdict_of("127.0.0.1:443"), (Outcome::Allow, "network.connect".to_owned()));
    assert_eq!(tcp(&policy, "10.1.2.3:443").reason.rule(), "network.connect.deny \"10.0.0.0/8\"");
    assert_eq!(tcp(&policy, "9.9.9.9:81").reason.rule(), "network.connect.ports [443, 8080, 18789]");
}

#[test]
fn denials_cover_the_addresses_that_they_name() {
    let addresses = [
        "127.0.0.1:8080",
        "127.0.0.1:8081",
        "127.0.0.2:8080",
        "0.0.0.0:8080",
        "[::]:8080",
        "[::1]:8080",
        "[::ffff:127.0.0.1]:8080",
        "10.255.0.1:1",
        "[::ffff:10.0.0.1]:1",
        "11.0.0.1:1",
        "[fdff::1]:443",
        "[fdff::1]:444",
        "[fe80::1]:443",
        "1.2.3.4:25",
        "[2001:db8::1]:25",
    ];
    let of = |deny: &str| {
        let connect = json!({ "deny": [deny], "allow": ["fe80::1"], "gateway": "allow", "private": "allow" });
        denied_of(&policy(connect), &addresses)
    };
    assert_eq!(
        of("127.0.0.1:8080"),
        ["127.0.0.1:8080", "0.0.0.0:8080", "[::]:8080", "[::ffff:127.0.0.1]:8080"]
    );
    assert_eq!(of("[::1]:8080"), ["[::]:8080", "[::1]:8080"]);
    assert_eq!(of("::1"), of("[::1]"));
    assert_eq!(of("10.0.0.0/8"), ["10.255.0.1:1", "[::ffff:10.0.0.1]:1"]);
    assert_eq!(of("[::ffff:10.0.0.0]/104"), of("10.0.0.0/8"));
    assert_eq!(of("[fd00::]/8:443"), ["[fdff::1]:443"]);
    assert_eq!(of("fd00::/8"), ["[fdff::1]:443", "[fdff::1]:444"]);
    assert_eq!(of("*:25"), ["1.2.3.4:25", "[2001:db8::1]:25"]);
    assert_eq!(of("LocalHost:8081"), ["127.0.0.1:8081"]);
    assert_eq!(of("localhost").len(), 7);
    assert_eq!(of("*"), addresses);
    assert_eq!(of("*:*"), addresses);
    // An IPv4-mapped address is an IPv4 address.
    assert_eq!(
        of("::/0"),
        ["[::]:8080", "[::1]:8080", "[fdff::1]:443", "[fdff::1]:444", "[fe80::1]:443", "[2001:db8::1]:25"]
    );
    assert_eq!(of("0.0.0.0/0").len(), addresses.len() - 5);
}

#[test]
fn localhost_is_wherever_this_host_is() {
    let policy = policy(json!({ "deny": ["localhost:5432"] }));
    let own = |address: &str| connect_as(&policy, address, Transport::Tcp, Interface::Own).outcome;
    assert_eq!(own("192.168.0.7:5432"), Outcome::Deny);
    assert_eq!(own("192.168.0.7:5433"), Outcome::Allow);
    assert!(needs_interfaces(&policy, 5432) && !needs_interfaces(&policy, 5433));
}

/// In doubt, an address is denied as this host's, and as another's.
#[test]
fn an_address_that_may_be_this_hosts_has_no_exception() {
    let policy = policy(json!({ "deny": ["localhost:5432"], "private": "deny" }));
    let outcome = |address: &str, interface| connect_as(&policy, address, Transport::Udp, interface).outcome;
    for address in
        ["192.168.0.7:1", "224.0.0.251:5353", "255.255.255.255:9", "[fe80::1]:9", "192.168.0.7:5432"]
    {
        assert_eq!(outcome(address, Interface::Perhaps), Outcome::Deny, "{address}");
    }
    assert_eq!(outcome("192.168.0.7:1", Interface::Own), Outcome::Allow);
    assert_eq!(outcome("9.9.9.9:53", Interface::Perhaps), Outcome::Allow);
}

#[test]
fn ports_are_of_tcp_alone_and_denials_of_both() {
    let policy = policy(json!({ "deny": ["1.2.3.4"], "ports": [443] }));
    assert_eq!(tcp(&policy, "9.9.9.9:53").outcome, Outcome::Deny);
    assert_eq!(udp(&policy, "9.9.9.9:53").outcome, Outcome::Allow);
    assert_eq!(udp(&policy, "1.2.3.4:53").outcome, Outcome::Deny);
    assert_eq!(policy.tcp_ports(), Some(&[443][..]));
    let none = self::policy(json!({ "ports": [] }));
    assert_eq!(tcp(&none, "9.9.9.9:443").outcome, Outcome::Deny);
    assert_eq!(self::policy(json!({})).tcp_ports(), None);
}

#[test]
fn a_malformed_destination_is_refused() {
    let deny = |text: &str| problem(json!({ "deny": [text] }));
    let near = |text: &str, near: &str| {
        let problem = deny(text);
        assert!(problem.contains(&format!("did you mean \"{near}\"")), "{problem}");
    };
    near("localhots:80", "localhost");
    near("10.1.2.3/8", "10.0.0.0/8");
    near("[fd00::1]/8:443", "[fd00::]/8");
    let says = |text: &str, says: &str| {
        let problem = deny(text);
        assert!(problem.contains(says), "{problem}");
    };
    says("example.com:443", "names are not resolved");
    says("fd00::/8:443", "[fd00::]/8:443");
    says("10.0.0.0/33", "not a length from 0 to 32");
    says("[::]/129", "not a length from 0 to 128");
    says("1.2.3.4:0", "not a port");
    says("1.2.3.4:65536", "not a port");
    says("1.2.3.4:+80", "not a port");
    says("1.2.3.4:80-90", "not a port");
    says("[::1", "not closed");
    says("[1.2.3.4]:80", "not an IPv6");
    says("[::1]80", "after an address");
    for text in [
        "",
        ":",
        ":80",
        "/8",
        "1.2.3",
        "1.2.3.4/",
        "1.2.3.4:",
        "01.2.3.4",
        "*/8",
        "localhost/8",
        "[]",
        "[]:80",
        "fe80::1%eth0",
        " 1.2.3.4",
        "1.2.3.4\n",
    ] {
        assert!(!deny(text).is_empty(), "{text:?}");
    }
    assert!(
        deny("localhots:80").starts_with("network.connect.deny[0]: \"localhots:80\": "),
        "{}",
        deny("localhots:80")
    );
    assert_eq!(
        problem(json!({ "port": [80] })),
        "network.connect.port: unknown key; did you mean \"ports\"?"
    );
    assert_eq!(
        problem(json!({ "gateway": "allowed" })),
        "network.connect.gateway: \"allowed\" is not one of deny, allow; did you mean \"allow\"?"
    );
    assert!(problem(json!({ "ports": [80, 0] })).starts_with("network.connect.ports[1]: must be a port"));
}

#[test]
fn an_unknown_key_of_network_is_an_error() {
    let text = "{\n  \"version\": 1,\n  \"network\": {\n    \"conect\": {}\n  }\n}";
    let problems = parse(text).expect_err("should be refused");
    assert_eq!(
        problems[0].to_string(),
        "guard.json:4:5: network.conect: unknown key; did you mean \"connect\"?"
    );
}

#[test]
fn explain_shows_each_value() {
    let document = json!({ "version": 1, "network": { "connect": { "deny": ["::ffff:10.0.0.0/104", "LOCALHOST:1"], "ports": [443, 80] } } });
    let document = parse(&document.to_string()).unwrap();
    let policy = Policy::compile(&document, "main", &host(), &Overrides::default()).unwrap();
    let settings = policy.explain(Some(&document));
    let of = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name).expect(name);
        (setting.value.clone(), setting.source, setting.note.clone())
    };
    assert_eq!(
        of("network.connect.deny"),
        ("10.0.0.0/8:*, localhost:1".to_owned(), Source::Global, String::new())
    );
    assert_eq!(of("network.connect.ports"), ("80, 443".to_owned(), Source::Global, String::new()));
    assert_eq!(of("network.connect.gateway"), ("deny".to_owned(), Source::Default, "port 18789".to_owned()));
}

/// The bits of an address, IPv4 in its mapped form.
fn bits(ip: IpAddr) -> String {
    let ip = match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    ip.octets().iter().map(|octet| format!("{octet:08b}")).collect()
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u32>().prop_map(|bits| IpAddr::V6(Ipv4Addr::from_bits(bits).to_ipv6_mapped())),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
    ]
}

proptest! {
    /// A prefix covers just the addresses that begin with its bits, and is read again from what is shown of it.
    #[test]
    fn a_prefix_is_bits_that_are_equal(network in address(), length in 0u8..=128, flipped in 0usize..128, other in address(), port in 1u16..) {
        let most = if network.is_ipv4() { 32 } else { 128 };
        let length = length.min(most);
        let skipped = if network.is_ipv4() { 96 } else { 0 };
        let prefix_bits = skipped + usize::from(length);
        let own = bits(network);
        let beginning: u128 = u128::from_str_radix(&format!("{}{}", &own[..prefix_bits], "0".repeat(128 - prefix_bits)), 2).unwrap();
        let beginning = Ipv6Addr::from_bits(beginning);
        let written = match network {
            IpAddr::V4(_) => format!("{}/{length}:{port}", beginning.to_ipv4_mapped().unwrap()),
            IpAddr::V6(_) => format!("[{beginning}]/{length}:{port}"),
        };
        let policy = policy(json!({ "deny": [written], "gateway": "allow" }));
        let mut near: Vec<u8> = own.clone().into_bytes();
        near[flipped] ^= 1;
        let near = u128::from_str_radix(str::from_utf8(&near).unwrap(), 2).unwrap();
        // An IPv6 prefix does not cover mapped addresses, which count as IPv4, unless it covers only mapped addresses.
        let is_mapped = |ip: IpAddr| bits(ip).starts_with(&bits(IpAddr::V4(Ipv4Addr::UNSPECIFIED))[..96]);
        let is_of_v4 = is_mapped(IpAddr::V6(beginning)) && prefix_bits >= 96;
        for ip in [network, IpAddr::V6(Ipv6Addr::from_bits(near)), other] {
            if ip.to_canonical().is_unspecified() {
                continue;
            }
            let expected = bits(ip)[..prefix_bits] == own[..prefix_bits] && is_mapped(ip) == is_of_v4;
            let verdict = tcp(&policy, &SocketAddr::new(ip, port).to_string());
            let is_denied = verdict.reason.path == "network.connect.deny[0]";
            prop_assert_eq!(is_denied, expected, "{} {}", ip, policy.explain(None).len());
            let elsewhere = tcp(&policy, &SocketAddr::new(ip, port ^ 1).to_string());
            prop_assert_ne!(elsewhere.reason.path, "network.connect.deny[0]");
        }
    }

    /// Any text is either parsed or refused, and adding a line to the denials never denies less.
    #[test]
    fn denials_only_add(texts in prop::collection::vec("(\\*|localhost|[0-9.]{1,9}|\\[[0-9a-f:]{1,9}\\])(/[0-9]{1,3})?(:[0-9*]{1,5})?", 1..4), ip in address(), port: u16) {
        let read: Vec<&String> = texts.iter()
            .filter(|text| parse(&json!({ "version": 1, "network": { "connect": { "deny": [text] } } }).to_string()).is_ok())
            .collect();
        let address = SocketAddr::new(ip, port).to_string();
        // An address's class denies some of them anyway.
        let is_denied = |policy: &Policy| tcp(policy, &address).reason.path.starts_with("network.connect.deny");
        let alone = read.iter().any(|text| is_denied(&policy(json!({ "deny": [text], "gateway": "allow" }))));
        let together = is_denied(&policy(json!({ "deny": read, "gateway": "allow" })));
        prop_assert_eq!(alone, together);
    }
}

/// Link-local addresses, in forms that lead to them.
const LINK_LOCAL: [&str; 6] = [
    "169.254.1.1",
    "[fe80::1]",
    "[febf::1]",
    "[::ffff:169.254.1.1]",
    "[2002:a9fe:101::1]",
    "[64:ff9b::a9fe:101]",
];
/// Addresses of metadata services, in forms that lead to them.
const METADATA: [&str; 10] = [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]",
    "[::169.254.169.254]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[2002:a83f:8110::1]",
    "[2a00:1450::5efe:a9fe:a9fe]",
];

#[test]
fn link_local_and_metadata_addresses_need_an_entry_of_their_own() {
    let without = Policy::without_file("main", &host(), &Overrides::default());
    for policy in [without, policy(json!({})), policy(json!({ "ports": [80] }))] {
        for (address, class) in LINK_LOCAL
            .map(|address| (address, "link-local"))
            .into_iter()
            .chain(METADATA.map(|a| (a, "metadata")))
        {
            for transport in [Transport::Tcp, Transport::Udp] {
                let verdict = connect_as(&policy, &format!("{address}:80"), transport, Interface::Unknown);
                assert_eq!(verdict.outcome, Outcome::Deny, "{address}");
                assert_eq!(verdict.reason.path, "network.connect.allow");
                let rule = format!("a {class} address that network.connect.allow does not name");
                assert_eq!(verdict.reason.rule(), rule, "{address}");
            }
            let ip: SocketAddr = format!("{address}:80").parse().unwrap();
            assert_eq!(policy.needs_interfaces(ip, Page::Down), class == "link-local", "{address}");
            // This host's own link-local address is this host; a metadata service of its own still is one.
            let own = connect_as(&policy, &format!("{address}:80"), Transport::Tcp, Interface::Own);
            assert_eq!(own.outcome == Outcome::Deny, class == "metadata", "{address}");
        }
        for address in ["169.253.1.1:80", "203.0.113.1:80", "127.0.0.1:80"] {
            assert_eq!(tcp(&policy, address).outcome, Outcome::Allow, "{address}");
        }
    }
}

#[test]
fn an_exception_is_one_address() {
    let allow = ["169.254.169.254:80", "fe80::1", "[fd00:ec2::254]:*"];
    let policy = policy(json!({ "allow": allow, "ports": [80, 443] }));
    for (address, is_allowed) in [
        ("169.254.169.254:80", true),
        ("[::ffff:169.254.169.254]:80", true),
        ("169.254.169.254:443", false),
        ("169.254.169.253:80", false),
        // The same service, but another way to it than the one that was named.
        ("[64:ff9b::a9fe:a9fe]:80", false),
        ("[fe80::1]:443", true),
        ("[fe80::1]:22", false),
        ("[fd00:ec2::254]:443", true),
    ] {
        assert_eq!(tcp(&policy, address).outcome == Outcome::Allow, is_allowed, "{address}");
    }
    let denied = self::policy(json!({ "allow": ["169.254.1.1"], "deny": ["169.254.0.0/16"] }));
    assert_eq!(tcp(&denied, "169.254.1.1:80").reason.path, "network.connect.deny[0]");
    for (text, problem) in [
        (
            "169.254.0.0/16",
            "\"169.254.0.0/16\" is not one address: link-local addresses are named each by itself",
        ),
        ("fe80::/64", "\"fe80::/64\" is not one address"),
        ("*:80", "\"*:80\" is not an address or a prefix"),
        ("localhost", "\"localhost\" is not an address or a prefix"),
        ("127.0.0.1", "127.0.0.1 is loopback, and needs no exception"),
        ("8.8.8.8:53", "8.8.8.8 is public, and needs no exception"),
        ("metadata.google.internal", "names are not resolved"),
    ] {
        let said = self::problem(json!({ "allow": [text] }));
        assert!(said.contains(problem), "{said}");
    }
}

/// Addresses that are neither public nor of this host, and are reached unless `private` denies it.
const PRIVATE: [&str; 12] = [
    "10.0.0.1",
    "172.16.0.1",
    "192.168.255.255",
    "100.64.0.1",
    "198.18.0.1",
    "224.0.0.251",
    "240.0.0.1",
    "[fd00::1]",
    "[fec0::1]",
    "[::ffff:10.0.0.1]",
    "[2002:a00:1::]",
    "[2002:7f00:1::]",
];

#[test]
fn private_networks_may_be_denied() {
    let [deny, ask, allow] = ["deny", "ask", "allow"].map(|access| policy(json!({ "private": access })));
    for address in PRIVATE {
        for transport in [Transport::Tcp, Transport::Udp] {
            let to = format!("{address}:443");
            let verdict = connect_as(&deny, &to, transport, Interface::Unknown);
            assert_eq!(
                (verdict.outcome, verdict.reason.rule()),
                (Outcome::Deny, "network.connect.private \"deny\""),
                "{address}"
            );
            assert!(deny.needs_interfaces(to.parse().unwrap(), Page::Down), "{address}");
            assert_eq!(
                connect_as(&ask, &to, transport, Interface::Unknown).outcome,
                Outcome::Ask,
                "{address}"
            );
            assert!(ask.needs_interfaces(to.parse().unwrap(), Page::Down), "{address}");
            let allowed = connect_as(&allow, &to, transport, Interface::Unknown);
            assert_eq!(allowed.outcome, Outcome::Allow, "{address}");
            assert!(!allow.needs_interfaces(to.parse().unwrap(), Page::Down), "{address}");
            assert_eq!(
                connect_as(&deny, &to, transport, Interface::Own).outcome,
                Outcome::Allow,
                "{address}"
            );
        }
    }
    for address in LOOPBACK {
        assert_eq!(tcp(&deny, &format!("{address}:443")).outcome, Outcome::Allow, "{address}");
    }
    for address in ["8.8.8.8:443", "[2a00::1]:443", "[::ffff:8.8.8.8]:443"] {
        assert_eq!(tcp(&deny, address).outcome, Outcome::Allow, "{address}");
    }
}

/// So the guard does not list them for each connection to this host.
#[test]
fn a_loopback_address_needs_no_interfaces() {
    let policies = [
        Policy::without_file("main", &host(), &Overrides::default()),
        policy(json!({})),
        policy(
            json!({ "private": "deny", "deny": ["localhost:443", "127.0.0.2", "10.0.0.0/8"], "ports": [80, 443] }),
        ),
        compile(&json!({ "version": 1, "network": { "web": {} } })),
    ];
    for (address, policy) in
        LOOPBACK.iter().flat_map(|address| policies.iter().map(move |one| (address, one)))
    {
        for (port, transport) in
            [(80, Transport::Tcp), (443, Transport::Tcp), (18789, Transport::Tcp), (53, Transport::Udp)]
        {
            let address: SocketAddr = format!("{address}:{port}").parse().unwrap();
            for page in [Page::Down, Page::At(443), Page::Somewhere] {
                assert!(!policy.needs_interfaces(address, page), "{address}");
                let judged = [Interface::Unknown, Interface::Perhaps, Interface::Own].map(|interface| {
                    let connection = Connection { transport, interface, page, ..Connection::to(address) };
                    decide(policy, &Request::Connect(connection))
                });
                assert_eq!((&judged[0], &judged[0]), (&judged[1], &judged[2]), "{address}");
            }
        }
    }
}

#[test]
fn exceptions_to_a_denial_of_private_networks() {
    let allow =
        ["10.1.0.0/16", "192.168.0.1:443", "fd00::/8", "100.64.0.0/10", "0.0.0.0/0:99", "169.254.1.1"];
    let policy = policy(json!({ "private": "deny", "allow": allow }));
    for (address, is_allowed) in [
        ("10.1.2.3:1", true),
        ("[::ffff:10.1.2.3]:1", true),
        ("10.2.2.3:1", false),
        ("10.2.2.3:99", true),
        ("192.168.0.1:443", true),
        ("192.168.0.1:80", false),
        ("192.168.0.2:443", false),
        ("[fd12::1]:22", true),
        ("100.100.100.201:80", true),
        ("169.254.1.1:80", true),
        // A prefix never names a metadata service or a link-local address.
        ("100.100.100.200:80", false),
        ("[fd00:ec2::254]:80", false),
        ("169.254.169.254:99", false),
        ("169.254.1.2:99", false),
    ] {
        assert_eq!(tcp(&policy, address).outcome == Outcome::Allow, is_allowed, "{address}");
    }
    assert_eq!(
        problem(json!({ "private": "maybe" })),
        "network.connect.private: \"maybe\" is not one of deny, ask, allow"
    );
}

/// What a socket at such an address sends to this host would leave by the interface.
#[test]
fn no_socket_is_bound_to_a_link() {
    let bind = |policy: &Policy, address: &str, transport| {
        let address = address.parse().unwrap_or_else(|_| panic!("{address}"));
        decide(policy, &Request::Bind { address, transport, page: Page::Down, is_beside: false }).outcome
    };
    let web = compile(&json!({ "version": 1, "network": { "web": {}, "connect": { "private": "allow" } } }));
    for transport in [Transport::Tcp, Transport::Udp] {
        for address in ["[fe80::1%2]:80", "[febf::1]:0", "[ff02::fb%2]:5353", "[ff01::1%1]:9"] {
            for closed in [&policy(json!({})), &policy(json!({ "private": "ask" })), &web] {
                assert_eq!(bind(closed, address, transport), Outcome::Deny, "{address}");
            }
            assert_eq!(
                bind(&policy(json!({ "private": "allow" })), address, transport),
                Outcome::Allow,
                "{address}"
            );
        }
        for address in ["[::]:80", "[::1]:80", "[fd00::1]:80", "[ff05::1]:9", "[ff0e::1]:9", "169.254.1.1:9"]
        {
            assert_eq!(bind(&web, address, transport), Outcome::Allow, "{address}");
        }
    }
}

/// What is not written is denied by a file, and asked about where there is none, but for what is nobody's network.
#[test]
fn private_networks_are_closed_by_default() {
    let builtin = Policy::without_file("main", &host(), &Overrides::default());
    let web = compile(&json!({ "version": 1, "network": { "web": {} } }));
    for address in PRIVATE {
        let to: SocketAddr = format!("{address}:443").parse().unwrap();
        // Some proxies of users give every name such an address.
        let is_private = address != "198.18.0.1";
        for transport in [Transport::Tcp, Transport::Udp] {
            for (policy, closed) in [(&policy(json!({})), Outcome::Deny), (&builtin, Outcome::Ask)] {
                let expected = if is_private { closed } else { Outcome::Allow };
                let verdict = connect_as(policy, &to.to_string(), transport, Interface::Unknown);
                assert_eq!(verdict.outcome, expected, "{address}");
                assert_eq!(policy.needs_interfaces(to, Page::Down), is_private, "{address}");
                let own = connect_as(policy, &to.to_string(), transport, Interface::Own);
                assert_eq!(own.outcome, Outcome::Allow, "{address}");
            }
            // Beside the proxy nothing is asked about.
            let beside = connect_as(&web, &to.to_string(), transport, Interface::Unknown);
            assert_eq!(beside.outcome, Outcome::Deny, "{address}");
        }
    }
    for address in ["203.0.113.1:443", "[2001:db8::1]:443", "198.19.255.255:443"] {
        assert_eq!(tcp(&builtin, address).outcome, Outcome::Allow, "{address}");
    }
    for address in ["255.255.255.255:9", "239.255.255.250:1900", "[ff05::2]:1900"] {
        assert_eq!(udp(&builtin, address).outcome, Outcome::Ask, "{address}");
    }
    // A socket that connects there keeps to the link.
    let (file, open) = (policy(json!({})), policy(json!({ "private": "allow" })));
    for (policy, expected) in [(&builtin, Outcome::Deny), (&file, Outcome::Deny), (&open, Outcome::Allow)] {
        assert_eq!(udp(policy, "[ff02::1%2]:9").outcome, expected);
    }
    let named = policy(json!({ "allow": ["ff02::fb"] }));
    assert_eq!(udp(&named, "[ff02::fb%2]:5353").outcome, Outcome::Allow);
    let asked = tcp(&builtin, "10.0.0.1:443");
    assert_eq!(asked.reason.rule(), "network.connect.private \"ask\"");
    assert_eq!(
        asked.reason.text,
        "the address is of a private network, and network.connect.allow does not name it"
    );
    let both = compile(&json!({ "version": 1, "network": { "connect": { "private": "ask" }, "web": {} } }));
    assert_eq!(tcp(&both, "10.0.0.1:443").outcome, Outcome::Deny);
}

/// Some clouds and links have their name server at such an address.
#[test]
fn the_hosts_resolvers_may_be_asked() {
    let resolvers = guard_policy::resolvers("nameserver 169.254.169.254\nnameserver fe80::1%eth0\n");
    let policy =
        compile_with(&json!({ "version": 1 }), "main", &Host { resolvers, ..host() }, &Overrides::default());
    for address in ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"] {
        for transport in [Transport::Tcp, Transport::Udp] {
            let ask =
                |port: u16| connect_as(&policy, &format!("{address}:{port}"), transport, Interface::Unknown);
            assert_eq!(ask(53).outcome, Outcome::Allow, "{address}");
            assert_eq!(ask(80).outcome, Outcome::Deny, "{address}");
        }
    }
    assert_eq!(udp(&policy, "169.254.169.253:53").outcome, Outcome::Deny);
}

proptest! {
    /// Whatever a policy says but by its own entry, and however the address is written.
    #[test]
    fn no_other_rule_opens_a_metadata_service(
        address in prop::sample::select(METADATA.to_vec()),
        port in 1u16..,
        is_own in any::<bool>(),
        is_udp in any::<bool>(),
        ports in any::<bool>(),
        gateway in any::<bool>(),
    ) {
        let mut connect = json!({ "allow": ["169.254.1.1", "[fe80::1]:80"] });
        if ports { connect["ports"] = json!([port]); }
        if gateway { connect["gateway"] = json!("allow"); }
        let transport = if is_udp { Transport::Udp } else { Transport::Tcp };
        let interface = if is_own { Interface::Own } else { Interface::Unknown };
        let policy = policy(connect);
        let verdict = connect_as(&policy, &format!("{address}:{port}"), transport, interface);
        prop_assert_eq!(verdict.outcome, Outcome::Deny);
    }
}
