"""What a program sees of its network: `connect`, `http`, `tls` or `many`, each printed as one number.

A proxy that http_proxy names is used, as clients do.
"""
import asyncio, os, socket, ssl, statistics, sys, time, urllib.parse

HOST, SIZE = "host.test", 1_000_000_000
proxy = os.environ.get("http_proxy")
proxy = urllib.parse.urlsplit(proxy) if proxy else None


def connect():
    """The median time of connect(2) and close(2) of a listener on loopback, in microseconds."""
    server = socket.create_server(("127.0.0.1", 0), backlog=4096)
    address, times = server.getsockname(), []
    for _ in range(3000):
        begin = time.perf_counter()
        client = socket.socket()
        client.connect(address)
        times.append((time.perf_counter() - begin) * 1e6)
        client.close()
        server.accept()[0].close()
    return statistics.median(times)


def rate(peer, head):
    """MB/s until the end, which is not before SIZE bytes and `head` more."""
    begin, buffer, got = time.perf_counter(), bytearray(1 << 20), 0
    while count := peer.recv_into(buffer):
        got += count
    assert got >= SIZE + head, got
    return got / 1e6 / (time.perf_counter() - begin)


def open_to(port):
    relay = os.environ.get("RELAY")
    if relay:
        return socket.create_connection(("127.0.0.1", int(relay)))
    return socket.create_connection((proxy.hostname, proxy.port) if proxy else (HOST, port))


def http():
    """MB/s of a download of 1 GB of plain HTTP."""
    peer = open_to(80)
    target = f"http://{HOST}/{SIZE}" if proxy else f"/{SIZE}"
    peer.sendall(f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    return rate(peer, 1)


def tls():
    """MB/s of 1 GB in a connection that begins as TLS does. Nothing is encrypted: only the way is measured."""
    peer = open_to(443)
    if proxy:
        peer.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode())
        answer = peer.recv(65536)
        assert b" 200 " in answer.split(b"\r\n")[0], answer
    hello = ssl.MemoryBIO()
    session = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname=HOST)
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        peer.sendall(hello.read())
    return rate(peer, 0)


async def one(all_are_open):
    if proxy:
        reader, writer = await asyncio.open_connection(proxy.hostname, proxy.port)
        writer.write(f"CONNECT {HOST}:80 HTTP/1.1\r\nHost: {HOST}:80\r\n\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in answer.split(b"\r\n")[0], answer
    else:
        reader, writer = await asyncio.open_connection(HOST, 80)
    await all_are_open()
    writer.write(f"GET /4 HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    assert answer.endswith(bytes(4)) and b" 200 " in answer.split(b"\r\n")[0], answer
    writer.close()


async def many(count=1000):
    """Seconds until so many connections have been open at once, and each has had an answer."""
    barrier = asyncio.Barrier(count)
    begin = time.perf_counter()
    await asyncio.gather(*(one(barrier.wait) for _ in range(count)))
    return time.perf_counter() - begin


what = sys.argv[1]
print(f"{what} {asyncio.run(many()) if what == 'many' else globals()[what]():.2f}")
