//! `network.web` in networks of the test's own: one has the tree, the guard and its proxy, the other every host.

mod asked;
mod learned;
mod limits;
mod lookups;
mod registries;

use std::process::Command;

use guard_tests::{Ended, World, ended, is_root, program, skip};

const OUTSIDE: &str = include_str!("outside.py");
const DIRECT: &str = include_str!("direct.py");
const PROXIED: &str = include_str!("proxied.py");

/// Joins a namespace to that of the hosts, and runs the rest of the words in it: 9 where the kernel has no such links. The
/// first word is a directory for the hosts' files.
const INSIDE: &str = r#"
home=$1; shift
unshare -n python3 -S -c "$OUTSIDE" "$home" >/dev/null & server=$!
trap 'kill $server; wait $server 2>/dev/null' EXIT
until [ "$(readlink /proc/$server/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
ip link add v0 type veth peer name v1 netns $server || exit 9
ip link set lo up && ip link set v0 up && ip address add 192.0.2.1/24 dev v0 && ip route add default dev v0 || exit 9
ip address add 2001:db8::1/64 dev v0 nodad && ip -6 route add default dev v0 || exit 9
echo "nameserver 10.53.0.1" > "$home/resolv" && mount --bind "$home/resolv" /etc/resolv.conf || exit 9
echo "hosts: files dns" > "$home/nss" && mount --bind "$home/nss" /etc/nsswitch.conf || exit 9
i=0; until [ -e "$home/ready" ]; do i=$((i + 1)); [ $i -lt 500 ] || exit 9; sleep 0.02; done
"$@"
"#;

/// A world with this `network`, in which only sockets are judged.
fn world(network: &str) -> World {
    World::open().policy_text(|text| text.replacen('{', &format!("{{\"network\": {network}, "), 1))
}

/// The rules that most tests have.
fn ruled() -> World {
    let names = ["private", "meta", "alias", "mixed", "own", "loop", "rebind"];
    let names = names.map(|name| format!(", \"{name}.test\"")).concat();
    world(&format!(
        r#"{{"web": {{"allowedDomains": ["good.test", "*.sub.test"{names}], "deniedDomains": ["bad.sub.test"]}}}}"#
    ))
}

/// A command that runs another one there; `None` where there is no such place.
fn inside(world: &World, command: &Command) -> Option<Command> {
    if !is_root() || !guard_tests::has(&["unshare", "ip", "mount", "python3", "openssl"]) {
        skip("networks of its own, which root can make with unshare, ip, mount and openssl");
        return None;
    }
    let home = world.root().join("outside");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).expect("a directory");
    let mut key = Command::new("openssl");
    key.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=good.test"]);
    key.args(["-addext", "subjectAltName=DNS:good.test,DNS:a.sub.test,DNS:evil.test", "-keyout"]);
    key.arg(home.join("key.pem")).arg("-out").arg(home.join("cert.pem"));
    assert_eq!(ended(&mut key).status, 0, "a certificate");
    let mut inside = Command::new("unshare");
    inside.args(["-n", "-m", "sh", "-c", INSIDE, "sh"]).arg(&home).env("OUTSIDE", OUTSIDE);
    inside.arg(command.get_program()).args(command.get_args());
    inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    inside.current_dir(world.work());
    Some(inside)
}

/// Runs a command there; `None` where there is no such place.
fn there(world: &World, command: &Command) -> Option<Ended> {
    let ended = ended(&mut inside(world, command)?);
    if ended.status == 9 {
        skip(&format!("links between networks: {}", ended.stderr));
        return None;
    }
    Some(ended)
}

/// Runs a guarded command there.
fn guarded(world: &World, argv: &[&str]) -> Option<Ended> {
    let mut command = world.command();
    command.arg("--").args(argv);
    there(world, &command)
}

/// What has arrived at the hosts: `ADDRESS REQUEST`.
fn arrived(world: &World) -> Vec<String> {
    let text = world.read("outside/arrived").unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The addresses, other than the name server's and the allowed host's, at which something has arrived.
fn strangers(world: &World) -> Vec<String> {
    let known =
        |line: &String| ["dns ", "tls ", "93.184.216.34 "].iter().any(|start| line.starts_with(start));
    arrived(world).into_iter().filter(|line| !known(line)).collect()
}

fn pairs(stdout: &str) -> Vec<(&str, &str)> {
    stdout.lines().filter_map(|line| line.split_once(' ')).collect()
}

#[test]
fn no_socket_leads_past_the_proxy() {
    let world = ruled();
    let mut native = Command::new(program("python3"));
    native.args(["-S", "-c", DIRECT]);
    let Some(native) = there(&world, &native) else { return };
    let ways = pairs(&native.stdout).len();
    assert!(ways >= 30, "{}", native.stderr);
    let shut: Vec<_> =
        pairs(&native.stdout).into_iter().filter(|(_, result)| *result != "ok").map(|pair| pair.0).collect();
    assert!(ways - shut.len() >= 24, "{} of {ways} ways lead nowhere natively: {shut:?}", shut.len());
    let came = strangers(&world);
    assert!(came.len() >= 20, "{} lines of what came: {came:?}", came.len());
    let Some(guarded) = guarded(&world, &["python3", "-S", "-c", DIRECT]) else { return };
    let results = pairs(&guarded.stdout);
    assert_eq!(results.len(), ways, "{}", guarded.stderr);
    assert_eq!(arrived(&world), Vec::<String>::new(), "{}", guarded.stdout);
    // The guard's proxy answers in place of the name server.
    let open: Vec<_> = results.iter().filter(|(_, result)| *result == "ok").map(|pair| pair.0).collect();
    assert_eq!(open, ["tcp-dns"]);
    for line in [
        "denied connect 93.184.216.35:80 (network.web: only the guard's proxy (HTTPS_PROXY) leads to other hosts)",
        "denied connect 93.184.216.35:9 (network.web: only the guard's proxy (HTTPS_PROXY) leads to other hosts)",
        "denied connect 10.53.0.1:53 (network.web: the guard's proxy looks names up, and no program does)",
        "denied connect secret.evil.test (add \"secret.evil.test\" to network.web.allowedDomains to allow it)",
    ] {
        assert!(guarded.stderr.contains(line), "{}", guarded.stderr);
    }
}

#[test]
fn the_proxy_serves_what_is_allowed_and_nothing_else() {
    let world = ruled();
    let Some(guarded) = guarded(&world, &["python3", "-S", "-c", PROXIED]) else { return };
    let results = pairs(&guarded.stdout);
    assert!(results.len() >= 70, "{}\n{}", guarded.stdout, guarded.stderr);
    let served: Vec<_> =
        results.iter().filter(|(_, result)| result.starts_with("200")).map(|pair| pair.0).collect();
    let expected = [
        "allowed",
        "allowed-dot",
        "allowed-below",
        "allowed-tunnel",
        "smuggled-next",
        "half-closed",
        "http-in-tunnel",
        "socks",
        "rebind-first",
    ];
    assert_eq!(served, expected, "{}", guarded.stdout);
    // The server's part of the handshake is what is neither a status nor an alert.
    let others: Vec<_> = results.iter().filter(|(_, result)| *result == "other").map(|pair| pair.0).collect();
    assert_eq!(others, ["sni", "sni-in-records", "socks-sni"], "{}", guarded.stdout);
    let result = |name: &str| results.iter().find(|pair| pair.0 == name).map_or("", |pair| pair.1);
    assert_eq!(result("smuggled-next"), "200, served 1");
    for name in
        ["sni-other", "sni-other-in-records", "sni-none", "sni-twice", "sni-hidden", "socks-sni-other"]
    {
        assert_eq!(result(name), "alert", "{name}");
    }
    assert_eq!(result("socks-host-other"), "403");
    for name in [
        "not-listed",
        "private",
        "alias",
        "user",
        "address",
        "address-public",
        "mapped",
        "loopback",
        "port-0",
        "empty",
    ] {
        assert_eq!(result(&format!("socks-{name}")), "reply 2", "{name}: not allowed by the rules");
    }
    for name in ["path", "two-ports", "nul"] {
        assert_eq!(result(&format!("socks-{name}")), "reply 8", "{name}: no address");
    }
    for name in ["bind", "udp"] {
        assert_eq!(result(&format!("socks-{name}")), "reply 7", "{name}: no command of the proxy's");
    }
    for name in ["password", "no-method"] {
        assert_eq!(result(&format!("socks-{name}")), "method 05ff", "{name}");
    }
    // Both get as far as the choice of a method; half an address is told to have failed.
    assert_eq!(result("socks-garbage"), "bytes 0500");
    assert_eq!(result("socks-half"), "bytes 050005050001000000000000");
    // What the proxy leaves unread makes the end a reset, which may overtake the alert.
    for name in ["tls-broken", "tls-endless"] {
        assert!(["alert", "OSError"].contains(&result(name)), "{name}: {}", result(name));
    }
    for name in ["big-head", "many-heads"] {
        assert_eq!(result(name), "431", "{name}");
    }
    assert_eq!(strangers(&world), Vec::<String>::new());
    let odd: Vec<_> =
        arrived(&world).into_iter().filter(|line| line.contains("evil") || line.contains("/no")).collect();
    assert!(odd.is_empty(), "{odd:?}");
    for line in [
        "denied connect evil.test:80 (add \"evil.test\" to network.web.allowedDomains to allow it)",
        "denied connect bad.sub.test:80 (network.web.deniedDomains \"bad.sub.test\")",
        "denied connect private.test:80 (the name leads to 10.0.0.1, a private address that network.connect.allow does not name)",
        "denied connect meta.test:80 (a metadata address that network.connect.allow does not name)",
        "denied connect good.test:443 (TLS for another name, \"evil.test\")",
        "denied connect good.test:443 (TLS with a hidden name (Encrypted Client Hello); turn it off in the program)",
        "denied connect good.test:80 (HTTP for another host, \"evil.test\")",
    ] {
        assert!(guarded.stderr.contains(line), "{line}\n{}", guarded.stderr);
    }
}

/// A name that is not allowed is told to no name server.
#[test]
fn names_that_are_not_allowed_are_not_looked_up() {
    let world = ruled();
    let script =
        "curl -sS http://secret.evil.test/; curl -sS http://good.test/ok; getent hosts secret.evil.test";
    let Some(guarded) = guarded(&world, &["sh", "-c", script]) else { return };
    assert!(guarded.stdout.contains("GET /ok HTTP/1.1"), "{}{}", guarded.stdout, guarded.stderr);
    let asked: Vec<_> = arrived(&world).into_iter().filter(|line| line.starts_with("dns ")).collect();
    assert!(!asked.is_empty() && asked.iter().all(|line| line.starts_with("dns good.test ")), "{asked:?}");
}

/// Programs with their own ways to take a proxy from the environment.
#[test]
fn programs_take_the_proxy() {
    let world = ruled();
    let script = r#"
cert=$1
curl -sS --cacert "$cert" https://good.test/curl
curl -sS --cacert "$cert" https://evil.test/curl || echo "curl $?"
curl -sS --proxy "socks5h://${https_proxy#*://}" --cacert "$cert" https://good.test/socks
curl -sS --proxy "socks5h://${https_proxy#*://}" --cacert "$cert" https://evil.test/socks || echo "curl $?"
python3 -c '
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[1])
for name in "good", "evil":
    try: print(urllib.request.urlopen(f"https://{name}.test/python", context=context).read().decode(), end="")
    except OSError as error: print("python", error)
' "$cert"
GIT_SSL_CAINFO=$cert git ls-remote https://evil.test/git 2>&1 | grep -c 403
"#;
    let cert = world.root().join("outside/cert.pem").display().to_string();
    let Some(guarded) = guarded(&world, &["sh", "-c", script, "sh", &cert]) else { return };
    let expected = "GET /curl HTTP/1.1 ['good.test']\ncurl 56\nGET /socks HTTP/1.1 ['good.test']\ncurl 97\nGET /python HTTP/1.1 ['good.test']\n\
                    python <urlopen error Tunnel connection failed: 403 Forbidden>\n1\n";
    assert_eq!(guarded.stdout, expected, "{}", guarded.stderr);
    assert_eq!(strangers(&world), Vec::<String>::new());
}

#[test]
fn each_connection_has_a_line_in_the_log() {
    let world = ruled();
    let script = "curl -sS http://good.test/ok > /dev/null; curl -sSk https://good.test/ok > /dev/null; curl -s http://evil.test/; :";
    let Some(guarded) = guarded(&world, &["sh", "-c", script]) else { return };
    assert_eq!(guarded.status, 0, "{}", guarded.stderr);
    let lines = world.audit();
    let moved: Vec<_> = lines.iter().filter(|line| line["operation"] == "web").collect();
    let names: Vec<_> = moved.iter().map(|line| line["name"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["good.test:80", "good.test:443"], "{lines:#?}");
    for line in moved {
        assert_eq!((&line["address"], &line["class"]), (&"93.184.216.34".into(), &"public".into()), "{line}");
        assert!(line["sent"].as_u64() > Some(50) && line["received"].as_u64() > Some(50), "{line}");
    }
    assert_eq!(world.denied(), ["connect evil.test:80"], "{lines:#?}");
}

/// A connection that is open when the session ends has its line, too.
#[test]
fn open_connections_have_a_line_at_the_end() {
    let script = r#"
import os, socket
s = socket.create_connection(("127.0.0.1", int(os.environ["http_proxy"].rsplit(":", 1)[1])))
s.sendall(b"GET http://good.test/stuck HTTP/1.1\r\nHost: good.test\r\n\r\n")
print(s.recv(12).decode())
"#;
    let world = ruled();
    let Some(guarded) = guarded(&world, &["python3", "-S", "-c", script]) else { return };
    assert_eq!(guarded.stdout, "HTTP/1.1 200\n", "{}", guarded.stderr);
    let lines = world.audit();
    let moved: Vec<_> = lines.iter().filter(|line| line["operation"] == "web").collect();
    assert_eq!(moved.len(), 1, "{lines:#?}");
    assert_eq!(moved[0]["name"], "good.test:80");
    assert!(moved[0]["sent"].as_u64() > Some(50) && moved[0]["received"].as_u64() > Some(40), "{moved:?}");
}
