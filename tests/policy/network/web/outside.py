"""The hosts of a network of the test's own: web servers at public, private and metadata addresses, and a name server.

Writes a line for all that arrives: `ADDRESS REQUEST`. SIGTERM ends it when the lines of all that came before are written.
Arguments: the directory for its files.
"""
import os, signal, socket, ssl, struct, subprocess, sys, threading, time

home = sys.argv[1]
log = open(f"{home}/arrived", "a", buffering=1)


def run(words): subprocess.run(["ip", *words.split()], check=True)


while subprocess.run(["ip", "link", "show", "v1"], capture_output=True).returncode: time.sleep(0.02)
run("link set lo up"); run("link set v1 up")
for own in "93.184.216.34", "93.184.216.35", "10.0.0.1", "10.53.0.1", "169.254.169.254": run(f"address add {own}/32 dev v1")
run("address add 2a00::1/64 dev v1 nodad"); run("route add default dev v1"); run("-6 route add default dev v1")


def arrived(address, what): log.write(f"{address.removeprefix('::ffff:')} {what}\n")


def request(peer):
    """The head of a request, and its body where it has a length."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = peer.recv(65536)
        if not more: break
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while length and len(body) < int(length[0]):
        more = peer.recv(65536)
        if not more: break
        body += more
    return head, body


def serve(peer):
    own = peer.getsockname()[0]
    try:
        head, body = request(peer)
        first = head.split(b"\r\n")[0].decode("latin1")
        host = [line[5:].strip().decode("latin1") for line in head.split(b"\r\n") if line.lower().startswith(b"host:")]
        arrived(own, f"{first} {host} {len(body)}")
        path = (first.split() + ["", ""])[1]
        answer = f"{first} {host}\n".encode()
        if path.startswith("/bytes/"): answer = b"x" * int(path.split("/")[2])
        if path == "/unlimited":
            peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            for _ in range(100): peer.sendall(b"x" * 1000)
        elif path == "/stuck":
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            while peer.recv(65536): pass
        elif path.startswith("/files/"):
            file = os.path.join(os.path.dirname(home), path.split("?")[0].strip("/"))
            if os.path.isdir(file): file = os.path.join(file, "index.html")
            found = os.path.exists(file)
            answer = open(file, "rb").read() if found else b""
            kind = "text/html" if file.endswith(".html") else "application/octet-stream"
            peer.sendall(f"HTTP/1.1 {'200 OK' if found else '404 No'}\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n".encode() + answer)
        elif path == "/moved":
            peer.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n\r\n")
        else:
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(answer) + answer)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(65536): pass
    except (OSError, ValueError) as error: arrived(own, f"broken {type(error).__name__}")
    finally: peer.close()


last = threading.Semaphore(0)


def is_last(address):
    """Whether what came from there is this program's own, which it sends when it is to end."""
    if address[0] == "::ffff:127.0.0.1": last.release(); return True


def accept(server, wrap):
    while True:
        peer, address = server.accept()
        if is_last(address): continue
        arrived(peer.getsockname()[0], "connected")
        def each(peer=peer):
            try: peer = wrap(peer)
            except OSError as error: return arrived("tls", f"failed {type(error).__name__}")
            serve(peer)
        threading.Thread(target=each, name="peer", daemon=True).start()


def plain(peer): return peer


def encrypted(peer): return tls.wrap_socket(peer, server_side=True)


tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(f"{home}/cert.pem", f"{home}/key.pem")


def listen(port): return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=256)


for port, wrap in (80, plain), (22, plain), (443, encrypted):
    threading.Thread(target=accept, args=(listen(port), wrap), daemon=True).start()

datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); datagrams.bind(("::", 9))


def hear():
    while True:
        text, address = datagrams.recvfrom(2048)
        if not is_last(address): arrived("udp", text.decode("latin1"))


threading.Thread(target=hear, daemon=True).start()

A = {"good.test": ["93.184.216.34"], "a.sub.test": ["93.184.216.34"], "bad.sub.test": ["93.184.216.34"],
     "evil.test": ["93.184.216.35"], "a.evil.test": ["93.184.216.35"], "b.evil.test": ["93.184.216.35"],
     "c.evil.test": ["93.184.216.35"], "c.b.evil.test": ["93.184.216.35"], "private.test": ["10.0.0.1"], "meta.test": ["169.254.169.254"],
     "mixed.test": ["93.184.216.34", "10.0.0.1"], "own.test": ["192.0.2.1"], "loop.test": ["127.0.0.1"]}
asked = {}


def name(parts): return b"".join(bytes([len(part)]) + part.encode() for part in parts.split(".")) + b"\0"


def answers(query):
    """An answer with a TTL of 0: for `rebind.test` another one each time, for `alias.test` by another name."""
    at, labels = 12, []
    while query[at]: labels.append(query[at + 1:at + 1 + query[at]].decode("latin1")); at += 1 + query[at]
    kind = struct.unpack("!H", query[at + 1:at + 3])[0]
    asked_for = ".".join(labels).lower()
    arrived("dns", f"{asked_for} {kind}")
    records, owner = [], b"\xc0\x0c"
    if asked_for == "alias.test":
        records.append(owner + struct.pack("!HHIH", 5, 1, 0, len(name("private.test"))) + name("private.test"))
        owner, asked_for = name("private.test"), "private.test"
    addresses = A.get(asked_for, [])
    if asked_for == "rebind.test" and kind == 1:
        asked[asked_for] = asked.get(asked_for, 0) + 1
        addresses = ["93.184.216.34"] if asked[asked_for] == 1 else ["10.0.0.1"]
    if kind == 1:
        records += [owner + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(one) for one in addresses]
    known = addresses or asked_for in A or asked_for == "rebind.test"
    head = query[:2] + struct.pack("!HHHHH", 0x8180 if known else 0x8183, 1, len(records), 0, 0)
    return head + query[12:at + 5] + b"".join(records)


resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); resolver.bind(("10.53.0.1", 53))


def end(*_):
    """What is queued is taken in order: when the last ones are taken, so is all that came before."""
    for port in 80, 22, 443: socket.create_connection(("127.0.0.1", port))
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("127.0.0.1", 9))
    for _ in range(4): last.acquire(timeout=60)
    for peer in threading.enumerate():
        if peer.name == "peer": peer.join(5)
    resolver.setblocking(False)
    try:
        while True: answers(resolver.recv(2048))
    except OSError: os._exit(0)


signal.signal(signal.SIGTERM, end)
open(f"{home}/ready", "w").close()
while True:
    query, peer = resolver.recvfrom(2048)
    try: resolver.sendto(answers(query), peer)
    except (IndexError, struct.error): pass
