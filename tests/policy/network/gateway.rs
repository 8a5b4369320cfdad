//! OpenClaw's gateway: the tree cannot reach it, and cannot listen in its place.

use std::fs;
use std::process::Command;

use guard_tests::{World, ended, free_port, is_root, skip};

use super::{Listener, check, each, natively, own_addresses, reachable_addresses, shown, tried, world};

#[test]
fn no_address_of_this_host_reaches_the_gateway() {
    let (gateway, other) = (Listener::everywhere(), Listener::everywhere());
    let world = World::open();
    let own = own_addresses();
    let count = own.len();
    for kind in ["tcp", "mptcp"] {
        let tries = each(kind, &own, gateway.port);
        let (results, ended) = tried(&world, Some(gateway.port), &tries);
        assert_eq!(results, vec!["EACCES"; count], "{kind} {own:?}: {}", ended.stderr);
        assert_eq!(gateway.reached(), 0, "{kind}");
        let line = format!(
            "openclaw-guard: denied connect 127.0.0.1:{} (network.connect.gateway \"deny\")",
            gateway.port
        );
        assert!(ended.stderr.lines().any(|text| text == line), "{}", ended.stderr);
    }
    let denied = world.audit().into_iter().filter(|line| line["operation"] == "connect").collect::<Vec<_>>();
    assert_eq!(guard_tests::calls(&denied), 2 * count as u64);
    assert!(
        denied.iter().any(|line| line["path"] == format!("127.0.0.1:{}", gateway.port).as_str()
            && line["verdict"] == "deny"),
        "{denied:?}"
    );
    // Without the guard all of these addresses lead there; with the guard they lead to every other port.
    assert_eq!(natively(&world, &each("tcp", &own, gateway.port)), vec!["ok"; count], "{own:?}");
    assert_eq!(gateway.reached(), count);
    let reachable = reachable_addresses();
    let (results, ended) = tried(&world, Some(gateway.port), &each("tcp", &reachable, other.port));
    assert_eq!(results, vec!["ok"; reachable.len()], "{reachable:?}: {}", ended.stderr);
    assert_eq!(other.reached(), reachable.len());
}

#[test]
fn a_session_that_is_learned_from_reaches_no_gateway_that_guard_json_names() {
    const CONNECT: &str = "import socket, sys\ntry: socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print('ok')\nexcept OSError as e: print(e.errno)";
    const PROXIED: &str = "import os, socket, sys\nwhere = os.environ['http_proxy'].split('/')[2].split(':')
s = socket.create_connection((where[0], int(where[1])))
s.sendall(b'GET http://localhost:%s/ HTTP/1.1\\r\\nHost: localhost:%s\\r\\n\\r\\n' % ((sys.argv[1].encode(),) * 2)); print(s.recv(12)[9:].decode())";
    let gateway = Listener::everywhere();
    let url = format!("ws://127.0.0.1:{}", gateway.port);
    let world = World::open().policy_text(|text| {
        text.replacen('{', &format!("{{\"approvals\": {{\"gateway\": {{\"url\": \"{url}\"}}}}, "), 1)
    });
    for (script, result) in [(CONNECT, "13\n"), (PROXIED, "403\n")] {
        let mut command = world.command();
        command.args(["learn", "-o"]).arg(world.root().join("learned.json"));
        command.args(["--", "python3", "-S", "-c", script, &gateway.port.to_string()]);
        let ended = ended(&mut command);
        assert_eq!(ended.stdout, result, "{}", ended.stderr);
    }
    assert_eq!(gateway.reached(), 0);
}

#[test]
fn check_says_the_same() {
    let gateway = Listener::everywhere();
    let world = World::open();
    for host in own_addresses() {
        let Some(address) = shown(&host, gateway.port) else { continue };
        let output = ended(check(&world, gateway.port).args(["--connect", &address]));
        assert_eq!(output.status, 1, "{address}: {output:?}");
        assert!(
            output.stdout.starts_with(&format!("deny connect {address}\n  network.connect.gateway")),
            "{}",
            output.stdout
        );
    }
    for address in ["203.0.113.7", "127.0.0.1"] {
        let port = if address == "127.0.0.1" { 1 } else { gateway.port };
        let output = ended(check(&world, gateway.port).args(["--connect", &format!("{address}:{port}")]));
        assert_eq!((output.status, output.stdout.starts_with("allow connect")), (0, true), "{output:?}");
    }
    let output = ended(check(&world, gateway.port).args(["--bind", &format!("0.0.0.0:{}", gateway.port)]));
    assert_eq!(output.status, 1, "{output:?}");
}

/// Whoever listens there while the gateway is down receives its token.
#[test]
fn nobody_listens_in_the_gateways_place() {
    let free = free_port();
    let hosts =
        ["127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0"].map(str::to_owned);
    let tries = each("tcpbind", &hosts, free);
    let world = World::open();
    let (results, ended) = tried(&world, Some(free), &tries);
    assert_eq!(results, ["EACCES"; 6], "{}", ended.stderr);
    assert!(
        ended.stderr.contains(&format!("denied bind 127.0.0.1:{free} (network.connect.gateway \"deny\")")),
        "{}",
        ended.stderr
    );
    assert!(world.audit().iter().any(|line| line["operation"] == "bind" && line["verdict"] == "deny"));
    // The gateway does not use UDP, and neither another port nor port 0 is its own.
    let fine = [each("udpbind", &hosts, free), each("tcpbind", &hosts[..1], 0)].concat();
    assert_eq!(tried(&world, Some(free), &fine).0, ["ok"; 7]);
    assert_eq!(tried(&world, Some(1), &each("tcpbind", &hosts[..1], free)).0, ["ok"]);
    let open = super::world(r#"{"gateway": "allow"}"#);
    assert_eq!(tried(&open, Some(free), &each("tcpbind", &hosts[..1], free)).0, ["ok"]);
}

/// bind(2) treats AF_UNSPEC as AF_INET.
#[test]
fn no_family_is_no_way_around() {
    let free = free_port();
    let script = r#"
import ctypes, errno, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket()
address = struct.pack("=H", 0) + struct.pack(">H", int(sys.argv[1])) + bytes(12)
print(errno.errorcode[ctypes.get_errno()] if libc.bind(s.fileno(), address, 16) else "ok")
"#;
    let world = World::open();
    let bound = |gateway: u16| {
        let mut command = world.command();
        command.env("OPENCLAW_GATEWAY_PORT", gateway.to_string());
        ended(command.args(["--", "python3", "-S", "-c", script, &free.to_string()])).stdout
    };
    assert_eq!(bound(free), "EACCES\n");
    assert_eq!(bound(1), "ok\n");
}

/// The socket becomes an IPv4 one while its binding is judged, and its peer's reset unbinds it. The guard
/// waits meanwhile for the page of memory that holds the address.
#[test]
fn a_socket_that_changes_its_family_is_no_way_around() {
    let free = free_port();
    let script = r#"
import ctypes, mmap, os, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.bind.argtypes = ctypes.c_int, ctypes.c_void_p, ctypes.c_uint
port, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
with open("page", "wb") as f: f.write(struct.pack("=H", 0) + struct.pack(">H", port) + bytes(65532)); os.fsync(f.fileno())
page = os.open("page", os.O_RDWR)
server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
got = False
while not got and time.monotonic() < end:
    s = socket.create_connection(("::ffff:127.0.0.1", server.getsockname()[1])); peer, _ = server.accept()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.posix_fadvise(page, 0, 0, os.POSIX_FADV_DONTNEED)
    there = mmap.mmap(page, 4096)
    address = ctypes.c_char.from_buffer(there)
    t = threading.Thread(target=libc.bind, args=(s.fileno(), ctypes.addressof(address), 16)); t.start()
    s.setsockopt(socket.IPPROTO_IPV6, 1, socket.AF_INET); peer.close()
    t.join(); del address; there.close()
    got = s.getsockname()[1] == port; s.close()
print("bound" if got else "not bound")
"#;
    let world = World::open();
    let mut command = world.command();
    command.env("OPENCLAW_GATEWAY_PORT", free.to_string());
    let arguments = ["python3", "-S", "-c", script, &free.to_string()];
    let guarded = ended(command.arg("--").args(arguments).arg("2"));
    assert_eq!(guarded.stdout, "not bound\n", "{}", guarded.stderr);
    let native = ended(world.native_command().args(arguments).arg("60"));
    assert_eq!(native.stdout, "bound\n", "{}", native.stderr);
}

/// `ip route add local`: this host is reached at addresses that no interface has.
#[test]
fn routes_to_this_host_are_its_own() {
    let world = World::open();
    let script = r#"
ip link set lo up && ip -6 route add local 2001:db8:77::/64 dev lo && ip route add local 203.0.113.0/24 dev lo || exit 9
exec "$@""#;
    let inside = r#"
import errno, socket, subprocess, sys
if sys.argv[1:]:
    server = socket.create_server(("::", 18789), family=socket.AF_INET6, dualstack_ipv6=True)
    sys.exit(subprocess.run(sys.argv[1:]).returncode)
for host in "2001:db8:77::5", "203.0.113.9", "::ffff:203.0.113.9":
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try: s.connect((host, 18789)); print("ok")
    except OSError as e: print(errno.errorcode[e.errno])
"#;
    let reached = |command: &Command| {
        let mut own = Command::new("unshare");
        own.args(["-n", "sh", "-c", script, "sh", "python3", "-S", "-c", inside]);
        own.arg(command.get_program()).args(command.get_args()).args(["python3", "-S", "-c", inside]);
        own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        own.current_dir(world.work());
        ended(&mut own)
    };
    if !is_root() || !guard_tests::has(&["unshare", "ip"]) {
        return skip("a network of its own, which root can make");
    }
    let native = reached(Command::new("env").arg("-i"));
    if native.status == 9 {
        return skip("local routes");
    }
    assert_eq!(native.stdout, "ok\nok\nok\n", "{}", native.stderr);
    let guarded = reached(world.command().arg("--"));
    assert_eq!(guarded.stdout, "EACCES\nEACCES\nEACCES\n", "{}", guarded.stderr);
}

#[test]
fn an_allowed_gateway_is_reached() {
    let gateway = Listener::everywhere();
    let world = world(r#"{"gateway": "allow"}"#);
    let (results, ended) =
        tried(&world, Some(gateway.port), &each("tcp", &reachable_addresses(), gateway.port));
    assert!(results.iter().all(|results| results == "ok"), "{results:?} {}", ended.stderr);
    assert_eq!(gateway.reached(), results.len());
}

#[test]
fn observing_blocks_nothing() {
    let gateway = Listener::everywhere();
    let world = World::open();
    let mut command = world.command();
    command.env("OPENCLAW_GATEWAY_PORT", gateway.port.to_string());
    command.args([
        "--observe",
        "--",
        "python3",
        "-S",
        "-c",
        super::TRY,
        &format!("tcp ::1 {}", gateway.port),
    ]);
    let ended = ended(&mut command);
    assert_eq!(ended.stdout, "ok\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("would have denied connect [::1]:"), "{}", ended.stderr);
}

/// Returns which ports of these two are denied, given the openclaw.json of this world.
fn denied(world: &World, gateway: Option<u16>, listeners: &[&Listener; 2]) -> (Vec<bool>, String) {
    let tries = listeners.map(|listener| format!("tcp 127.0.0.1 {}", listener.port));
    let (results, ended) = tried(world, gateway, &tries);
    (results.iter().map(|result| result == "EACCES").collect(), ended.stderr)
}

#[test]
fn its_port_is_what_the_environment_and_openclaw_json_say() {
    let (one, two) = (Listener::everywhere(), Listener::everywhere());
    let listeners = [&one, &two];
    let world = World::open();
    const CONFIG: &str = "home/.openclaw/openclaw.json";
    assert_eq!(denied(&world, None, &listeners).0, [false, false]);
    world.write(CONFIG, format!("// JSON5\n{{gateway: {{port: {}, auth: {{token: 'x'}},}},}}\n", one.port));
    assert_eq!(denied(&world, None, &listeners).0, [true, false]);
    // Both count if they differ.
    assert_eq!(denied(&world, Some(two.port), &listeners).0, [true, true]);
    // OpenClaw's variable may name another file; then that file is out of the tree's reach as well.
    let elsewhere = world.write("elsewhere.json5", format!("{{gateway: {{port: {}}}}}", two.port));
    let mut command = world.command();
    command.env("OPENCLAW_CONFIG_PATH", &elsewhere).args(["--", "python3", "-S", "-c", super::TRY]);
    let ended_there =
        ended(command.args(listeners.map(|listener| format!("tcp 127.0.0.1 {}", listener.port))));
    assert_eq!(ended_there.stdout, "ok\nEACCES\n", "{}", ended_there.stderr);
    let mut command = world.command();
    command.env("OPENCLAW_CONFIG_PATH", &elsewhere).args(["--", "cat"]).arg(&elsewhere);
    assert!(ended(&mut command).stderr.contains("denied read"));
    // The tree cannot read the copies that OpenClaw leaves beside it either.
    let copy = world.write("elsewhere.json5.bak", "token");
    let mut command = world.command();
    command.env("OPENCLAW_CONFIG_PATH", &elsewhere).args(["--", "cat"]).arg(&copy);
    assert!(ended(&mut command).stderr.contains("denied read"));
}

#[test]
fn where_clients_are_sent_is_closed_too() {
    let (one, two) = (Listener::everywhere(), Listener::everywhere());
    let world = World::open();
    world.write(
        "home/.openclaw/openclaw.json",
        format!("{{gateway: {{mode: 'remote', remote: {{url: 'ws://localhost:{}'}}}}}}", one.port),
    );
    let mut command = world.command();
    command.env("OPENCLAW_GATEWAY_URL", format!("ws://127.0.0.1:{}", two.port));
    command.args(["--", "python3", "-S", "-c", super::TRY]);
    let ended = ended(command.args([&one, &two].map(|listener| format!("tcp 127.0.0.1 {}", listener.port))));
    assert_eq!(ended.stdout, "EACCES\nEACCES\n", "{}", ended.stderr);
}

#[test]
fn an_unreadable_configuration_is_reported_and_the_default_counts() {
    let world = World::open();
    let default = ["tcp 127.0.0.1 18789".to_owned()];
    assert_eq!(tried(&world, None, &default).0, ["EACCES"]);
    let path = world.write("home/.openclaw/openclaw.json", "{gateway: {port: ");
    let (results, ended) = tried(&world, None, &default);
    assert_eq!(results, ["EACCES"]);
    assert!(ended.stderr.contains("openclaw.json: cannot read gateway.port: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("denies port 18789 as well"), "{}", ended.stderr);
    if !is_root() {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("a mode");
        let (results, ended) = tried(&world, None, &default);
        assert_eq!(results, ["EACCES"]);
        assert!(ended.stderr.contains("Permission denied"), "{}", ended.stderr);
    }
    // A FIFO in its place blocks nobody.
    fs::remove_file(&path).expect("a file");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    assert!(tried(&world, None, &default).1.stderr.contains("not a regular file"));
}
