//! What is allowed behaves as it does without the guard.

use super::{Listener, world};

/// Prints errors, states and waiting, line by line.
const SCRIPT: &str = r#"
import ctypes, errno, os, select, signal, socket, struct, sys, time
port = int(sys.argv[1]); libc = ctypes.CDLL(None, use_errno=True)
def tried(act):
    try: return act() or "ok"
    except OSError as e: return errno.errorcode[e.errno]
def raw(s, address, length=None):
    fd = s if isinstance(s, int) else s.fileno()
    if libc.connect(fd, address, len(address) if length is None else length): raise OSError(ctypes.get_errno(), "")
def v4(host, port, family=socket.AF_INET): return struct.pack("=H", family) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)
def v6(host, port, zone=0): return struct.pack("=H", socket.AF_INET6) + struct.pack(">H", port) + bytes(4) + socket.inet_pton(socket.AF_INET6, host) + struct.pack("=I", zone)
tcp, tcp6 = (lambda: socket.socket()), (lambda: socket.socket(socket.AF_INET6))
udp6 = lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
here = v4("127.0.0.1", port)

closed = tcp(); closed.bind(("127.0.0.1", 0)); nobody = closed.getsockname()[1]
print("refused", tried(lambda: raw(tcp(), v4("127.0.0.1", nobody))), tried(lambda: raw(tcp6(), v6("::1", nobody))))
print("unreachable", tried(lambda: raw(tcp(), v4("255.255.255.255", port))), tried(lambda: raw(tcp(), v4("224.0.0.1", port))), tried(lambda: raw(tcp6(), v6("ff02::1", port))))
print("zone", tried(lambda: raw(tcp6(), v6("fe80::77", port))), tried(lambda: raw(tcp6(), v6("fe80::77", port, 9999))))
print("port 0", tried(lambda: raw(tcp(), v4("127.0.0.1", 0))))

for length in list(range(0, 18)) + [24, 28, 128, 129, 2**31, 2**32 - 1]:
    s = tcp(); buffer = ctypes.create_string_buffer(here + bytes(128 - len(here)), 128)
    print("length", length, tried(lambda: raw(s, buffer, length)))
for length in list(range(22, 30)) + [128, 129]:
    s = tcp6(); address = v6("::1", port); buffer = ctypes.create_string_buffer(address + bytes(128 - len(address)), 128)
    print("length6", length, tried(lambda: raw(s, buffer, length)))
print("null", tried(lambda: raw(tcp(), None, 16)), tried(lambda: raw(tcp(), None, 0)))
for family in 0, 1, 3, 10, 16, 17, 0x102, 0xffff:
    print("family", family, tried(lambda: raw(tcp(), v4("127.0.0.1", port, family) + bytes(12))), tried(lambda: raw(tcp6(), v4("127.0.0.1", port, family) + bytes(12))))
print("mixed", tried(lambda: raw(tcp(), v6("::1", port))), tried(lambda: raw(tcp6(), here)), tried(lambda: raw(udp6(), here)))
only = tcp6(); only.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
print("v6only", tried(lambda: raw(only, v6("::ffff:127.0.0.1", port))))

r, w = os.pipe()
print("no socket", tried(lambda: raw(r, here)), tried(lambda: raw(-1, here)), tried(lambda: raw(999, here)), tried(lambda: raw(os.open("/", os.O_PATH), here)))

s = tcp(); raw(s, here)
print("twice", tried(lambda: raw(s, here)), s.getpeername() == ("127.0.0.1", port))
print("disconnected", tried(lambda: raw(s, v4("0.0.0.0", 0, 0))), tried(lambda: s.getpeername()[0]), tried(lambda: raw(s, here)))
s = udp6(); raw(s, v6("::1", 9)); print("udp", s.getpeername()[:2], tried(lambda: raw(s, v6("::", 0)[:2].replace(b"\n", b"\0") + bytes(26))), tried(lambda: s.getpeername()[0]))
listening = tcp(); listening.bind(("127.0.0.1", 0)); listening.listen()
print("listening", tried(lambda: raw(listening, here)))
for to in "0.0.0.0", "127.0.0.1": s = tcp(); raw(s, v4(to, port)); print("peer", s.getpeername()[0], s.getsockname()[0])
for to in "::", "::1", "::ffff:0.0.0.0", "::ffff:127.0.0.1": s = tcp6(); print("peer", tried(lambda: raw(s, v6(to, port))), tried(lambda: s.getpeername()[0]))

s = tcp(); s.setblocking(False)
print("no waiting", tried(lambda: raw(s, here)), select.select([], [s], [], 5)[1] == [s], s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), tried(lambda: raw(s, here)))
s = tcp(); s.setblocking(False)
print("no waiting, refused", tried(lambda: raw(s, v4("127.0.0.1", nobody))), select.select([], [s], [], 5)[1] == [s], tried(lambda: raw(s, v4("127.0.0.1", nobody))))

# Nobody takes what comes, and there is room for one: the next waits.
full = tcp(); full.bind(("127.0.0.1", 0)); full.listen(0); there = v4("127.0.0.1", full.getsockname()[1])
kept = []
for _ in range(2):
    s = tcp(); s.setblocking(False); tried(lambda: raw(s, there)); kept.append(s)
    select.select([], [s], [], 0.2)
signal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, True)
s = tcp(); signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
print("interrupted", tried(lambda: raw(s, there)))
signal.setitimer(signal.ITIMER_REAL, 0)
print("again", tried(lambda: (s.setblocking(False), raw(s, there))[1]))
s = tcp(); s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 200000))
print("timed out", tried(lambda: raw(s, there)))

print("bind", tried(lambda: tcp().bind(("127.0.0.1", port))), tried(lambda: tcp().bind(("203.0.113.7", 0))), tried(lambda: tcp6().bind(("::1", 0))))
for length in 0, 2, 15, 16: s = tcp(); print("bind length", length, libc.bind(s.fileno(), v4("127.0.0.1", 0), length) and errno.errorcode[ctypes.get_errno()])
s = tcp(); s.listen(); print("listens anywhere", s.getsockname()[1] > 0)
"#;

/// Nothing in these worlds is denied that is tried: one has an exception alone, and one has settings that the guard must
/// check.
#[test]
fn allowed_connections_behave_as_without_the_guard() {
    let listener = Listener::everywhere();
    let port = listener.port.to_string();
    let arguments = ["python3", "-S", "-c", SCRIPT, &port];
    let looking =
        world(r#"{"deny": ["203.0.113.0/24", "localhost:1"], "allow": ["fe80::77"], "private": "allow"}"#);
    for world in [world(r#"{"allow": ["fe80::77"], "private": "allow"}"#), looking] {
        let native = world.native(&arguments);
        assert_eq!(native.status, 0, "{}", native.stderr);
        assert!(native.stdout.lines().count() > 60, "{}", native.stdout);
        let guarded = world.guarded(&arguments);
        assert_eq!(guarded.stdout, native.stdout, "{}", guarded.stderr);
    }
}
