"""Ways past the proxy, each to an address that answers. Prints `NAME RESULT`; nothing is to arrive."""
import array, ctypes, errno, os, socket, struct, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
PUBLIC, PRIVATE, METADATA = "93.184.216.35", "10.0.0.1", "169.254.169.254"
TCP, UDP, V4, V6 = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.AF_INET, socket.AF_INET6
FASTOPEN = 0x20000000


def connect(family, address, kind=TCP, protocol=0):
    s = socket.socket(family, kind, protocol); s.settimeout(5); s.connect(address); s.send(b"GET /direct HTTP/1.0\r\n\r\n")


def not_waiting():
    import select
    s = socket.socket(); s.setblocking(False)
    error = s.connect_ex((PUBLIC, 80)); select.select([], [s], [], 1)
    if error != errno.EINPROGRESS: raise OSError(error, "")


def passed():
    s = socket.socket(); a, b = socket.socketpair()
    socket.send_fds(a, [b"x"], [s.fileno()]); _, fds, _, _ = socket.recv_fds(b, 1, 1)
    socket.socket(fileno=fds[0]).connect((PUBLIC, 80))


def inherited():
    s = socket.socket(); s.set_inheritable(True)
    code = f"import socket, sys; sys.exit(socket.socket(fileno={s.fileno()}).connect_ex(('{PUBLIC}', 80)))"
    status = subprocess.run([sys.executable, "-S", "-c", code], close_fds=False, stderr=subprocess.DEVNULL).returncode
    if status: raise OSError(status, "")


def own_proxy():
    """A proxy of the tree's own, at an abstract name."""
    server = socket.socket(socket.AF_UNIX); server.bind("\0guard-test-%d" % os.getpid()); server.listen()
    if os.fork() == 0:
        peer, _ = server.accept(); peer.sendall(struct.pack("i", socket.socket().connect_ex((PUBLIC, 80)))); os._exit(0)
    s = socket.socket(socket.AF_UNIX); s.connect("\0guard-test-%d" % os.getpid())
    status, = struct.unpack("i", s.recv(4)); os.wait()
    if status: raise OSError(status, "")


def by_device():
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 25, b"v0"); s.settimeout(5); s.connect((PUBLIC, 80))


def sendmmsg(kind, flags, port):
    s = socket.socket(V4, kind)
    name = ctypes.create_string_buffer(struct.pack("=H", V4) + struct.pack("!H", port) + socket.inet_aton(PUBLIC) + bytes(8), 16)
    text = ctypes.create_string_buffer(b"sendmmsg"); part = (ctypes.c_size_t * 2)(ctypes.addressof(text), 8)
    head = struct.pack("=QIIQQQQIIII", ctypes.addressof(name), 16, 0, ctypes.addressof(part), 1, 0, 0, 0, 0, 0, 0)
    message = ctypes.create_string_buffer(head, len(head))
    if libc.sendmmsg(s.fileno(), message, 1, flags) < 0: raise OSError(ctypes.get_errno(), "")


def changing():
    """The address changes while the call is judged."""
    import threading
    good = struct.pack("=H", V4) + struct.pack("!H", 1) + socket.inet_aton("127.0.0.1") + bytes(8)
    evil = struct.pack("=H", V4) + struct.pack("!H", 80) + socket.inet_aton(PUBLIC) + bytes(8)
    address = ctypes.create_string_buffer(good, 16); stop = []
    def flip():
        while not stop: address[:] = evil; address[:] = good
    t = threading.Thread(target=flip); t.start(); done = False
    for _ in range(300):
        s = socket.socket(); s.settimeout(2); done |= libc.connect(s.fileno(), address, 16) == 0
    stop.append(1); t.join()
    if not done: raise OSError(errno.EACCES, "")


def io_uring():
    if libc.syscall(425, 8, ctypes.create_string_buffer(120)) < 0: raise OSError(ctypes.get_errno(), "")


def udp(send):
    send(socket.socket(V4, UDP))


def rebuilt():
    """A socket of IPv6 that becomes one of IPv4."""
    s = socket.socket(V6); s.connect(("::ffff:" + PUBLIC, 80)); s.setsockopt(socket.IPPROTO_IPV6, 1, V4)


WAYS = {
    "tcp": lambda: connect(V4, (PUBLIC, 80)),
    "tcp-private": lambda: connect(V4, (PRIVATE, 80)),
    "tcp-metadata": lambda: connect(V4, (METADATA, 80)),
    "tcp-mapped": lambda: connect(V6, ("::ffff:" + PUBLIC, 80)),
    "tcp-v6": lambda: connect(V6, ("2a00::1", 80)),
    "tcp-dns": lambda: connect(V4, ("10.53.0.1", 53)),
    "mptcp": lambda: connect(V4, (PUBLIC, 80), TCP, 262),
    "tcp-bound": lambda: (lambda s: (s.bind(("192.0.2.1", 0)), s.connect((PUBLIC, 80))))(socket.socket()),
    "tcp-not-waiting": not_waiting,
    "tcp-passed": passed,
    "tcp-inherited": inherited,
    "tcp-own-proxy": own_proxy,
    "tcp-by-device": by_device,
    "tcp-changing": changing,
    "tcp-rebuilt": rebuilt,
    "fastopen-sendto": lambda: socket.socket().sendto(b"x", FASTOPEN, (PUBLIC, 80)),
    "fastopen-sendmsg": lambda: socket.socket().sendmsg([b"x"], [], FASTOPEN, (PUBLIC, 80)),
    "fastopen-sendmmsg": lambda: sendmmsg(TCP, FASTOPEN, 80),
    "fastopen-later": lambda: (lambda s: (s.setsockopt(6, 30, 1), s.connect((PUBLIC, 80)), s.send(b"x")))(socket.socket()),
    "udp-connect": lambda: connect(V4, (PUBLIC, 9), UDP),
    "udp-sendto": lambda: udp(lambda s: s.sendto(b"sendto", (PUBLIC, 9))),
    "udp-sendmsg": lambda: udp(lambda s: s.sendmsg([b"sendmsg"], [], 0, (PUBLIC, 9))),
    "udp-sendmsg-control": lambda: udp(lambda s: s.sendmsg([b"control"], [(0, 8, struct.pack("iII", 0, 0, 0))], 0, (PUBLIC, 9))),
    "udp-sendmmsg": lambda: sendmmsg(UDP, 0, 9),
    "udp-mapped": lambda: socket.socket(V6, UDP).sendto(b"mapped", ("::ffff:" + PUBLIC, 9)),
    "udp-private": lambda: udp(lambda s: s.sendto(b"private", (PRIVATE, 9))),
    "udp-dns": lambda: udp(lambda s: s.sendto(b"\0" * 12 + b"\x04tell\x04test\0\0\1\0\1", ("10.53.0.1", 53))),
    "udplite": lambda: socket.socket(V4, UDP, 136).sendto(b"lite", (PUBLIC, 9)),
    "ping": lambda: socket.socket(V4, UDP, 1).sendto(b"\x08\0\0\0\0\0\0\0", (PUBLIC, 0)),
    "raw": lambda: socket.socket(V4, socket.SOCK_RAW, 17).sendto(struct.pack("!HHHH", 9, 9, 11, 0) + b"raw", (PUBLIC, 0)),
    "packet": lambda: socket.socket(17, socket.SOCK_RAW, 0),
    "vsock": lambda: socket.socket(40, TCP),
    "sctp": lambda: connect(V4, (PUBLIC, 80), TCP, 132),
    "io-uring": io_uring,
    "look-up": lambda: socket.getaddrinfo("secret.evil.test", 80),
}

for way, act in WAYS.items():
    try: act(); print(way, "ok", flush=True)
    except OSError as error: print(way, errno.errorcode.get(error.errno, error.errno), flush=True)
