//! OpenClaw's gateway: out of reach, and nobody listens in its place.

use std::fs;
use std::net::TcpListener;

use guard_tests::{World, ended, is_root};

use super::{Listener, check, each, natively, own_addresses, shown, tried, world};

#[test]
fn no_address_of_this_host_leads_to_it() {
    let (gateway, other) = (Listener::everywhere(), Listener::everywhere());
    let world = World::open();
    let own = own_addresses();
    let count = own.len();
    for kind in ["tcp", "mptcp"] {
        let tries = each(kind, &own, gateway.port);
        let (said, ended) = tried(&world, Some(gateway.port), &tries);
        assert_eq!(said, vec!["EACCES"; count], "{kind} {own:?}: {}", ended.stderr);
        assert_eq!(gateway.reached(), 0, "{kind}");
        let line = format!(
            "openclaw-guard: denied connect 127.0.0.1:{} (network.connect.gateway \"deny\")",
            gateway.port
        );
        assert!(ended.stderr.lines().any(|said| said == line), "{}", ended.stderr);
    }
    let denied = world.audit().into_iter().filter(|line| line["operation"] == "connect").collect::<Vec<_>>();
    assert_eq!(denied.len(), 2 * count);
    assert!(
        denied.iter().any(|line| line["path"] == format!("127.0.0.1:{}", gateway.port).as_str()
            && line["verdict"] == "deny"),
        "{denied:?}"
    );
    // Without the guard all of them lead there, and with it to every other port.
    assert_eq!(natively(&world, &each("tcp", &own, gateway.port)), vec!["ok"; count], "{own:?}");
    assert_eq!(gateway.reached(), count);
    let (said, ended) = tried(&world, Some(gateway.port), &each("tcp", &own, other.port));
    assert_eq!(said, vec!["ok"; count], "{own:?}: {}", ended.stderr);
    assert_eq!(other.reached(), count);
}

#[test]
fn check_says_the_same() {
    let gateway = Listener::everywhere();
    let world = World::open();
    for host in own_addresses() {
        let Some(address) = shown(&host, gateway.port) else { continue };
        let said = ended(check(&world, gateway.port).args(["--connect", &address]));
        assert_eq!(said.status, 1, "{address}: {said:?}");
        assert!(
            said.stdout.starts_with(&format!("deny connect {address}\n  network.connect.gateway")),
            "{}",
            said.stdout
        );
    }
    for address in ["203.0.113.7", "127.0.0.1"] {
        let port = if address == "127.0.0.1" { 1 } else { gateway.port };
        let said = ended(check(&world, gateway.port).args(["--connect", &format!("{address}:{port}")]));
        assert_eq!((said.status, said.stdout.starts_with("allow connect")), (0, true), "{said:?}");
    }
    let said = ended(check(&world, gateway.port).args(["--bind", &format!("0.0.0.0:{}", gateway.port)]));
    assert_eq!(said.status, 1, "{said:?}");
}

/// Whoever listens there while the gateway is down is told its token.
#[test]
fn nobody_listens_in_its_place() {
    // Free a moment ago, and nobody else's: the port is told to the guard alone.
    let free = TcpListener::bind("[::]:0").expect("a listener").local_addr().expect("an address").port();
    let hosts =
        ["127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0"].map(str::to_owned);
    let tries = each("tcpbind", &hosts, free);
    let world = World::open();
    let (said, ended) = tried(&world, Some(free), &tries);
    assert_eq!(said, ["EACCES"; 6], "{}", ended.stderr);
    assert!(
        ended.stderr.contains(&format!("denied bind 127.0.0.1:{free} (network.connect.gateway \"deny\")")),
        "{}",
        ended.stderr
    );
    assert!(world.audit().iter().any(|line| line["operation"] == "bind" && line["verdict"] == "deny"));
    // UDP is not what it speaks, another port is not its own, and no port in particular neither.
    let fine = [each("udpbind", &hosts, free), each("tcpbind", &hosts[..1], 0)].concat();
    assert_eq!(tried(&world, Some(free), &fine).0, ["ok"; 7]);
    assert_eq!(tried(&world, Some(1), &each("tcpbind", &hosts[..1], free)).0, ["ok"]);
    let open = super::world(r#"{"gateway": "allow"}"#);
    assert_eq!(tried(&open, Some(free), &each("tcpbind", &hosts[..1], free)).0, ["ok"]);
}

/// AF_UNSPEC is AF_INET to bind(2).
#[test]
fn no_family_is_no_way_around() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a listener").local_addr().expect("an address").port();
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

#[test]
fn allowed_it_is_reached() {
    let gateway = Listener::everywhere();
    let world = world(r#"{"gateway": "allow"}"#);
    let (said, ended) = tried(&world, Some(gateway.port), &each("tcp", &own_addresses(), gateway.port));
    assert!(said.iter().all(|said| said == "ok"), "{said:?} {}", ended.stderr);
    assert_eq!(gateway.reached(), said.len());
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

/// Which ports of these two are denied, with this openclaw.json.
fn denied(world: &World, gateway: Option<u16>, listeners: &[&Listener; 2]) -> (Vec<bool>, String) {
    let tries = listeners.map(|listener| format!("tcp 127.0.0.1 {}", listener.port));
    let (said, ended) = tried(world, gateway, &tries);
    (said.iter().map(|said| said == "EACCES").collect(), ended.stderr)
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
    // Both count where they differ.
    assert_eq!(denied(&world, Some(two.port), &listeners).0, [true, true]);
    // Elsewhere by its own variable, and then that file is out of the tree's reach as well.
    let elsewhere = world.write("elsewhere.json5", format!("{{gateway: {{port: {}}}}}", two.port));
    let mut command = world.command();
    command.env("OPENCLAW_CONFIG_PATH", &elsewhere).args(["--", "python3", "-S", "-c", super::TRY]);
    let ended_there =
        ended(command.args(listeners.map(|listener| format!("tcp 127.0.0.1 {}", listener.port))));
    assert_eq!(ended_there.stdout, "ok\nEACCES\n", "{}", ended_there.stderr);
    let mut command = world.command();
    command.env("OPENCLAW_CONFIG_PATH", &elsewhere).args(["--", "cat"]).arg(&elsewhere);
    assert!(ended(&mut command).stderr.contains("denied read"));
}

#[test]
fn a_configuration_that_cannot_be_read_is_told_and_the_default_counts() {
    let world = World::open();
    let default = ["tcp 127.0.0.1 18789".to_owned()];
    assert_eq!(tried(&world, None, &default).0, ["EACCES"]);
    let path = world.write("home/.openclaw/openclaw.json", "{gateway: {port: ");
    let (said, ended) = tried(&world, None, &default);
    assert_eq!(said, ["EACCES"]);
    assert!(ended.stderr.contains("openclaw.json: gateway.port cannot be told: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("denies port 18789 as well"), "{}", ended.stderr);
    if !is_root() {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("a mode");
        let (said, ended) = tried(&world, None, &default);
        assert_eq!(said, ["EACCES"]);
        assert!(ended.stderr.contains("Permission denied"), "{}", ended.stderr);
    }
    // A FIFO holds nobody up.
    fs::remove_file(&path).expect("a file");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    assert!(tried(&world, None, &default).1.stderr.contains("no plain file"));
}
