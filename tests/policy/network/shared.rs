//! Ports that the tree would share with a running server of another process.

use std::process::Command;

use guard_tests::{World, ended};

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
    s = socket.socket(type=kind)
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
own = bound(socket.SOCK_STREAM, socket.SO_REUSEPORT, ("127.0.0.1", 0))
attempt("own", socket.SOCK_STREAM, socket.SO_REUSEPORT, own.getsockname())
"#;

#[test]
fn the_tree_shares_no_port_with_a_running_server() {
    let world = World::open();
    let tries = |words: &[&std::ffi::OsStr]| {
        let mut command = Command::new("python3");
        command.args(["-S", "-c", SERVERS]).args(words).args(["python3", "-S", "-c", TRIES]);
        command.env("HOME", world.home()).current_dir(world.work());
        ended(&mut command)
    };
    const ALONE: &str = "tcp elsewhere ok\ntcp alone EADDRINUSE\nudp alone EADDRINUSE\nown ok\n";
    let native = tries(&[]);
    assert_eq!(native.stdout, format!("tcp ok\ntcp everywhere ok\nudp ok\n{ALONE}"), "{}", native.stderr);
    let mut command = world.command();
    command.arg("--");
    let guard: Vec<_> = [command.get_program()].into_iter().chain(command.get_args()).collect();
    let guarded = tries(&guard);
    let expected = format!("tcp EACCES\ntcp everywhere EACCES\nudp EACCES\n{ALONE}");
    assert_eq!(guarded.stdout, expected, "{}", guarded.stderr);
    assert!(guarded.stderr.contains("(builtin network: the port of a running server)"), "{}", guarded.stderr);
}
