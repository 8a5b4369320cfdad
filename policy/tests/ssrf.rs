//! Hosts, look-ups and URLs get the answers of OpenClaw's own code; see `data/README.md`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::common::data;
use guard_policy::AddressClass;
use guard_policy::ssrf::{LookupAddress, SsrfError, SsrfPolicy};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Hosts that are blocked here and not by OpenClaw: Azure's metadata service, segment routing, the deprecated ORCHID
/// prefix, and names that are an address in the form in which they are looked up.
const STRICTER: [&str; 6] =
    ["168.63.129.16", "2001:10::1", "5f00::1", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1"];

fn outcome(result: Result<Value, SsrfError>) -> Value {
    result
        .unwrap_or_else(|error| json!({ "allowed": false, "error": error.to_string(), "name": error.name() }))
}

fn answer(case: &Value) -> Value {
    let policy = case.get("policy").cloned().unwrap_or_else(|| json!({}));
    let policy: SsrfPolicy = serde_json::from_value(policy).unwrap();
    let text = |key: &str| case[key].as_str().unwrap();
    let answers = || serde_json::from_value::<Vec<LookupAddress>>(case["resolvesTo"].clone()).unwrap();
    match text("kind") {
        "host" => host(&policy, text("host")),
        "policy" => outcome(
            policy.check_hostname(text("host")).map(|value| json!({ "allowed": true, "value": value })),
        ),
        "resolve" => outcome(
            policy
                .check_lookup(text("host"), &answers())
                .map(|addresses| json!({ "allowed": true, "addresses": addresses })),
        ),
        "url" => outcome(
            policy
                .check_url(text("url"), &answers())
                .map(|addresses| json!({ "allowed": true, "addresses": addresses })),
        ),
        kind => panic!("{kind}"),
    }
}

fn host(policy: &SsrfPolicy, host: &str) -> Value {
    let check = policy.check_host(host);
    json!({
        "blockedHostname": check.is_blocked_hostname,
        "privateIp": check.is_private_ip,
        "blocked": check.is_blocked(),
    })
}

#[test]
fn openclaw_agrees() {
    let data = data("ssrf.json");
    let cases = data["cases"].as_array().unwrap();
    let mut stricter = Vec::new();
    for case in cases {
        let answer = answer(case);
        if answer == case["expect"] {
            continue;
        }
        assert_eq!(answer, json!({ "blockedHostname": false, "privateIp": true, "blocked": true }), "{case}");
        stricter.push(case["host"].as_str().unwrap());
    }
    assert_eq!(stricter, STRICTER);
    println!("ssrf: {} of {}, and {} stricter", cases.len() - stricter.len(), cases.len(), stricter.len());
}

fn is_blocked(text: &str) -> bool {
    SsrfPolicy::default().check_host(text).is_blocked()
}

fn class(address: &str) -> AddressClass {
    AddressClass::from_ip(address.parse().unwrap_or_else(|_| panic!("{address}")))
}

/// The first and the last address of a range, and their neighbours outside of it.
#[test]
fn classes_end_where_the_registries_say() {
    let ranges = [
        ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", AddressClass::Private),
        ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", AddressClass::Private),
        ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", AddressClass::Loopback),
        ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", AddressClass::LinkLocal),
        ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", AddressClass::Private),
        ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", AddressClass::Reserved),
        ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", AddressClass::Reserved),
        ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", AddressClass::Reserved),
        ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", AddressClass::Private),
        ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", AddressClass::Reserved),
        ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", AddressClass::Reserved),
        ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", AddressClass::Reserved),
        ("223.255.255.255", "224.0.0.0", "239.255.255.255", "223.0.0.0", AddressClass::Multicast),
        ("1.0.0.0", "240.0.0.0", "255.255.255.255", "1.0.0.0", AddressClass::Reserved),
        ("64:ff9b:0:ffff::", "64:ff9b:1::", "64:ff9b:1:ff::", "64:ff9b:2::", AddressClass::Private),
        ("ff::", "100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::", AddressClass::Reserved),
        ("2001:1ff:ffff::", "2001:100::", "2001:1ff::", "2001:200::", AddressClass::Reserved),
        ("2001:1:ffff::", "2001:2::", "2001:2:0:ffff::", "2001:3::", AddressClass::Reserved),
        ("2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::", "2001:db9::", AddressClass::Reserved),
        ("3ffe::", "3fff::", "3fff:fff:ffff::", "3fff:1000::", AddressClass::Reserved),
        ("5eff:ffff::", "5f00::", "5f00:ffff::", "5f01::", AddressClass::Reserved),
        ("fbff:ffff::", "fc00::", "fdff:ffff::", "fe00::", AddressClass::Private),
        ("fe7f:ffff::", "fe80::", "febf:ffff::", "fe00::", AddressClass::LinkLocal),
        ("fe00::", "fec0::", "feff:ffff::", "fe00::", AddressClass::Private),
        ("fe00::", "ff00::", "ffff:ffff::", "fe00::", AddressClass::Multicast),
    ];
    for (before, first, last, after, expected) in ranges {
        assert_eq!(class(first), expected, "{first}");
        assert_eq!(class(last), expected, "{last}");
        for outside in [before, after] {
            // Inside of 2001::/23, the next range is another part of it.
            if !outside.starts_with("2001:1") {
                assert_eq!(class(outside), AddressClass::Public, "{outside}");
            }
        }
    }
}

#[test]
fn metadata_services_are_metadata_in_every_form() {
    let services = [
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "169.254.42.42",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fd00:42::42",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:a9:fe:a9fe::",
        "64:ff9b:1:0:a9:fea9:fe00:0",
        "2002:a9fe:a9fe::1",
        "2001:0:808:808:0:1234:5601:5601",
        "2a00:1450::5efe:a9fe:a9fe",
        "fe80::200:5efe:a9fe:a9fe",
        "2002:808:808::5efe:a9fe:a9fe",
    ];
    for service in services {
        assert_eq!(class(service), AddressClass::Metadata, "{service}");
        assert!(is_blocked(service), "{service}");
    }
    // A zone is no other address, and a range that is let through does not hold them.
    let unique_local = SsrfPolicy { allow_ipv6_unique_local_range: true, ..SsrfPolicy::default() };
    for text in ["fd00:ec2::254", "fd00:ec2::254%1", "fd20:ce::254", "[FD00:EC2::254]."] {
        assert!(unique_local.check_host(text).is_blocked(), "{text}");
    }
    assert!(!unique_local.check_host("fd00:ec2::253").is_blocked());
}

#[test]
fn what_a_program_may_take_for_an_address_is_no_name() {
    let texts = [
        "0177.0.0.1",
        "0x7f.1",
        "0X7F.0.0.1",
        "127.1",
        "2130706433",
        "017700000001",
        "127.0.0.1.",
        "0x7f.0.0.0x1",
        "1..2",
        ".1",
        "1.",
        "256.256.256.256",
        "fe80::1%eth0",
        "fe80::1%25eth0",
        "::1%",
        "::1%/",
        "[::1",
        "::1]",
        "1:2",
        "[[127.0.0.1]]",
        "[127.1].",
        " 127.0.0.1 ",
        "\u{feff}127.1",
        "::ffff:0177.0.0.1",
        "0000::1",
        "1.2.3.4:80",
        "１２７.1",
        "0ｘ7f.1",
        "127.0.0.1。",
        "127．1",
    ];
    for text in texts {
        assert!(is_blocked(text), "{text}");
    }
    for text in
        ["example.com", "1.2.3.4.5", "a.1", "1.a", "0.example", "x0x1", "8.8.8.8", "bücher.example", "faß.de"]
    {
        assert!(!is_blocked(text), "{text}");
    }
}

#[test]
fn local_names_are_local_in_every_spelling() {
    let texts = [
        "localhost",
        "LOCALHOST...",
        "[localhost]",
        "[localhost.]",
        "[ localhost ]",
        "a.b.localhost",
        "ｌocalhost",
        "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
        "localhost。",
        "a。localhost",
        "foo.ⅼocal",
        "metadata。google。internal",
        "\u{a0}foo.LOCAL\u{2028}",
        "local\u{ad}host",
        ".localhost",
        "a..localhost",
        ".internal",
    ];
    for text in texts {
        assert!(SsrfPolicy::default().check_host(text).is_blocked_hostname, "{text}");
    }
    for text in ["local", "internal", "xlocal", "foo.localx", "localhost.example"] {
        assert!(!is_blocked(text), "{text}");
    }
}

#[test]
fn an_answer_that_is_no_address_is_refused() {
    let answers = |address: &str, family| vec![LookupAddress { address: address.to_owned(), family }];
    let named = SsrfPolicy { allowed_hostnames: vec!["nas.example".to_owned()], ..SsrfPolicy::default() };
    for address in ["", "nas.example", "127.1", "10.0.0", "fe80::1%eth0", "168.63.129.16", "64:ff9b:1::1"] {
        for policy in [SsrfPolicy::default(), named.clone()] {
            let answers = answers(address, 4);
            let answer = policy.check_lookup("nas.example", &answers);
            assert_eq!(answer, Err(SsrfError::SpecialAddress), "{address}");
        }
    }
}

#[test]
fn ipv4_comes_first_and_each_address_once() {
    let answers: Vec<LookupAddress> =
        [("2a00::1", 6), ("8.8.8.8", 4), ("2a00::1", 6), ("1.1.1.1", 4), ("8.8.8.8", 4)]
            .map(|(address, family)| LookupAddress { address: address.to_owned(), family })
            .into();
    let addresses = SsrfPolicy::default().check_lookup("example.com", &answers);
    assert_eq!(addresses, Ok(vec!["8.8.8.8", "1.1.1.1", "2a00::1"]));
    // One private address among them is enough.
    let mut answers = answers;
    answers.push(LookupAddress { address: "10.0.0.1".to_owned(), family: 4 });
    assert_eq!(SsrfPolicy::default().check_lookup("example.com", &answers), Err(SsrfError::SpecialAddress));
}

#[test]
fn an_origin_trusts_its_own_host_only() {
    let policy =
        |origin: &str| SsrfPolicy { allowed_origins: vec![origin.to_owned()], ..SsrfPolicy::default() };
    let private = [LookupAddress { address: "10.0.0.1".to_owned(), family: 4 }];
    for (origin, url) in [
        ("http://nas.example", "http://nas.example:80/x?y"),
        (" HTTP://NAS.example./path ", "http://nas.example/"),
        ("https://nas.example:443", "https://nas.example./"),
        ("http://nas.example:8080/", "http://user@nas.example:8080/"),
    ] {
        assert_eq!(policy(origin).check_url(url, &private), Ok(vec!["10.0.0.1"]), "{origin} {url}");
    }
    for (origin, url) in [
        ("http://nas.example", "https://nas.example/"),
        ("http://nas.example", "http://nas.example:8080/"),
        ("http://nas.example", "http://a.nas.example/"),
        ("http://*.example", "http://nas.example/"),
        ("nas.example", "http://nas.example/"),
        ("ftp://nas.example", "ftp://nas.example/"),
    ] {
        assert_eq!(policy(origin).check_url(url, &private), Err(SsrfError::SpecialAddress), "{origin} {url}");
    }
    assert_eq!(policy("http://x").check_url("nas.example", &private), Err(SsrfError::InvalidUrl));
    // A URL's host is judged as it is read: this is 127.0.0.1.
    let local = [LookupAddress { address: "127.0.0.1".to_owned(), family: 4 }];
    assert_eq!(policy("http://x").check_url("http://0x7f.1/", &local), Err(SsrfError::SpecialHost));
    assert_eq!(policy("http://127.0.0.1").check_url("http://0x7f.1/", &local), Ok(vec!["127.0.0.1"]));
}

#[test]
fn a_block_is_stronger_than_every_other_rule() {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let policy = SsrfPolicy {
        allow_private_network: true,
        allowed_hostnames: texts(&["a.example"]),
        hostname_allowlist: texts(&["*", "*.example", " Example.COM. ", "*.example"]),
        blocked_hostnames: texts(&["A.Example.", "*.b.example"]),
        ..SsrfPolicy::default()
    };
    for (host, is_allowed) in [
        ("a.example", false),
        ("x.b.example", false),
        ("b.example", true),
        ("example.com", true),
        ("example", false),
    ] {
        assert_eq!(policy.check_hostname(host).is_ok(), is_allowed, "{host}");
    }
    let error = policy.check_hostname("Other.Test").unwrap_err().to_string();
    assert_eq!(
        error,
        "Domain policy: Blocked hostname (not in allowlist): Other.Test. Permitted hostname patterns: *.example, example.com. Try a URL on a permitted domain."
    );
}

/// Each way to write an IPv4 address into an IPv6 one; the prefix is a public one, where it is free.
fn embeddings(v4: Ipv4Addr) -> Vec<Ipv6Addr> {
    let [a, b, c, d] = v4.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let mut all = vec![
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 7, 1, 2, 3, 4),
        Ipv6Addr::new(0x2001, 0, 0x808, 0x808, 0, 0x5efe, !high, !low),
        Ipv6Addr::new(0x2a00, 0x1450, 0, 0, 0, 0x5efe, high, low),
        Ipv6Addr::new(0x2a00, 0x1450, 0, 0, 0x200, 0x5efe, high, low),
        Ipv6Addr::new(0x2a00, 0x1450, 0, 0, 0x300, 0x5efe, high, low),
    ];
    // `::` and `::1` are themselves.
    if v4.to_bits() > 1 {
        all.push(Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low));
    }
    all
}

/// Addresses of every range, and any others.
fn any_v4() -> impl Strategy<Value = Ipv4Addr> {
    let starts = [
        (0u32, 8),
        (0x0a00_0000, 8),
        (0x6440_0000, 10),
        (0x7f00_0000, 8),
        (0xa9fe_0000, 16),
        (0xac10_0000, 12),
        (0xc000_0000, 22),
        (0xc0a8_0000, 16),
        (0xc612_0000, 15),
        (0xe000_0000, 4),
        (0xf000_0000, 4),
        (0xa9fe_a9fe, 32),
        (0xa83f_8110, 32),
        (0x6464_64c8, 32),
        (0x0808_0808, 32),
        (0, 0),
    ];
    (prop::sample::select(starts.to_vec()), any::<u32>()).prop_map(|((start, length), rest)| {
        let mask = u32::MAX.checked_shr(length).unwrap_or(0);
        Ipv4Addr::from_bits(start | rest & mask)
    })
}

/// Spellings of a host that every parser of OpenClaw's, or of a URL, reads as that host.
fn spellings(host: &str) -> Vec<String> {
    let wide: String = host
        .chars()
        .map(|c| match c {
            '!'..='~' if c != ':' && c != '[' && c != ']' && c != '%' => {
                char::from_u32(u32::from(c) + 0xfee0).unwrap()
            }
            _ => c,
        })
        .collect();
    let mut all = vec![
        host.to_uppercase(),
        format!(" {host}\t"),
        format!("{host}."),
        format!("{host}..."),
        format!("[{host}]"),
        format!("[{host}]."),
        format!("[ {host}. ]"),
    ];
    if host.contains(':') {
        all.push(format!("{host}%eth0"));
    } else {
        all.extend([wide, host.replace('.', "。"), host.replace('.', "．")]);
    }
    all
}

proptest! {
    #[test]
    fn an_embedded_address_has_its_class(v4 in any_v4()) {
        let expected = AddressClass::from_ip(IpAddr::V4(v4));
        for v6 in embeddings(v4) {
            prop_assert_eq!(AddressClass::from_ip(IpAddr::V6(v6)), expected, "{}", v6);
        }
    }

    /// A site's own NAT64 is private whatever it leads to, and metadata where that is.
    #[test]
    fn a_local_nat64_has_at_least_its_class(v4 in any_v4(), between in any::<[u16; 3]>()) {
        let [a, b, c, d] = v4.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let [x, y, z] = between;
        for v6 in [
            Ipv6Addr::new(0x64, 0xff9b, 1, x, y, z, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 1, high, u16::from(c), u16::from_be_bytes([d, 0]), y, z),
            Ipv6Addr::new(0x64, 0xff9b, 1, u16::from(a), u16::from(b), low, y, z),
            Ipv6Addr::new(0x64, 0xff9b, 1, x, u16::from(a), u16::from_be_bytes([b, c]), u16::from_be_bytes([d, 0]), z),
        ] {
            let class = AddressClass::from_ip(IpAddr::V6(v6));
            prop_assert!(class >= AddressClass::from_ip(IpAddr::V4(v4)) && class >= AddressClass::Private, "{}", v6);
        }
    }

    /// ISATAP's identifier never lowers the class of the prefix, nor the prefix that of the address.
    #[test]
    fn isatap_has_the_stricter_class(v4 in any_v4(), prefix in any::<u64>()) {
        let [a, b, c, d] = v4.octets();
        let bits = u128::from(prefix) << 64;
        let plain = Ipv6Addr::from_bits(bits | 1);
        prop_assume!(bits >> 96 != 0x2001_0000 && bits != 0);
        let isatap = Ipv6Addr::from_bits(bits | 0x5efe_0000_0000 | u128::from(u32::from_be_bytes([a, b, c, d])));
        let class = AddressClass::from_ip(IpAddr::V6(isatap));
        prop_assert!(class >= AddressClass::from_ip(IpAddr::V4(v4)) && class >= AddressClass::from_ip(IpAddr::V6(plain)));
    }

    #[test]
    fn blocked_means_not_public(ip in any::<IpAddr>(), v4 in any_v4()) {
        for ip in [ip, IpAddr::V4(v4)] {
            prop_assert_eq!(is_blocked(&ip.to_string()), AddressClass::from_ip(ip) != AddressClass::Public, "{}", ip);
        }
    }

    #[test]
    fn a_spelling_never_loosens(v4 in any_v4(), ip in any::<IpAddr>()) {
        let mut hosts: Vec<String> = embeddings(v4).iter().map(ToString::to_string).collect();
        hosts.extend([v4.to_string(), ip.to_string(), "localhost".to_owned(), "x.internal".to_owned()]);
        for host in hosts.iter().filter(|host| is_blocked(host)) {
            for spelling in spellings(host) {
                prop_assert!(is_blocked(&spelling), "{} as {:?}", host, spelling);
            }
        }
    }

    /// What inet_aton(3) reads, in any number of parts and any base, is never let through as a name.
    #[test]
    fn a_legacy_spelling_is_blocked(v4 in any_v4(), parts in 1usize..=4, bases in any::<[u8; 4]>()) {
        let bits = v4.to_bits();
        let mut numbers: Vec<u32> = v4.octets()[..parts - 1].iter().map(|octet| u32::from(*octet)).collect();
        numbers.push(bits & u32::MAX.checked_shr(8 * (parts as u32 - 1)).unwrap_or(0));
        let write = |(number, base): (&u32, &u8)| match base % 4 {
            0 => format!("{number}"),
            1 => format!("0{number:o}"),
            2 => format!("0x{number:x}"),
            _ => format!("0X{number:08X}"),
        };
        let text = numbers.iter().zip(&bases).map(write).collect::<Vec<_>>().join(".");
        prop_assert!(is_blocked(&text) || text == v4.to_string(), "{}", text);
    }

    #[test]
    fn no_text_panics_or_is_trusted_more(host in "\\PC{0,20}", parts in "[0-9a-fx:.%\\[\\]]{0,20}") {
        for host in [&host, &parts] {
            let policy = SsrfPolicy::default();
            prop_assert_eq!(policy.check_hostname(host).is_ok() && is_blocked(host), false, "{}", host);
            let _ = policy.check_url(&format!("http://{host}/"), &[]);
        }
    }

    /// Each further block, and each rule taken away, denies at least what was denied.
    #[test]
    fn fewer_permissions_deny_more(
        host in prop::sample::select(vec!["a.example", "10.0.0.1", "localhost", "fd00::1", "198.18.0.1", "8.8.8.8"]),
        address in prop::sample::select(vec!["8.8.8.8", "10.0.0.1", "127.0.0.1", "198.18.0.1", "fd00::1", "fe80::1"]),
        flags in any::<[bool; 6]>(),
        less in any::<[bool; 6]>(),
    ) {
        let policy = |flags: [bool; 6]| SsrfPolicy {
            allow_private_network: flags[0],
            allow_rfc2544_benchmark_range: flags[1],
            allow_ipv6_unique_local_range: flags[2],
            allowed_hostnames: if flags[3] { vec![host.to_owned()] } else { Vec::new() },
            blocked_hostnames: if flags[4] { Vec::new() } else { vec![host.to_owned()] },
            hostname_allowlist: if flags[5] { Vec::new() } else { vec!["*.example".to_owned()] },
            ..SsrfPolicy::default()
        };
        let answers = [LookupAddress { address: address.to_owned(), family: if address.contains(':') { 6 } else { 4 } }];
        let fewer = std::array::from_fn(|i| flags[i] && less[i]);
        if policy(fewer).check_lookup(host, &answers).is_ok() {
            prop_assert!(policy(flags).check_lookup(host, &answers).is_ok());
        }
    }
}
