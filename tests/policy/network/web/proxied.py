"""Requests to the proxy, as they are not meant. Prints `NAME RESULT`: the status, or what came instead of one."""
import os, socket, ssl, struct, sys

port = int(os.environ["http_proxy"].rsplit(":", 1)[1])


def dial():
    s = socket.create_connection(("127.0.0.1", port), 60)
    return s


def status(data):
    words = data.split()
    if data.startswith(b"HTTP/1.") and len(words) > 1: return words[1].decode()
    if data[:1] == b"\x15": return "alert"
    return "other" if data else "closed"


def everything(s):
    data = b""
    try:
        while True:
            more = s.recv(65536)
            if not more: return data
            data += more
    except OSError: return data


def send(text):
    s = dial()
    try: s.sendall(text)
    except OSError: pass
    try: s.shutdown(socket.SHUT_WR)
    except OSError: pass
    return everything(s)


def get(target, *headers, way="GET"):
    return status(send(f"{way} {target} HTTP/1.1\r\n{''.join(h + chr(13) + chr(10) for h in headers)}Connection: close\r\n\r\n".encode("latin1")))


def tunnel(target):
    s = dial(); s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(4096)
        if not more: break
        data += more
    return s, status(data)


def connect(target): return tunnel(target)[1]


def within(target, text):
    """Sends this in a tunnel."""
    s, opened = tunnel(target)
    if opened != "200": return "tunnel " + opened
    s.sendall(text); s.shutdown(socket.SHUT_WR)
    return status(everything(s))


def socks(address, port, command=1, methods=b"\x05\x01\x00"):
    """A tunnel by SOCKS5 to a name, or to an address of 4 or 16 bytes, and what came instead of one."""
    s = dial(); s.sendall(methods)
    chosen = s.recv(2)
    if chosen != b"\x05\x00": return s, "method " + chosen.hex()
    kind = {4: b"\x01", 16: b"\x04"}.get(len(address)) if isinstance(address, bytes) else None
    host = kind + address if kind else b"\x03" + bytes([len(address)]) + address.encode("latin1")
    s.sendall(bytes([5, command, 0]) + host + struct.pack("!H", port))
    reply = b""
    while len(reply) < 10:
        more = s.recv(10 - len(reply))
        if not more: return s, "closed"
        reply += more
    return s, f"reply {reply[1]}"


def by_socks(name, port, text):
    s, opened = socks(name, port)
    if opened != "reply 0": return opened
    s.sendall(text); s.shutdown(socket.SHUT_WR)
    return status(everything(s))


def hello(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try: context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()


def extended(record, *extensions):
    """A first message with more extensions."""
    body = bytearray(record[9:])
    at = 34; at += 1 + body[at]; at += 2 + struct.unpack("!H", body[at:at + 2])[0]; at += 1 + body[at]
    length = struct.unpack("!H", body[at:at + 2])[0]
    more = b"".join(struct.pack("!HH", kind, len(data)) + data for kind, data in extensions)
    body[at:at + 2] = struct.pack("!H", length + len(more)); body += more
    return records(b"\x01" + len(body).to_bytes(3, "big") + bytes(body), 16000)


def records(message, size):
    parts = [message[i:i + size] for i in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + struct.pack("!H", len(part)) + part for part in parts)


def sni(name): return (0, struct.pack("!HBH", len(name) + 3, 0, len(name)) + name)


def smuggled(first):
    """How many of a request, and of another one in its body or behind it, are served."""
    inner = b"GET http://evil.test/smuggled HTTP/1.1\r\nHost: evil.test\r\n\r\n"
    data = send(first.replace(b"LEN", str(len(inner)).encode()) + b"\r\n" + inner)
    return f"{status(data)}, served {data.count(b'HTTP/1.1 200')}"


GOOD = b"POST http://good.test/smuggle HTTP/1.1\r\nHost: good.test\r\n"
TLS = hello("good.test")
TRIES = {
    "allowed": lambda: get("http://good.test/ok"),
    "allowed-dot": lambda: get("http://GOOD.test./ok"),
    "allowed-below": lambda: get("http://a.sub.test/ok"),
    "allowed-tunnel": lambda: connect("good.test:443"),
    "not-listed": lambda: get("http://evil.test/no"),
    "not-listed-tunnel": lambda: connect("evil.test:443"),
    "listed-but-denied": lambda: get("http://bad.sub.test/no"),
    "domain-itself": lambda: get("http://sub.test/no"),
    "suffix": lambda: get("http://notgood.test/no"),
    "user": lambda: get("http://good.test@evil.test/no"),
    "user-of-allowed": lambda: get("http://evil.test@good.test/no"),
    "user-in-tunnel": lambda: connect("good.test:443@evil.test:443"),
    "backslash": lambda: get("http://good.test\\@evil.test/no"),
    "private": lambda: get("http://private.test/no"),
    "metadata": lambda: get("http://meta.test/no"),
    "metadata-tunnel": lambda: connect("meta.test:80"),
    "alias-of-private": lambda: get("http://alias.test/no"),
    "one-address-private": lambda: get("http://mixed.test/no"),
    "own": lambda: get("http://own.test/no"),
    "loopback": lambda: get("http://loop.test/no"),
    "localhost": lambda: connect("localhost:80"),
    "localhost-below": lambda: connect("x.localhost:80"),
    "internal": lambda: get("http://metadata.google.internal/no"),
    "address": lambda: connect("10.0.0.1:80"),
    "address-public": lambda: connect("93.184.216.35:80"),
    "address-number": lambda: get("http://167772161/no"),
    "address-hex": lambda: get("http://0x0a.0.0.1/no"),
    "address-octal": lambda: get("http://012.0.0.1/no"),
    "address-short": lambda: get("http://10.1/no"),
    "address-mapped": lambda: connect("[::ffff:10.0.0.1]:80"),
    "address-nat64": lambda: connect("[64:ff9b::a00:1]:80"),
    "address-zone": lambda: connect("[fe80::1%25v0]:80"),
    "address-loopback": lambda: connect("[::1]:80"),
    "name-too-long": lambda: get("http://" + "a" * 70 + ".good.test/no"),
    "name-other-letters": lambda: get("http://g\xf6\xf6d.test/no"),
    "other-host": lambda: get("http://good.test/no", "Host: evil.test"),
    "other-host-last": lambda: get("http://good.test/no", "Host: good.test", "Host: evil.test"),
    "other-host-port": lambda: get("http://good.test/no", "Host: good.test:22"),
    "other-target": lambda: get("http://evil.test/no", "Host: good.test"),
    "no-target": lambda: get("/no", "Host: good.test"),
    "no-scheme": lambda: get("//good.test/no", "Host: good.test"),
    "other-scheme": lambda: get("ftp://good.test/no"),
    "tls-by-the-proxy": lambda: get("https://good.test/no"),
    "tunnel-without-port": lambda: connect("good.test"),
    "tunnel-port-0": lambda: connect("good.test:0"),
    "smuggled-both": lambda: smuggled(GOOD + b"Content-Length: LEN\r\nTransfer-Encoding: chunked\r\n"),
    "smuggled-two-lengths": lambda: smuggled(GOOD + b"Content-Length: 0\r\nContent-Length: LEN\r\n"),
    "smuggled-odd-coding": lambda: smuggled(GOOD + b"Transfer-Encoding: xchunked\r\n"),
    "smuggled-space": lambda: smuggled(GOOD + b"Content-Length : LEN\r\n"),
    "smuggled-next": lambda: smuggled(GOOD + b"Content-Length: 0\r\n"),
    "smuggled-as-header": lambda: get("http://good.test/no\r\nX: y\r\n\r\nGET http://evil.test/no"),
    "nul": lambda: get("http://good.test/no", "X: a\0b"),
    "big-head": lambda: get("http://good.test/no", "X: " + "y" * 1048576),
    "many-heads": lambda: get("http://good.test/no", *[f"X{i}: y" for i in range(5000)]),
    "half-closed": lambda: status(send(b"GET http://good.test/ok HTTP/1.1\r\nHost: good.test\r\n\r\n")),
    "nothing": lambda: status(send(b"")),
    "garbage": lambda: status(send(b"\x06\x01\x00" + bytes(range(256)))),
    "sni": lambda: within("good.test:443", TLS),
    "sni-in-records": lambda: within("good.test:443", records(TLS[5:], 7)),
    "sni-other": lambda: within("good.test:443", hello("evil.test")),
    "sni-other-in-records": lambda: within("good.test:443", records(hello("evil.test")[5:], 7)),
    "sni-none": lambda: within("good.test:443", hello(None)),
    "sni-twice": lambda: within("good.test:443", extended(TLS, sni(b"evil.test"))),
    "sni-hidden": lambda: within("good.test:443", extended(TLS, (0xfe0d, b"\0" * 40))),
    "tls-broken": lambda: within("good.test:443", b"\x16\x03\x01\x00\x05hello" + b"x" * 100),
    "tls-endless": lambda: within("good.test:443", records(b"\x01\xff\xff\xff" + b"x" * 200000, 16000)),
    "http-in-tunnel": lambda: within("good.test:80", b"GET /ok HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n"),
    "http-in-tunnel-other": lambda: within("good.test:80", b"GET /no HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n"),
    "http-in-tunnel-target": lambda: within("good.test:80", b"GET http://evil.test/no HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n"),
    "tunnel-in-tunnel": lambda: within("good.test:80", b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
    "other-in-tunnel": lambda: within("good.test:22", b"SSH-2.0-x\r\n\r\n"),
    "socks": lambda: by_socks("good.test", 80, b"GET /ok HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n"),
    "socks-sni": lambda: by_socks("good.test", 443, TLS),
    "socks-sni-other": lambda: by_socks("good.test", 443, hello("evil.test")),
    "socks-host-other": lambda: by_socks("good.test", 80, b"GET /no HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n"),
    "socks-not-listed": lambda: socks("evil.test", 443)[1],
    "socks-private": lambda: socks("private.test", 80)[1],
    "socks-alias": lambda: socks("alias.test", 80)[1],
    "socks-user": lambda: socks("good.test@evil.test", 443)[1],
    "socks-address": lambda: socks(bytes([10, 0, 0, 1]), 80)[1],
    "socks-address-public": lambda: socks(bytes([93, 184, 216, 35]), 80)[1],
    "socks-mapped": lambda: socks(socket.inet_pton(socket.AF_INET6, "::ffff:10.0.0.1"), 80)[1],
    "socks-loopback": lambda: socks(socket.inet_pton(socket.AF_INET6, "::1"), 80)[1],
    "socks-path": lambda: socks("evil.test/good.test", 443)[1],
    "socks-two-ports": lambda: socks("good.test:22", 443)[1],
    "socks-nul": lambda: socks("good.test\0evil.test", 443)[1],
    "socks-empty": lambda: socks("", 443)[1],
    "socks-port-0": lambda: socks("good.test", 0)[1],
    "socks-bind": lambda: socks("good.test", 80, command=2)[1],
    "socks-udp": lambda: socks("good.test", 80, command=3)[1],
    "socks-password": lambda: socks("good.test", 80, methods=b"\x05\x01\x02")[1],
    "socks-no-method": lambda: socks("good.test", 80, methods=b"\x05\x00")[1],
    "socks-garbage": lambda: "bytes " + send(b"\x05\x01\x00" + bytes(range(256))).hex(),
    "socks-half": lambda: "bytes " + send(b"\x05\x01\x00\x05\x01\x00\x03\xff").hex(),
    "socks-4": lambda: status(send(b"\x04\x01\x00\x50\x0a\x00\x00\x01\x00")),
    "rebind-first": lambda: get("http://rebind.test/ok"),
    "rebind-second": lambda: get("http://rebind.test/no"),
}

for name, act in TRIES.items():
    try: print(name, act(), flush=True)
    except OSError as error: print(name, type(error).__name__, flush=True)
