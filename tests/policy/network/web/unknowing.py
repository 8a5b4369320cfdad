"""Looks names up, and connects, without the proxy. Prints `NAME RESULT`."""
import errno, socket, struct, sys

SERVER = ("10.53.0.1", 53)


def question(name, kind, count=1, flags=0x0100):
    words = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part) + b"\0"
    return struct.pack("!HHHHHH", 7, flags, count, 0, 0, 0) + (words + struct.pack("!HH", kind, 1)) * count


def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(SERVER)
    return s


def read(answer):
    """Its code, and its addresses."""
    _, flags, _, count, _, _ = struct.unpack("!HHHHHH", answer[:12])
    found = [socket.inet_ntoa(answer[-4:])] if count else []
    return f"{flags & 15} {' '.join(found)}".strip()


def ask(name, kind, **more):
    s = udp(); s.send(question(name, kind, **more))
    return read(s.recv(4096))


def by_stream(*names):
    s = socket.create_connection(SERVER, 5)
    for name in names:
        text = question(name, 1); s.sendall(struct.pack("!H", len(text)) + text)
    results = []
    for _ in names:
        length, = struct.unpack("!H", s.recv(2, socket.MSG_WAITALL)); results.append(read(s.recv(length, socket.MSG_WAITALL)))
    return ", ".join(results)


def ignored(text):
    """What is no question gets no answer, and the next one does."""
    s = udp(); s.settimeout(0.3); s.send(text)
    try: return f"answered {s.recv(4096)!r}"
    except TimeoutError: s.settimeout(5)
    s.send(question("good.test", 1))
    return read(s.recv(4096))


def flood():
    s = udp(); answered = 0
    for i in range(10_000):
        s.send(question(f"n{i}.sub.test", 1)); answered += struct.unpack("!H", s.recv(4096)[2:4])[0] & 15 == 0
    return f"{answered} {ask('good.test', 1)}"


def connect(address, port, kind=socket.SOCK_STREAM):
    socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind).connect((address, port))
    return "ok"


WAYS = {
    "a": lambda: ask("good.test", 1),
    "again": lambda: ask("GOOD.test", 1),
    "below": lambda: ask("a.sub.test", 1),
    "denied": lambda: ask("evil.test", 1),
    "denied-below": lambda: ask("bad.sub.test", 1),
    "address": lambda: ask("93.184.216.35", 1),
    "local": lambda: ask("db.internal", 1),
    "root": lambda: ask("", 1),
    "aaaa": lambda: ask("good.test", 28),
    "txt": lambda: ask("evil.test", 16),
    "https": lambda: ask("good.test", 65),
    "two": lambda: ask("good.test", 1, count=2),
    "update": lambda: ask("good.test", 1, flags=0x2800),
    "stream": lambda: by_stream("good.test", "evil.test", "a.sub.test"),
    "response": lambda: ignored(question("good.test", 1, flags=0x8180)),
    "short": lambda: ignored(b"\0\7"),
    "loop": lambda: ignored(question("", 1)[:12] + b"\xc0\x0c\0\1\0\1"),
    "long": lambda: ignored(b"\xff" * 9000),
    "connected": lambda: connect("198.18.0.1", 80),
    "mapped": lambda: connect("::ffff:198.18.0.1", 443),
    "no-name": lambda: connect("198.18.255.254", 80),
    "datagram": lambda: connect("198.18.0.1", 443, socket.SOCK_DGRAM),
    "other-server": lambda: connect("10.53.0.2", 53, socket.SOCK_DGRAM),
    "flood": flood,
}

for way, act in WAYS.items():
    try: print(way, act(), flush=True)
    except OSError as error: print(way, errno.errorcode.get(error.errno, error), flush=True)
