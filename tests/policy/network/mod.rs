//! `network.connect` against real listeners of the tests' own.

mod classes;
mod gateway;
mod native;
mod page;
mod settings;
mod shared;
mod ways;
mod web;

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use guard_tests::{Ended, World, ended};

/// A listener that records who has reached it.
struct Listener {
    port: u16,
    peers: Arc<Mutex<Vec<u16>>>,
}

impl Listener {
    /// Listens at every address of this host, of IPv4 and IPv6.
    fn everywhere() -> Listener {
        Listener::at("[::]:0")
    }

    fn at(address: &str) -> Listener {
        let listener = TcpListener::bind(address).expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let peers = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&peers);
        std::thread::spawn(move || {
            while let Ok((_, peer)) = listener.accept() {
                seen.lock().expect("no panic").push(peer.port());
            }
        });
        Listener { port, peers }
    }

    /// Returns how many clients have reached it so far.
    fn reached(&self) -> usize {
        // Clients are accepted in order: once the probe is, all before it have been.
        let probe = TcpStream::connect(("127.0.0.1", self.port)).expect("the listener");
        let own = probe.local_addr().expect("an address").port();
        guard_tests::until("the listener takes the probe", || {
            self.peers.lock().expect("no panic").contains(&own)
        });
        let mut peers = self.peers.lock().expect("no panic");
        peers.retain(|peer| *peer != own);
        peers.len()
    }
}

/// Tries each `KIND HOST PORT`, and prints the result of each on a line.
const TRY: &str = r#"
import ctypes, errno, socket, struct, sys
def send(s, by, address):
    control = [(socket.IPPROTO_IPV6, 67, struct.pack("i", 0))] if s.family == socket.AF_INET6 else [(socket.IPPROTO_IP, socket.IP_TTL, struct.pack("i", 64))]
    if by == "sendto": s.sendto(b"x", address)
    elif by == "sendmsg": s.sendmsg([b"x"], [], 0, address)
    elif by == "control": s.sendmsg([b"x"], control, 0, address)
    elif by == "connected": s.connect(("2a00::1" if s.family == socket.AF_INET6 else "93.184.216.34", 9)); s.sendto(b"x", address)
    else:
        raw = struct.pack("=H", s.family) + struct.pack(">H", address[1])
        raw += struct.pack("=I", 0) + socket.inet_pton(s.family, address[0].split("%")[0]) + struct.pack("=I", address[3]) if len(address) > 2 else socket.inet_aton(address[0]) + bytes(8)
        if by == "unspecified" and s.family == socket.AF_INET: raw = bytes(2) + raw[2:]
        libc = ctypes.CDLL(None, use_errno=True)
        name, text = ctypes.create_string_buffer(raw, len(raw)), ctypes.create_string_buffer(b"x")
        part = (ctypes.c_size_t * 2)(ctypes.addressof(text), 1)
        message = ctypes.create_string_buffer(struct.pack("=QIIQQQQIIII", ctypes.addressof(name), len(raw), 0, ctypes.addressof(part), 1, 0, 0, 0, 0, 0, 0), 64)
        if libc.sendmmsg(s.fileno(), message, 1, 0) < 0: raise OSError(ctypes.get_errno(), "")
for words in sys.argv[1:]:
    kind, host, port = words.split()
    family, _, _, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)[0]
    try:
        if kind == "mptcp": s = socket.socket(family, socket.SOCK_STREAM, 262)
        else: s = socket.socket(family, socket.SOCK_DGRAM if kind[:3] == "udp" else socket.SOCK_STREAM)
        if kind[3:] == "bind": s.bind(address)
        elif kind[3:4] == "-": send(s, kind[4:], address)
        else: s.connect(address)
        print("ok")
    except OSError as e: print(errno.errorcode[e.errno])
"#;

/// Returns a world with this `network.connect`, in which only sockets are judged.
fn world(connect: &str) -> World {
    World::open()
        .policy_text(|text| text.replacen('{', &format!("{{\"network\": {{\"connect\": {connect}}}, "), 1))
}

/// Tries each in a guarded Python.
fn tried(world: &World, gateway: Option<u16>, tries: &[String]) -> (Vec<String>, Ended) {
    let mut command = world.command();
    if let Some(port) = gateway {
        command.env("OPENCLAW_GATEWAY_PORT", port.to_string());
    }
    let ended = ended(command.args(["--", "python3", "-S", "-c", TRY]).args(tries));
    (ended.stdout.lines().map(str::to_owned).collect(), ended)
}

/// Tries each without the guard.
fn natively(world: &World, tries: &[String]) -> Vec<String> {
    let ended = ended(world.native_command().args(["python3", "-S", "-c", TRY]).args(tries));
    ended.stdout.lines().map(str::to_owned).collect()
}

/// Returns `openclaw-guard check` with this world's policy.
fn check(world: &World, gateway: u16) -> Command {
    let mut command = world.command();
    command.env("OPENCLAW_GATEWAY_PORT", gateway.to_string()).arg("check");
    command
}

/// Returns those at which a guarded program reaches this host: a link-local address may be another host's on another link.
fn reachable_addresses() -> Vec<String> {
    own_addresses().into_iter().filter(|address| !address.starts_with("fe80")).collect()
}

/// Returns addresses at which this host reaches itself, including those of its interfaces.
fn own_addresses() -> Vec<String> {
    let mut all: Vec<String> = [
        "127.0.0.1",
        "127.1.2.3",
        "0.0.0.0",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:127.9.9.9",
        "::ffff:0.0.0.0",
    ]
    .map(str::to_owned)
    .into();
    for interface in nix::ifaddrs::getifaddrs().expect("interfaces") {
        let Some(address) = interface.address else { continue };
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        let v6 = address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()));
        match v4.or(v6) {
            Some(ip @ IpAddr::V6(v6)) if v6.is_unicast_link_local() => {
                all.push(format!("{ip}%{}", interface.interface_name));
            }
            Some(ip) => {
                all.push(ip.to_string());
                if let IpAddr::V4(v4) = ip {
                    all.push(v4.to_ipv6_mapped().to_string());
                }
            }
            None => {}
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Returns `KIND HOST PORT` for each host.
fn each(kind: &str, hosts: &[String], port: u16) -> Vec<String> {
    hosts.iter().map(|host| format!("{kind} {host} {port}")).collect()
}

/// Returns the address as the guard writes it.
fn shown(host: &str, port: u16) -> Option<String> {
    host.parse().ok().map(|ip| SocketAddr::new(ip, port).to_string())
}
