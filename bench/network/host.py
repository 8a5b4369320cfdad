"""The host of the benchmark's own network: a name server that gives one answer, and a server that sends zeros.

On port 80, GET /N sends N bytes. On port 443, whatever comes first is taken for TLS, and SIZE bytes follow.
"""
import os, socket, struct, subprocess, threading, time

HOST, NAMES, SIZE = "93.184.216.34", "10.53.0.1", 1_000_000_000


def run(words):
    subprocess.run(["ip", *words.split()], check=True)


while subprocess.run(["ip", "link", "show", "v1"], capture_output=True).returncode:
    time.sleep(0.02)
for words in ("link set lo up", "link set v1 up", f"address add {HOST}/32 dev v1", f"address add {NAMES}/32 dev v1",
              "route add default dev v1"):
    run(words)


def names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((NAMES, 53))
    while True:
        question, peer = server.recvfrom(512)
        end = question.index(0, 12) + 5
        is_a = struct.unpack_from("!H", question, end - 4)[0] == 1
        answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton(HOST) if is_a else b""
        server.sendto(question[:2] + struct.pack("!HHHHH", 0x8180, 1, int(is_a), 0, 0) + question[12:end] + answer, peer)


def send(peer, left):
    block = bytes(1 << 20)
    while left:
        left -= peer.send(block[:left])


def web(peer):
    with peer:
        request = b""
        while b"\r\n\r\n" not in request:
            more = peer.recv(65536)
            if not more:
                return
            request += more
        size = int(request.split()[1].rsplit(b"/", 1)[1])
        peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % size)
        send(peer, size)


def tls(peer):
    with peer:
        if peer.recv(65536):
            send(peer, SIZE)


def serve(port, each):
    server = socket.create_server((HOST, port), backlog=2048)
    while True:
        threading.Thread(target=each, args=(server.accept()[0],), daemon=True).start()


threads = [threading.Thread(target=names), *(threading.Thread(target=serve, args=at) for at in ((80, web), (443, tls)))]
for thread in threads:
    thread.start()
time.sleep(0.2)
open(os.environ["READY"], "w").close()
