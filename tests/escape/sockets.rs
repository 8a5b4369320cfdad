//! Attacks by asking somebody else: servers outside the tree act for whoever connects.

use std::io::Read;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use guard_tests::{World, skip, until};

/// Sends what each client of a listener wrote to the returned channel.
fn answered(listener: UnixListener) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut received = String::new();
            let _ = stream.read_to_string(&mut received);
            let _ = sender.send(received);
        }
    });
    receiver
}

const SAY: &str = r#"
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1].replace("@", "\0")); s.sendall(b"do it"); print("connected")
except OSError as e:
    print(type(e).__name__)
"#;

#[test]
fn a_writable_directory_does_not_open_a_strangers_socket() {
    let world = World::bare();
    let received = answered(UnixListener::bind(world.work().join("server")).expect("a socket"));
    // The built-in policy makes the workspace rwx.
    let ended = world.guarded(&["python3", "-c", SAY, "server"]);
    assert_eq!(ended.stdout, "PermissionError\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("denied connect"), "{}", ended.stderr);
    assert!(received.recv_timeout(Duration::from_millis(300)).is_err());
}

#[test]
fn a_rule_that_names_the_socket_opens_it() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/**": "rw-", "@/work/server": "rw-"}, "default": "r-x"}}}"#,
    );
    let received = answered(UnixListener::bind(world.work().join("server")).expect("a socket"));
    let ended = world.guarded(&["python3", "-c", SAY, "server"]);
    assert_eq!(ended.stdout, "connected\n", "{}", ended.stderr);
    assert_eq!(received.recv_timeout(Duration::from_secs(60)).as_deref(), Ok("do it"));
}

/// Programs try one type after another. Nobody has the name for the others, natively too.
#[test]
fn the_trees_own_name_of_another_type_is_nobodys() {
    let world = World::open();
    let script = r#"
import os, socket
name = "\0guard-test-type-%d" % os.getpid()
server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen()
for kind in socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM:
    try: socket.socket(socket.AF_UNIX, kind).connect(name); print("connected")
    except ConnectionRefusedError: print("refused")"#;
    let ended = world.guarded(&["python3", "-c", script]);
    assert_eq!(ended.stdout, "refused\nrefused\nconnected\n", "{}", ended.stderr);
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
}

/// Whatever else is bound: what is forgotten is gone.
#[test]
fn the_trees_own_servers_stay_known_among_thousands_of_others() {
    let world = World::open();
    let script = r#"
import os, socket
def served(name):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); return s
servers = [served("server"), served("\0guard-test-kept-%d" % os.getpid())]
for i in range(3000):
    s = socket.socket(socket.AF_UNIX); s.bind("other"); s.close(); os.unlink("other")
    s = socket.socket(socket.AF_UNIX); s.bind("\0guard-test-other-%d-%d" % (os.getpid(), i)); s.close()
for server in servers: socket.socket(socket.AF_UNIX).connect(server.getsockname())
print("connected")"#;
    let ended = world.guarded(&["python3", "-c", script]);
    assert_eq!((ended.stdout.as_str(), ended.status), ("connected\n", 0), "{}", ended.stderr);
}

/// Threads that send while another connects must not get data through before the refusal.
#[test]
fn a_strangers_abstract_socket_hears_nothing() {
    let world = World::open();
    let name = format!("guard-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let received = answered(UnixListener::bind_addr(&address).expect("a socket"));
    let race = r#"
import socket, sys, threading
for _ in range(100):
    s = socket.socket(socket.AF_UNIX); stop = []
    def spam():
        while not stop:
            try: s.send(b"evil")
            except OSError: pass
    t = threading.Thread(target=spam); t.start()
    try: s.connect("\0" + sys.argv[1]); print("connected")
    except OSError: pass
    stop.append(1); t.join(); s.close()
"#;
    let ended = world.guarded(&["python3", "-c", race, &name]);
    assert_eq!(ended.stdout, "", "{}", ended.stderr);
    assert!(received.recv_timeout(Duration::from_millis(300)).is_err());
}

#[test]
fn the_trees_own_sockets_work_in_every_form() {
    let world = World::open();
    let script = r#"
import socket, os, threading
for name in ["plain", os.path.abspath("full"), "./dotted", "\0guard-own-%d" % os.getpid()]:
    server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(name); client.sendall(b"x")
    peer, _ = server.accept(); print(peer.recv(1), server.getsockname() == (name if name[0] != "\0" else name.encode()))
"#;
    let ended = world.guarded(&["python3", "-c", script]);
    assert_eq!(ended.stdout, "b'x' True\n".repeat(4), "{}", ended.stderr);
}

/// A rule closes `d/shut`, so `d` cannot be moved and a name through it cannot change its meaning: bind keeps
/// such a name as it is written. It does not keep a name through a link or `..`.
#[test]
fn a_name_is_kept_only_where_it_cannot_change_its_meaning() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rw-", "@/work/d/shut/**": "---"}, "default": "r-x"}}}"#,
    );
    std::fs::create_dir_all(world.work().join("d/shut")).expect("directories");
    std::os::unix::fs::symlink("d", world.work().join("link")).expect("a link");
    let script = r#"
import errno, os, socket
for name in "d/a", "./d/b", os.getcwd() + "/d/c", "link/d", "d/../d/e", "d/shut/f", "link/shut/g":
    s = socket.socket(socket.AF_UNIX)
    try: s.bind(name); print("kept" if s.getsockname() == name else s.getsockname().split("/")[1])
    except OSError as e: print(errno.errorcode[e.errno])
for to in "e", "link2":
    try: os.rename("d", to); print("moved")
    except OSError as e: print(errno.errorcode[e.errno])
"#;
    let ended = world.guarded(&["python3", "-c", script]);
    assert_eq!(
        ended.stdout, "kept\nkept\nkept\nproc\nproc\nEACCES\nEACCES\nEXDEV\nEXDEV\n",
        "{}",
        ended.stderr
    );
    for name in ["a", "b", "c", "d", "e"] {
        assert!(world.work().join("d").join(name).exists(), "{name}");
    }
}

/// A client of the operator's finds its server by the name: an agent with keys, a database.
#[test]
fn a_server_of_the_operators_is_not_replaced_by_the_trees() {
    // ssh binds its socket by another name first. Nobody else has the last.
    let last = format!("control-{}", std::process::id());
    for (made, bound, name) in [
        (World::open as fn() -> World, "socket", "socket"),
        (World::floored, "socket", "socket"),
        (World::open, "bound", &*last),
    ] {
        let world = made().with_persistence(true);
        let agent = world.work().join("agent");
        std::fs::create_dir(&agent).expect("a directory");
        let received = answered(UnixListener::bind(agent.join(bound)).expect("a socket"));
        std::fs::rename(agent.join(bound), agent.join(name)).expect("its name");
        drop(UnixListener::bind(world.work().join("stale")).expect("a socket"));
        let script = r#"
import ctypes, os, socket
import sys; path = "agent/" + sys.argv[1]
def bound(name):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); return s
def exchange(one, other):
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, one.encode(), -100, other.encode(), 2): raise OSError(ctypes.get_errno())
bound("own")
for way in [
    lambda: os.unlink(path), lambda: os.rename(path, "x"), lambda: os.rename("own", path), lambda: exchange("own", path),
    lambda: os.rename("agent", "away"), lambda: os.symlink("own", path), lambda: bound(path),
]:
    try: way(); print("done")
    except OSError: pass
# What nobody serves goes, and so does its own.
os.unlink("stale"); bound("stale"); os.rename("own", "other"); os.unlink("other")
print("end")"#;
        let ended = world.guarded(&["python3", "-c", script, name]);
        assert_eq!((ended.stdout.as_str(), ended.status), ("end\n", 0), "{}", ended.stderr);
        assert!(ended.stderr.contains("its clients would come to the tree instead"), "{}", ended.stderr);
        let mut client = std::os::unix::net::UnixStream::connect(agent.join(name)).expect("it is there");
        std::io::Write::write_all(&mut client, b"hello").expect("a server");
        drop(client);
        assert_eq!(received.recv_timeout(Duration::from_secs(60)).as_deref(), Ok("hello"));
    }
}

/// Rootless containers serve their hosts so: the file is shared, and the table of sockets is not.
#[test]
fn a_server_in_another_network_namespace_is_not_replaced_either() {
    const SERVER: &str = r#"
import socket
s = socket.socket(socket.AF_UNIX); s.bind("bound"); s.listen()
import os; os.rename("bound", "socket")
s.accept()[0].recv(5) == b"hello" and open("heard", "w").close()
"#;
    let world = World::open().with_persistence(true);
    let mut server = Command::new("unshare");
    server.args(["--user", "--map-root-user", "--net", "python3", "-c", SERVER]).current_dir(world.work());
    let Ok(mut server) = server.spawn() else { return skip("there is no unshare") };
    let socket = world.work().join("socket");
    until("it listens, or cannot", || socket.exists() || server.try_wait().expect("a status").is_some());
    if !socket.exists() {
        return skip("a network namespace of its own, which is not allowed here");
    }
    let script = r#"
import os, socket
s = socket.socket(socket.AF_UNIX); s.bind("own"); s.listen()
for way in [lambda: os.unlink("socket"), lambda: os.rename("socket", "x"), lambda: os.rename("own", "socket")]:
    try: way(); print("done")
    except OSError: pass
print("end")"#;
    let ended = world.guarded(&["python3", "-c", script]);
    assert_eq!(ended.stdout, "end\n", "{}", ended.stderr);
    let mut client = std::os::unix::net::UnixStream::connect(&socket).expect("it is there");
    std::io::Write::write_all(&mut client, b"hello").expect("a server");
    assert!(server.wait().expect("a status").success());
    assert!(world.work().join("heard").exists());
    // Its file stays, and may go now.
    let ended = world.guarded(&["rm", "socket"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
}
