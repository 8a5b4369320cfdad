//! Programs that do not know the proxy: what their look-ups find, and where their connections lead.

use guard_tests::{has, skip};

use super::asked::{MINUTES, ON_MISS, asked};
use super::{arrived, guarded, pairs, ruled, strangers};

const UNKNOWING: &str = include_str!("unknowing.py");

/// Without the variables that name the proxy.
pub(super) const NO_PROXY: &str =
    "unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NODE_USE_ENV_PROXY;";

#[test]
fn look_ups_find_what_may_be_reached() {
    let world = ruled();
    let Some(guarded) = guarded(&world, &["python3", "-S", "-c", UNKNOWING]) else { return };
    let expected = [
        ("a", "0 198.18.0.1"),
        ("again", "0 198.18.0.1"),
        ("below", "0 198.18.0.2"),
        ("denied", "3"),
        ("denied-below", "3"),
        ("address", "3"),
        ("local", "3"),
        ("root", "3"),
        ("aaaa", "0"),
        ("txt", "0"),
        ("https", "0"),
        ("two", "1"),
        ("update", "4"),
        ("stream", "0 198.18.0.1, 3, 0 198.18.0.2"),
        ("response", "0 198.18.0.1"),
        ("short", "0 198.18.0.1"),
        ("loop", "0 198.18.0.1"),
        ("long", "0 198.18.0.1"),
        ("connected", "ok"),
        ("mapped", "ok"),
        ("no-name", "EACCES"),
        ("datagram", "EACCES"),
        ("other-server", "EACCES"),
        ("flood", "10000 0 198.18.0.1"),
    ];
    assert_eq!(pairs(&guarded.stdout), expected, "{}", guarded.stderr);
    // No name server was asked, and nobody else reached.
    assert_eq!(arrived(&world), Vec::<String>::new());
    for line in [
        "denied connect evil.test (add \"evil.test\" to network.web.allowedDomains to allow it)",
        "denied connect bad.sub.test (network.web.deniedDomains \"bad.sub.test\")",
        "denied connect 198.18.255.254:80 (network.web: only the guard's proxy (HTTPS_PROXY) leads to other hosts)",
    ] {
        assert!(guarded.stderr.contains(line), "{}", guarded.stderr);
    }
}

/// The same programs as with the proxy, and what they were to be kept from.
#[test]
fn programs_work_without_the_proxys_variables() {
    let world = ruled();
    let script = r#"
cert=$1
curl -sS http://good.test/curl
curl -sS --cacert "$cert" https://good.test/tls
curl -sS http://evil.test/; echo "evil $?"
curl -sS http://private.test/; echo "private $?"
curl -sSk --resolve evil.test:443:198.18.0.1 https://evil.test/; echo "other $?"
curl -sS -H 'Host: evil.test' http://good.test/; echo "host $?"
curl -sS http://good.test:22/ssh
python3 -c '
import socket
s = socket.create_connection(("good.test", 22)); s.sendall(b"\0binary\r\n\r\n"); print("binary", s.recv(12))
'
python3 -c '
import ssl, sys, urllib.request
print(urllib.request.urlopen("https://a.sub.test/python", context=ssl.create_default_context(cafile=sys.argv[1])).read().decode(), end="")
' "$cert"
"#;
    let cert = world.root().join("outside/cert.pem").display().to_string();
    let script = [NO_PROXY, script].concat();
    let Some(guarded) = guarded(&world, &["sh", "-c", &script, "sh", &cert]) else { return };
    let lines: Vec<_> = guarded.stdout.lines().collect();
    let expected = [
        "GET /curl HTTP/1.1 ['good.test']",
        "GET /tls HTTP/1.1 ['good.test']",
        // CURLE_COULDNT_RESOLVE_HOST
        "evil 6",
        // CURLE_RECV_ERROR: what was sent is left unread.
        "private 56",
        // CURLE_SSL_CONNECT_ERROR
        "other 35",
    ];
    assert_eq!(lines[..5], expected, "{}\n{}", guarded.stdout, guarded.stderr);
    assert!(lines.contains(&"GET /ssh HTTP/1.1 ['good.test:22']"), "{}\n{}", guarded.stdout, guarded.stderr);
    assert!(lines.contains(&"GET /python HTTP/1.1 ['a.sub.test']"), "{}\n{}", guarded.stdout, guarded.stderr);
    assert_eq!(strangers(&world), Vec::<String>::new());
    assert!(
        !arrived(&world).iter().any(|line| line.contains("evil") || line.contains("binary")),
        "{:?}",
        arrived(&world)
    );
    for line in [
        "denied connect evil.test (add \"evil.test\" to network.web.allowedDomains to allow it)",
        "denied connect private.test:80 (the name leads to 10.0.0.1, a private address that network.connect.allow does not name)",
        "denied connect good.test:443 (TLS for another name, \"evil.test\")",
        "denied connect good.test:80 (HTTP for another host, \"evil.test\")",
    ] {
        assert!(guarded.stderr.contains(line), "{line}\n{}", guarded.stderr);
    }
}

#[test]
fn a_human_is_asked_about_them_once() {
    let script = [
        NO_PROXY,
        "curl -sk -o /dev/null -w '%{http_code} ' https://evil.test/1;",
        "curl -s -o /dev/null -w '%{http_code} ' http://a.evil.test/2;",
        "curl -s -o /dev/null -w '%{http_code} ' http://b.evil.test/3;",
    ]
    .concat();
    let answers = |world: &guard_tests::World| {
        for (to, by, decision) in [
            ("evil.test:443", "TLS", "allow-once"),
            ("a.evil.test:80", "plain HTTP", "allow-once"),
            ("b.evil.test:80", "plain HTTP", "deny"),
        ] {
            let question = world.answer(decision);
            assert_eq!((&question["resolvedPath"], &question["call"]), (&to.into(), &by.into()));
            assert_eq!(question["askedBy"][0]["name"], "curl", "{question}");
        }
    };
    if !has(&["curl"]) {
        return skip("curl");
    }
    let Some((world, ended)) = asked(ON_MISS, MINUTES, &script, answers) else { return };
    assert_eq!(ended.stdout, "200 200 000 ", "{}", ended.stderr);
    assert!(
        !arrived(&world).iter().any(|line| line.starts_with("dns b.evil.test ")),
        "{:?}",
        arrived(&world)
    );
}
