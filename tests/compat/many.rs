//! Many processes at once, and calls that block each other.

use guard_tests::World;

#[test]
fn two_hundred_processes() {
    let same = World::open().same_script(
        "for i in $(seq 200); do ( echo $i > f$i; cat f$i; mv f$i g$i ) & done | sort -n | cksum; wait; ls | wc -l",
        &[],
    );
    assert!(same.native.stdout.ends_with("200\n"), "{}", same.native.stdout);
}

#[test]
fn fifos_pair_up() {
    let same = World::open().same_script(
        r#"
        for i in $(seq 40); do mkfifo p$i; done
        for i in $(seq 40); do cat p$i > out$i & done
        for i in $(seq 40); do echo through $i > p$i & done
        wait; cat out* | sort | cksum; cat out40
        mkfifo a b; ( cat < a > b ) & ( echo round > a ) & cat b; wait"#,
        &[],
    );
    assert!(same.native.stdout.ends_with("through 40\nround\n"), "{}", same.native.stdout);
}

#[test]
fn a_blocked_open_holds_up_nobody_and_ends_by_a_signal() {
    let same = World::open().same_script(
        r#"
        mkfifo p
        for i in $(seq 100); do cat p & done 2>/dev/null
        echo still > works; cat works
        sleep 0.3; kill $(jobs -p); wait 2>/dev/null || true; echo over
        timeout 0.3 cat p || echo $?
        trap 'trapped=1' USR1; ( while sleep 0.3; [ ! -e woken ]; do kill -USR1 $$; done ) 2>/dev/null &
        : < p & wait $! || echo woken; : > woken; echo $trapped; kill $!"#,
        &[],
    );
    assert!(same.native.stdout.contains("still\nover\n124\n"), "{}", same.native.stdout);
}

#[test]
fn sockets_in_the_workspace() {
    World::open().same_script(
        r#"
        python3=$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)
        $python3 - <<'EOF'
import os, socket, threading, errno
for name in "s", "t":
    listener = socket.socket(socket.AF_UNIX); listener.bind(name); listener.listen(50)
    print(listener.getsockname() == name, oct(os.stat(name).st_mode))
    def serve():
        for _ in range(50):
            c, peer = listener.accept(); c.sendall(c.recv(9) + repr(peer).encode()); c.close()
    t = threading.Thread(target=serve); t.start()
    seen = set()
    for i in range(50):
        c = socket.socket(socket.AF_UNIX); c.connect(name); c.sendall(b"hello"); seen.add(c.recv(99)); c.close()
    t.join(); print(seen)
    try: socket.socket(socket.AF_UNIX).bind(name)
    except OSError as e: print(errno.errorcode[e.errno])
    listener.close()
    try: socket.socket(socket.AF_UNIX).connect(name)
    except OSError as e: print(errno.errorcode[e.errno])
for name in "missing", "d/missing/x", "/etc/passwd", "x" * 107, "x" * 108:
    for act in "bind", "connect":
        try: getattr(socket.socket(socket.AF_UNIX), act)(name); print(act, name, "ok")
        except OSError as e: print(act, name[:20], errno.errorcode.get(e.errno, str(e)))
a, b = socket.socketpair(); a.sendall(b"pair"); print(b.recv(9))
ab = socket.socket(socket.AF_UNIX); ab.bind("\0guard-test-%d" % os.getpid()); ab.listen()
c = socket.socket(socket.AF_UNIX); c.connect(ab.getsockname()); print("abstract")
tcp = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(tcp.getsockname()); print("tcp")
socket.create_connection(tcp.getsockname()).close(); tcp.close()
try: socket.create_connection(tcp.getsockname() if tcp.fileno() >= 0 else ("127.0.0.1", 1), 2)
except OSError as e: print(errno.errorcode[e.errno])
EOF"#,
        &[],
    );
}

/// The server learns its own address by asking the socket, as Python's multiprocessing does.
#[test]
fn sockets_are_called_as_they_were_bound() {
    World::open().same_script(
        r#"
        python3=$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)
        $python3 - <<'EOF'
import os, socket
os.mkdir("d")
for name in "./s", "d/t", os.getcwd() + "/u":
    listener = socket.socket(socket.AF_UNIX); listener.bind(name); listener.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(listener.getsockname()); print(listener.getsockname(), client.getpeername())
EOF"#,
        &[],
    );
}
