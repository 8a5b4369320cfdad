//! Ports that the tree would share with a running server of another process.

use std::ffi::OsStr;
use std::process::Command;

use guard_tests::{Ended, World, ended, program};

/// Runs the rest of the words, which get the ports of two servers that let others share them.
const SERVERS: &str = r#"
import socket, subprocess, sys
tcp = socket.socket(); tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); tcp.bind(("127.0.0.1", 0)); tcp.listen()
udp = socket.socket(type=socket.SOCK_DGRAM); udp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); udp.bind(("0.0.0.0", 0))
ports = [str(server.getsockname()[1]) for server in (tcp, udp)]
sys.exit(subprocess.run(sys.argv[1:] + ports).returncode)
"#;

const TRIES: &str = r#"
import errno, socket, sys
tcp, udp = map(int, sys.argv[1:])
def bound(kind, option, address):
    s = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, kind)
    if option: s.setsockopt(socket.SOL_SOCKET, option, 1)
    s.bind(address)
    if kind == socket.SOCK_STREAM: s.listen()
    return s
def attempt(name, *how):
    try: bound(*how); print(name, "ok")
    except OSError as error: print(name, errno.errorcode[error.errno])
attempt("tcp", socket.SOCK_STREAM, socket.SO_REUSEPORT, ("127.0.0.1", tcp))
attempt("tcp everywhere", socket.SOCK_STREAM, socket.SO_REUSEPORT, ("0.0.0.0", tcp))
attempt("udp", socket.SOCK_DGRAM, socket.SO_REUSEADDR, ("127.0.0.1", udp))
attempt("tcp elsewhere", socket.SOCK_STREAM, socket.SO_REUSEPORT, ("127.0.0.2", tcp))
attempt("tcp alone", socket.SOCK_STREAM, 0, ("127.0.0.1", tcp))
attempt("udp alone", socket.SOCK_DGRAM, 0, ("127.0.0.1", udp))
attempt("tcp mapped", socket.SOCK_STREAM, socket.SO_REUSEPORT, ("::ffff:127.0.0.1", tcp))
attempt("udp mapped", socket.SOCK_DGRAM, socket.SO_REUSEADDR, ("::ffff:127.0.0.1", udp))
own = bound(socket.SOCK_STREAM, socket.SO_REUSEPORT, ("127.0.0.1", 0))
attempt("own", socket.SOCK_STREAM, socket.SO_REUSEPORT, own.getsockname())
"#;

/// Binds while other threads switch the options on and off that let sockets share a port.
const SWITCHES: &str = r#"
import errno, socket, struct, sys, threading
tcp, udp = map(int, sys.argv[1:])
def tries(kind, option, address):
    for _ in range(25):
        s, done = socket.socket(socket.AF_INET6, kind), threading.Event()
        def switch():
            while not done.is_set():
                for value in (1, 0): s.setsockopt(socket.SOL_SOCKET, option, value)
        threads = [threading.Thread(target=switch) for _ in range(2)]
        for thread in threads: thread.start()
        try:
            s.bind(address)
            return "bound"
        except OSError: pass
        finally:
            done.set()
            for thread in threads: thread.join()
            s.close()
    return "never bound"
for host in "::ffff:127.0.0.1", "::":
    print(tries(socket.SOCK_STREAM, socket.SO_REUSEPORT, (host, tcp)), tries(socket.SOCK_DGRAM, socket.SO_REUSEADDR, (host, udp)))
try: socket.socket(type=socket.SOCK_DGRAM).setsockopt(socket.IPPROTO_IP, 51, struct.pack("I", udp << 16 | udp))
except OSError as error: print(errno.errorcode[error.errno])
"#;

/// Runs a script of Python, by these words, beside the servers.
fn beside_servers(world: &World, words: &[&OsStr], script: &str) -> Ended {
    let mut command = Command::new(program("python3"));
    command.args(["-S", "-c", SERVERS]).args(words).args(["python3", "-S", "-c", script]);
    ended(command.env("HOME", world.home()).current_dir(world.work()))
}

fn guarded(world: &World, script: &str) -> Ended {
    let mut command = world.command();
    command.arg("--");
    let words: Vec<_> = [command.get_program()].into_iter().chain(command.get_args()).collect();
    beside_servers(world, &words, script)
}

/// Binds beside the server of datagrams, while sockets at other ports are closed: the kernel makes its list of sockets in parts,
/// and leaves some out.
const CLOSINGS: &str = r#"
import os, random, resource, socket, sys, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
udp = int(sys.argv[2])
def bound(port, shares=False):
    s = socket.socket(type=socket.SOCK_DGRAM)
    if shares: s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try: s.bind(("127.0.0.1", port)); return s
    except OSError: s.close()
def attempt():
    others = [other.detach() for other in map(bound, range(udp - 200, udp)) if other]
    pause, begun = random.random() * .0006, threading.Event()
    def close():
        begun.wait(); time.sleep(pause); os.closerange(min(others), max(others) + 1)
    closing = threading.Thread(target=close); closing.start()
    begun.set()
    beside = bound(udp, True)
    closing.join()
    return beside is not None
print("bound" if any(attempt() for _ in range(150)) else "never bound")
"#;

#[test]
fn a_server_is_seen_while_other_sockets_are_closed() {
    let done = guarded(&World::open(), CLOSINGS);
    assert_eq!(done.stdout, "never bound\n", "{}", done.stderr);
}

#[test]
fn options_that_change_meanwhile_share_no_port() {
    let done = guarded(&World::open(), SWITCHES);
    assert_eq!(done.stdout, "never bound never bound\n".repeat(2) + "ENOPROTOOPT\n", "{}", done.stderr);
}

#[test]
fn the_tree_shares_no_port_with_a_running_server() {
    let world = World::open();
    const ALONE: &str = "tcp elsewhere ok\ntcp alone EADDRINUSE\nudp alone EADDRINUSE\n";
    let native = beside_servers(&world, &[], TRIES);
    assert_eq!(
        native.stdout,
        format!("tcp ok\ntcp everywhere ok\nudp ok\n{ALONE}tcp mapped ok\nudp mapped ok\nown ok\n"),
        "{}",
        native.stderr
    );
    let guarded = guarded(&world, TRIES);
    let expected = format!(
        "tcp EACCES\ntcp everywhere EACCES\nudp EACCES\n{ALONE}tcp mapped EACCES\nudp mapped EACCES\nown ok\n"
    );
    assert_eq!(guarded.stdout, expected, "{}", guarded.stderr);
    assert!(guarded.stderr.contains("(builtin network: the port of a running server)"), "{}", guarded.stderr);
}
