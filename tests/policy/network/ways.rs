//! Ways to connect other than a plain connect(2).

use guard_tests::{World, ended, skip};

use super::{Listener, each, reachable_addresses, tried, world};

/// Runs a script guarded and natively, with the port of a listener that only the guarded one may not reach.
fn both(script: &str, listener: &Listener) -> (String, String) {
    let world = world(&format!(r#"{{"deny": ["localhost:{}"]}}"#, listener.port));
    let port = listener.port.to_string();
    let arguments = ["python3", "-S", "-c", script, &port];
    let guarded = world.guarded(&arguments);
    assert_eq!(guarded.status, 0, "{}", guarded.stderr);
    let reached = listener.reached();
    assert_eq!(reached, 0, "{}", guarded.stdout);
    (world.native(&arguments).stdout, guarded.stdout)
}

/// The beginning of each script: `tried` returns the result of an act.
const COMMON: &str = r#"
import ctypes, errno, os, select, socket, struct, sys
port = int(sys.argv[1]); libc = ctypes.CDLL(None, use_errno=True)
def tried(act):
    try: act(); return "ok"
    except OSError as e: return errno.errorcode[e.errno]
FASTOPEN = 0x20000000
"#;

#[test]
fn a_message_that_connects_is_refused() {
    let script = format!(
        "{COMMON}{}",
        r#"
def sendmmsg(s, flags):
    address = ctypes.create_string_buffer(struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton("127.0.0.1") + bytes(8), 16)
    text = ctypes.create_string_buffer(b"x")
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(text), 1)
    header = struct.pack("=QIIQQQQIIII", ctypes.addressof(address), 16, 0, ctypes.addressof(vector), 1, 0, 0, 0, 0, 0, 0)
    message = ctypes.create_string_buffer(header, len(header))
    if libc.sendmmsg(s.fileno(), message, 1, flags) < 0: raise OSError(ctypes.get_errno(), "")
to = ("127.0.0.1", port)
for protocol in 0, 262:
    new = lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    print(tried(lambda: new().sendto(b"x", FASTOPEN, to)))
    print(tried(lambda: new().sendmsg([b"x"], [], FASTOPEN, to)))
    print(tried(lambda: sendmmsg(new(), FASTOPEN)))
    print(tried(lambda: new().sendto(b"x", FASTOPEN | socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL, to)))
s = socket.socket(socket.AF_INET6); print(tried(lambda: s.sendto(b"x", FASTOPEN, ("::ffff:127.0.0.1", port))))
"#
    );
    let (native, guarded) = both(&script, &Listener::everywhere());
    assert_eq!(guarded, "ENOTSUP\n".repeat(9));
    if native.contains("ENOTSUP") {
        return skip("this kernel's clients may not open TCP connections by a message");
    }
    assert!(native.starts_with("ok\nok\nok\n"), "{native}");
}

/// With this option connect(2) only notes where the first message goes, whoever listens there by then.
#[test]
fn a_deferred_connection_is_refused() {
    let script = format!(
        "{COMMON}{}",
        r#"
for protocol in 0, 262:
    for deferred in 0, 1:
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        print(tried(lambda: s.setsockopt(socket.IPPROTO_TCP, 30, deferred)), tried(lambda: s.connect(("127.0.0.1", port))), tried(lambda: s.send(b"x")))
"#
    );
    let (native, guarded) = both(&script, &Listener::everywhere());
    assert_eq!(guarded, "ENOTSUP EACCES EPIPE\n".repeat(4));
    if native.contains("ENOTSUP") {
        return skip("this kernel's clients may not put connections off");
    }
    assert_eq!(native, "ok ok ok\n".repeat(4));
}

#[test]
fn a_connection_that_does_not_wait_is_judged() {
    let script = format!(
        "{COMMON}{}",
        r#"
s = socket.socket(); s.setblocking(False)
print(tried(lambda: s.connect(("127.0.0.1", port))))
print(select.select([], [s], [], 5)[1] == [s], s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0, tried(s.getpeername))
"#
    );
    let (native, guarded) = both(&script, &Listener::everywhere());
    assert_eq!(
        (native.as_str(), guarded.as_str()),
        ("EINPROGRESS\nTrue True ok\n", "EACCES\nTrue True ENOTCONN\n")
    );
}

/// To the unspecified address, a socket connects to its own address.
#[test]
fn the_unspecified_address_is_the_sockets_own() {
    let listener = Listener::at("127.0.0.7:0");
    let port = listener.port.to_string();
    let script = format!(
        "{COMMON}{}",
        r#"
for family, own, to in (socket.AF_INET, "127.0.0.7", "0.0.0.0"), (socket.AF_INET6, "::ffff:127.0.0.7", "::ffff:0.0.0.0"):
    s = socket.socket(family); s.bind((own, 0))
    print(tried(lambda: s.connect((to, port))), tried(s.getpeername) == "ok" and s.getpeername()[0])
"#
    );
    let denying = world(r#"{"deny": ["127.0.0.7"]}"#);
    let arguments = ["python3", "-S", "-c", &script, &port];
    assert_eq!(denying.guarded(&arguments).stdout, "EACCES False\nEACCES False\n");
    let native = denying.native(&arguments).stdout;
    assert_eq!(native, "ok 127.0.0.7\nok ::ffff:127.0.0.7\n");
    assert_eq!(World::open().guarded(&arguments).stdout, native);
}

/// Protocols that connect in their own ways, and TCP under other names.
#[test]
fn other_protocols_are_not_available() {
    let script = format!(
        "{COMMON}{}",
        r#"
for family in socket.AF_INET, socket.AF_INET6:
    for type, protocol in (1, 132), (5, 0), (5, 132), (1, 256), (2, 33), (6, 33), (4, 0), (1, 17), (3, 6):
        print(tried(lambda: socket.socket(family, type, protocol)))
print(tried(lambda: socket.socket(socket.AF_INET, 10, 3)), tried(lambda: socket.socket(43, 1, 0)))
"#
    );
    let once = "EPROTONOSUPPORT\nESOCKTNOSUPPORT\nESOCKTNOSUPPORT\nEPROTONOSUPPORT\nEPROTONOSUPPORT\nESOCKTNOSUPPORT\nESOCKTNOSUPPORT\nEPROTONOSUPPORT\nEPERM\n";
    let (_, guarded) = both(&script, &Listener::everywhere());
    let (inet, rest) = guarded.split_at(2 * once.len());
    assert_eq!(inet, once.repeat(2));
    assert!(rest.ends_with(" EAFNOSUPPORT\n") && !rest.starts_with("ok"), "{rest}");
}

#[test]
fn datagrams_are_judged_by_denials_alone() {
    let world = world(r#"{"deny": ["127.0.0.9", "localhost:9"], "ports": [1]}"#);
    let tries =
        ["udp 127.0.0.9 1", "udp ::1 9", "udp 127.0.0.1 53", "udp ::ffff:127.0.0.9 7", "tcp 127.0.0.1 53"];
    let (results, ended) = tried(&world, None, &tries.map(str::to_owned));
    assert_eq!(results, ["EACCES", "EACCES", "ok", "EACCES", "EACCES"], "{}", ended.stderr);
    let (results, _) = tried(&World::open(), Some(7777), &each("udp", &reachable_addresses(), 7777));
    assert!(results.iter().all(|results| results == "ok"), "{results:?}");
}

/// A child may reach no more of the network than its parent, and the same holds for a socket that it
/// receives.
#[test]
fn sockets_that_are_handed_on_are_judged() {
    let listener = Listener::everywhere();
    let script = format!(
        "{COMMON}{}",
        r#"
s = socket.socket(); a, b = socket.socketpair()
socket.send_fds(a, [b"x"], [s.fileno()]); _, fds, _, _ = socket.recv_fds(b, 1, 1)
if os.fork() == 0:
    print(tried(lambda: socket.socket(fileno=fds[0]).connect(("127.0.0.1", port))), flush=True); os._exit(0)
os.wait()
"#
    );
    let (native, guarded) = both(&script, &listener);
    assert_eq!((native.as_str(), guarded.as_str()), ("ok\n", "EACCES\n"));
}

#[test]
fn bash_is_a_program_like_others() {
    let listener = Listener::everywhere();
    let world = World::open();
    let mut command = world.command();
    command.env("OPENCLAW_GATEWAY_PORT", listener.port.to_string());
    let line = format!("exec 3<>/dev/tcp/localhost/{} && echo connected", listener.port);
    let output = ended(command.args(["--", "bash", "-c", &line]));
    assert_eq!(output.stdout, "", "{}", output.stderr);
    assert!(output.stderr.contains("network.connect.gateway"), "{}", output.stderr);
    assert_eq!(listener.reached(), 0);
}
