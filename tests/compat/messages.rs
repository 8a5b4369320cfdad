//! sendto, sendmsg and sendmmsg on sockets of every kind.

use guard_tests::{Same, World};

/// `tried` prints what a call returns, or its errno. `sendmmsg` takes texts and names as bytes.
const HEAD: &str = r#"
import array, ctypes, errno, os, select, signal, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
U, I, I6, D, S, Q = socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET
def tried(act, *more):
    try: print(act(*more))
    except OSError as e: print(errno.errorcode[e.errno])
def header(text, name=b"", parts=None):
    kept.append([ctypes.create_string_buffer(text, max(len(text), 1)), ctypes.create_string_buffer(name, max(len(name), 1))])
    text_at, name_at = (ctypes.addressof(one) for one in kept[-1])
    vector = (ctypes.c_size_t * 2)(text_at, len(text)); kept[-1].append(vector)
    return struct.pack("=QIIQQQQIIII", name_at if name else 0, len(name), 0, ctypes.addressof(vector), 1, 0, 0, 0, 0, 99, 0)
kept = []
def sendmmsg(s, messages, flags=0):
    memory = ctypes.create_string_buffer(b"".join(header(*one) for one in messages), 64 * len(messages))
    sent = libc.sendmmsg(s.fileno(), memory, len(messages), flags)
    if sent < 0: raise OSError(ctypes.get_errno(), "")
    return sent, [struct.unpack_from("=I", memory, 64 * index + 56)[0] for index in range(len(messages))]
def named(path): return struct.pack("=H", U) + path.encode() + b"\0"
def at(port, host="127.0.0.1"): return struct.pack("=H", I) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)
"#;

/// Broadcasts are of private networks, and allowed here.
fn same(script: &str) -> Same {
    const NETWORK: &str = r#"{"network": {"connect": {"private": "allow"}}, "#;
    World::open().policy_text(|text| text.replacen('{', NETWORK, 1)).same_python(&format!("{HEAD}{script}"))
}

#[test]
fn datagrams_to_a_path() {
    let same = same(
        r#"
server = socket.socket(U, D); server.bind("server"); client = socket.socket(U, D)
tried(client.sendto, b"one", "server"); tried(server.recvfrom, 9)
client.bind("client"); tried(client.sendto, b"two", "./server"); text, peer = server.recvfrom(9); print(text, peer)
tried(server.sendto, b"back", peer); print(client.recv(9))
os.symlink("server", "link"); tried(client.sendmsg, [b"th", b"", b"ree"], [], 0, "link"); print(server.recv(9))
print(sendmmsg(client, [(b"a", named("server")), (b"bcd", named("server"))]), server.recv(9), server.recv(9))
print(sendmmsg(client, [(b"a", named("server")), (b"bcd", named("nowhere")), (b"e", named("server"))]), server.recv(9))
tried(sendmmsg, client, [(b"a", named("nowhere"))]); tried(sendmmsg, client, [])
os.mkdir("d"); os.chdir("d"); tried(client.sendto, b"up", "../server"); print(server.recv(9)); os.chdir("..")
tried(client.sendto, b"", "server"); print(server.recv(9))
open("plain", "w").close(); stream = socket.socket(U, S); stream.bind("stream"); stream.listen()
for name in "nowhere", "plain", "stream", "server/below", "d": tried(client.sendto, b"x", name)
tried(client.send, b"x"); client.connect("server"); tried(client.send, b"sent"); tried(client.sendall, b"all"); print(server.recv(9), server.recv(9))
other = socket.socket(U, D); other.bind("other"); tried(client.sendto, b"aside", "other"); print(other.recv(9))
libc.connect(client.fileno(), b"\0\0", 2); tried(client.send, b"x")
server.close(); tried(client.sendto, b"x", "server")
"#,
    );
    assert!(same.native.stdout.contains("b'three'"), "{}", same.native.stdout);
}

#[test]
fn datagrams_to_an_abstract_name_and_of_a_pair() {
    let same = same(
        r#"
name = "\0guard-messages-%d" % os.getpid()
server = socket.socket(U, D); server.bind(name); client = socket.socket(U, D)
tried(client.sendto, b"one", name); print(server.recv(9)); tried(client.sendto, b"x", name + "-nobody")
client.connect(name); tried(client.send, b"two"); print(server.recv(9), client.getpeername() == name.encode())
a, b = socket.socketpair(U, D); tried(a.send, b"pair"); tried(a.sendmsg, [b"of", b"two"]); print(b.recv(9), b.recv(9))
tried(a.sendto, b"out", name); print(server.recv(9)); b.close(); tried(a.send, b"x")
raw = socket.socket(U, socket.SOCK_RAW); print(raw.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)); tried(raw.sendto, b"raw", name); print(server.recv(9))
hidden = socket.socket(U, D); hidden.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1); tried(hidden.sendto, b"who", name)
text, peer = server.recvfrom(9); print(text, len(peer)); tried(server.sendto, b"you", peer); print(hidden.recv(9))
"#,
    );
    assert!(same.native.stdout.contains("b'you'"), "{}", same.native.stdout);
}

#[test]
fn errors_of_messages() {
    same(
        r#"
server = socket.socket(U, D); server.bind("server"); client = socket.socket(U, D); size = client.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
client.setblocking(False); server.setblocking(False)
for length in size - 33, size - 32, size - 31, size, 3 * size, 1 << 26: tried(client.sendto, bytes(length), "server"); tried(lambda: len(server.recv(1 << 27)))
def call(name, *arguments):
    done = getattr(libc, name)(*[ctypes.c_void_p(one) if isinstance(one, int) and one > 99999 else one for one in arguments])
    print(name, done if done >= 0 else errno.errorcode[ctypes.get_errno()])
wrong, fd = 1 << 40, client.fileno(); plain = os.open("/dev/null", os.O_WRONLY); path = os.open(".", os.O_PATH); name = named("server")
for one in 99, -1, plain, path: call("sendto", one, b"x", 1, 0, name, len(name)); call("sendmsg", one, header(b"x", name), 0); call("sendmmsg", one, header(b"x", name), 1, 0)
call("sendto", fd, wrong, 1, 0, name, len(name)); call("sendto", fd, b"x", 1, 0, wrong, 9); call("sendto", fd, b"x", 1, 0, name, 129)
call("sendto", fd, b"x", 1, 0, name, -1); call("sendto", fd, b"x", 1, 0, name, 1); call("sendto", fd, b"x", 1, 0, name, 2); call("sendto", fd, b"x", 1, 0, None, 9)
call("sendmsg", fd, wrong, 0); call("sendmmsg", fd, wrong, 1, 0)
def words(*values): return struct.pack("=QQQQQQQ", *values)
vector = (ctypes.c_size_t * 4)(wrong, 1, 0, 1 << 63)
text = ctypes.create_string_buffer(name, 130)
for message in (words(ctypes.addressof(text), 2 << 31, 0, 0, 0, 0, 0), words(ctypes.addressof(text), 300, ctypes.addressof(vector), 0, 0, 0, 0),
    words(0, 0, ctypes.addressof(vector), 1, 0, 0, 0), words(0, 0, ctypes.addressof(vector), 2, 0, 0, 0), words(0, 0, ctypes.addressof(vector), 1025, 0, 0, 0),
    words(0, 0, wrong, 1, 0, 0, 0), words(ctypes.addressof(text), 9, 0, 0, wrong, 20, 0), words(ctypes.addressof(text), 9, 0, 0, wrong, 1 << 40, 0)):
    call("sendmsg", fd, message, 0)
call("sendto", fd, b"x", 1, 0, struct.pack("=H", 77) + b"server\0", 9); call("sendto", fd, b"x", 1, 0, struct.pack("=H", I) + bytes(14), 16)
a, b = socket.socketpair(); call("sendto", a.fileno(), b"x", 1, 0, name, len(name)); call("sendmsg", a.fileno(), header(b"x", name), 0); b.setblocking(False); tried(b.recv, 9)
alone = socket.socket(U, S); call("sendto", alone.fileno(), b"x", 1, 0, name, len(name)); call("sendmsg", alone.fileno(), header(b"x"), 0)
"#,
    );
}

#[test]
fn descriptors_and_control_messages() {
    let same = same(
        r#"
r, w = os.pipe()
for kind in S, D, Q:
    a, b = socket.socketpair(U, kind)
    socket.send_fds(a, [b"fds"], [w, a.fileno()]); text, fds, flags, _ = socket.recv_fds(b, 9, 9); print(text, len(fds), flags)
    os.write(fds[0], b"through"); print(os.read(r, 9), os.fstat(fds[1]).st_ino == os.fstat(a.fileno()).st_ino); [os.close(fd) for fd in fds]
    rights = lambda *fds: (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
    for one in [rights(99)], [rights(-1)], [rights(*[w] * 254)], [(socket.SOL_SOCKET, 77, b"x")], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("3i", 1, os.getuid(), os.getgid()))], \
        [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, b"short")], [(41, 50, b"ignored")], [rights()]:
        tried(a.sendmsg, [b"x"], one)
    tried(a.sendmsg, [b"many"], [rights(w), rights(w, w)] if False else [rights(*[w] * 253)]); a.close(); b.close()
os.close(w); tried(os.read, r, 9)
a, b = socket.socketpair(); r, w = os.pipe(); a.sendmsg([], [rights(w)]); a.sendmsg([b"x"], [rights(w)]); os.close(w); os.set_blocking(r, False); tried(os.read, r, 9)
print(len(socket.recv_fds(b, 9, 9)[1])); a.close(); b.close()
"#,
    );
    assert!(same.native.stdout.contains("b'through' True"), "{}", same.native.stdout);
}

#[test]
fn streams_of_any_length() {
    let same = same(
        r#"
import hashlib
text = os.urandom(1 << 16) * 160; digest = lambda data: hashlib.sha1(data).hexdigest() == hashlib.sha1(text).hexdigest()
def read(s, wait=0):
    parts = []; time.sleep(wait)
    while part := s.recv(1 << 20): parts.append(part)
    print(digest(b"".join(parts)))
tcp = socket.create_server(("127.0.0.1", 0))
def pairs():
    yield socket.socketpair(); client = socket.create_connection(tcp.getsockname()); yield client, tcp.accept()[0]
for a, b in pairs():
    reader = threading.Thread(target=read, args=(b, 0.2)); reader.start()
    print(a.sendmsg([text[:1000], b"", text[1000:9_000_000], text[9_000_000:]]) == len(text)); a.close(); reader.join()
for a, b in pairs():
    a.setblocking(False); sent = a.sendmsg([text]); print(0 < sent < len(text)); tried(a.sendmsg, [b"more" * 1000_000][:0] or [text])
    a.setblocking(True); tried(a.sendmsg, [text], [], socket.MSG_DONTWAIT)
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 100_000)); tried(a.sendmsg, [text])
    print(sendmmsg.__name__); tried(sendmmsg, a, [(b"x", b"")])
for a, b in pairs():
    print(sendmmsg(a, [(b"one", b""), (b"two", b"")]), b.recv(3, socket.MSG_WAITALL), b.recv(3, socket.MSG_WAITALL))
for a, b in list(pairs())[1:]:
    a.sendmsg([b"urgent"], [], socket.MSG_OOB); select.select([], [], [b], 9); print(b.recv(1, socket.MSG_OOB), b.recv(9))
"#,
    );
    assert!(same.native.stdout.starts_with("True\nTrue\n"), "{}", same.native.stdout);
}

#[test]
fn a_stream_that_is_closed_has_a_signal() {
    same(
        r#"
def child(act):
    pid = os.fork()
    if pid == 0: signal.signal(signal.SIGPIPE, signal.SIG_DFL); tried(act); sys.stdout.flush(); os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
sys.stdout.flush()
def closed(kind=S):
    a, b = socket.socketpair(U, kind); b.close(); return a
for kind in S, D, Q:
    child(lambda: closed(kind).sendmsg([b"x"])); child(lambda: closed(kind).sendmsg([b"x"], [], socket.MSG_NOSIGNAL)); child(lambda: sendmmsg(closed(kind), [(b"x", b"")]))
shut = lambda s: s.shutdown(socket.SHUT_WR) or s
child(lambda: shut(socket.socketpair()[0]).sendmsg([b"x"])); child(lambda: shut(socket.socketpair(U, D)[0]).sendmsg([b"x"]))
tcp = socket.create_server(("127.0.0.1", 0)); child(lambda: shut(socket.create_connection(tcp.getsockname())).sendmsg([b"x"]))
child(lambda: socket.socket().sendmsg([b"x"])); child(lambda: socket.socket(U).sendmsg([b"x"]))
seen = []; signal.signal(signal.SIGPIPE, lambda *_: seen.append(1)); tried(closed().sendmsg, [b"x"]); print(seen)
"#,
    );
}

#[test]
fn a_message_that_waits_is_interrupted() {
    same(
        r#"
class Woken(Exception): pass
def wake(*_): raise Woken
signal.signal(signal.SIGALRM, wake)
def full(kind):
    a, b = socket.socketpair(U, kind); a.setblocking(False)
    try:
        while True: a.sendmsg([bytes(1000)])
    except BlockingIOError: pass
    a.setblocking(True); return a, b
def drain(s):
    s.setblocking(False)
    try:
        while True: s.recv(1 << 20)
    except BlockingIOError: pass
for kind in S, D, Q:
    a, b = full(kind); signal.setitimer(signal.ITIMER_REAL, 0.3)
    try: a.sendmsg([b"x"]); print("sent")
    except Woken: print("woken")
    threading.Timer(0.2, drain, (b,)).start(); tried(a.sendmsg, [b"y"])
    pid = os.fork()
    if pid == 0: [a.sendmsg([bytes(1000)]) for _ in range(10000)]; os._exit(0)
    time.sleep(0.2); os.kill(pid, signal.SIGTERM); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#,
    );
}

/// The supervisor's descriptor may be the last one of a socket whose close waits.
#[test]
fn a_socket_that_lingers_keeps_nobody_waiting() {
    same(
        r#"
class Woken(Exception): pass
def wake(*_): raise Woken
signal.signal(signal.SIGALRM, wake)
server = socket.create_server(("127.0.0.1", 0)); a = socket.create_connection(server.getsockname()); b = server.accept()[0]
a.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60)); a.setblocking(False)
def fill(size):
    try:
        while True: a.sendmsg([bytes(size)])
    except BlockingIOError: pass
# The other end may take more a moment later.
for _ in range(4): fill(100_000); fill(1000); fill(1); time.sleep(0.25)
a.setblocking(True)
def close():
    time.sleep(0.5); os.close(number); os.kill(os.getpid(), signal.SIGALRM)
number = a.fileno(); started = time.monotonic(); threading.Thread(target=close).start()
try: a.sendmsg([b"x"]); print("sent")
except Woken: print("woken", time.monotonic() - started < 30)
a.detach()
"#,
    );
}

#[test]
fn udp_on_this_host() {
    let same = same(
        r#"
servers = {}
for family, host in (I, "127.0.0.1"), (I6, "::1"): servers[family] = socket.socket(family, D); servers[family].bind((host, 0)); servers[family].settimeout(9)
port, port6 = servers[I].getsockname()[1], servers[I6].getsockname()[1]
client = socket.socket(I, D)
for host in "127.0.0.1", "0.0.0.0", "localhost", "": tried(client.sendto, b"x", (host, port)); print(servers[I].recv(9))
client6 = socket.socket(I6, D)
for host, family, to in ("::1", I6, port6), ("::", I6, port6), ("::ffff:127.0.0.1", I, port), ("::ffff:0.0.0.0", I, port): tried(client6.sendto, b"6", (host, to)); print(servers[family].recv(9))
tried(client.sendmsg, [b"a", b"b"], [(socket.IPPROTO_IP, socket.IP_TTL, struct.pack("i", 9))], 0, ("127.0.0.1", port)); print(servers[I].recv(9))
tried(client.sendmsg, [b"a" * 30], [(17, 103, struct.pack("H", 10))], 0, ("127.0.0.1", port)); print([len(servers[I].recv(99)) for _ in range(3)])
print(sendmmsg(client, [(b"1", at(port)), (b"22", at(port)), (b"333", at(port))]), [servers[I].recv(9) for _ in range(3)])
for length in 65507, 65508, 65535, 65536, 1 << 20: tried(client.sendto, bytes(length), ("127.0.0.1", port))
print(len(servers[I].recv(1 << 17)))
tried(client.sendto, b"x", ("127.0.0.1", 0)); tried(client.sendto, b"x", ("255.255.255.255", 9)); tried(client.send, b"x")
client.connect(("127.0.0.1", port)); tried(client.send, b"sent"); tried(client.sendmsg, [b"m"]); print(servers[I].recv(9), servers[I].recv(9))
other = socket.socket(I, D); other.bind(("127.0.0.1", 0)); other.settimeout(9); tried(client.sendto, b"aside", other.getsockname()); print(other.recv(9))
tried(client.sendto, b"more", socket.MSG_MORE, ("127.0.0.1", port)); tried(client.send, b"end"); print(servers[I].recv(9))
tried(client.sendto, b"c", socket.MSG_CONFIRM | socket.MSG_DONTROUTE | socket.MSG_NOSIGNAL, ("127.0.0.1", port)); print(servers[I].recv(9))
def raw(s, text, name): done = libc.sendto(s.fileno(), text, len(text), 0, name, len(name)); return done if done >= 0 else errno.errorcode[ctypes.get_errno()]
free = socket.socket(I, D); print(raw(free, b"0", struct.pack("=H", 0) + at(port)[2:]), servers[I].recv(9), raw(free, b"x", at(port)[:15]), raw(free, b"x", struct.pack("=H", 9) + at(port)[2:]))
six = socket.socket(I6, D); six.connect(("::1", port6)); print(raw(six, b"none", struct.pack("=H", 0) + bytes(26)), servers[I6].recv(9), raw(six, b"x", struct.pack("=H", I6) + bytes(20)))
reply = socket.socket(I, D); reply.bind(("127.0.0.1", 0)); reply.settimeout(9); client.sendto(b"from", reply.getsockname()); print(reply.recvfrom(9)[1] == client.getsockname())
v6only = socket.socket(I6, D); v6only.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1); tried(v6only.sendto, b"x", ("::ffff:127.0.0.1", port))
"#,
    );
    assert!(same.native.stdout.contains("b'aside'"), "{}", same.native.stdout);
}

#[test]
fn many_threads_that_send_and_wait() {
    let same = same(
        r#"
def echo(s):
    while text := s.recv(1 << 16): s.sendmsg([text])
total = []
def talk():
    a, b = socket.socketpair(); threading.Thread(target=echo, args=(b,)).start()
    for index in range(50): a.sendmsg([b"%d" % index]); total.append(a.recv(99) == b"%d" % index)
    a.close()
threads = [threading.Thread(target=talk) for _ in range(32)]; [one.start() for one in threads]; [one.join() for one in threads]; print(len(total), all(total))
server = socket.socket(U, D); server.bind("server"); got = []
def send(index):
    s = socket.socket(U, D); [s.sendto(b"%d" % index, "server") for _ in range(100)]
threads = [threading.Thread(target=send, args=(index,)) for index in range(20)]; [one.start() for one in threads]
for _ in range(2000): got.append(server.recv(9))
print(sorted(set(map(got.count, got))))
"#,
    );
    assert!(same.native.stdout.contains("1600 True\n[100]"), "{}", same.native.stdout);
}

/// Each holds a worker of the supervisor and 253 descriptors. Where there are too many, the rest fails.
#[test]
fn messages_that_nobody_reads_keep_no_file_from_opening() {
    let world = World::open();
    let script = format!(
        "{HEAD}{}",
        r#"
a, b = socket.socketpair(); a.setblocking(False)
try:
    while True: a.send(bytes(1000))
except BlockingIOError: a.setblocking(True)
null = array.array("i", [os.open("/dev/null", os.O_RDONLY)] * 253); children = []
for _ in range(60):
    children.append(os.fork())
    if children[-1] == 0:
        try: a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, null)])
        except OSError as e: os._exit(e.errno)
ended = []
for _ in range(600):
    ended += [status for pid, status in (os.waitpid(pid, os.WNOHANG) for pid in list(children)) if pid and (children.remove(pid) or True)]
    if ended: break
    time.sleep(0.1)
print({errno.errorcode[os.waitstatus_to_exitcode(status)] for status in ended})
for index in range(100): open(f"file{index}", "w").write("x")
print("opened", os.system("true")); [os.kill(pid, signal.SIGKILL) for pid in children]
"#
    );
    let file = world.write("work/t.py", script);
    let guarded = world.guarded(&["python3", file.to_str().expect("a plain path")]);
    assert_eq!(guarded.stdout, "{'ENOBUFS'}\nopened 0\n", "{}", guarded.stderr);
}

/// getaddrinfo(3) asks the kernel for the host's addresses.
#[test]
fn routing_sockets() {
    same(
        r#"
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); request = struct.pack("=IHHIIBxxx", 20, 18, 0x301, 1, 0, 0)
tried(s.sendto, request, (0, 0)); print(len(s.recv(1 << 16)) > 20)
t = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); tried(t.sendmsg, [request], [], 0, (0, 0)); print(len(t.recv(1 << 16)) > 20)
print(socket.getaddrinfo("localhost", 80, type=S, flags=socket.AI_ADDRCONFIG)[0][4])
"#,
    );
}

/// A program that logs by syslog(3) and to the journal: there is no such daemon, or a rule does not name it.
#[test]
fn logging_and_notifying_a_service_of_the_tree() {
    let same = same(
        r#"
import logging, logging.handlers
server = socket.socket(U, D); server.bind("log"); handler = logging.handlers.SysLogHandler("log"); logging.getLogger("x").addHandler(handler)
logging.getLogger("x").error("to the log"); print(server.recv(99))
os.environ["NOTIFY_SOCKET"] = os.path.abspath("log"); s = socket.socket(U, D | socket.SOCK_CLOEXEC); s.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"]); print(server.recv(99))
"#,
    );
    assert!(same.native.stdout.contains("READY=1"), "{}", same.native.stdout);
}
