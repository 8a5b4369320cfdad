//! OpenClaw's gateway, or a stand-in for it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use guard_tests::Arena;

use super::{reached, watch};
use crate::attempt::Outside;

/// A gateway on every address of this host. `work/port` and the operator's `openclaw.json` contain its port.
pub fn gateway(arena: &Arena) -> Outside {
    // Listens on both address families where this host has them.
    let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    arena.world.write("home/.openclaw/openclaw.json", format!(r#"{{"gateway": {{"port": {port}}}}}"#));
    arena.world.write("work/port", port.to_string());
    listener.set_nonblocking(true).expect("a socket");
    watch(arena, reached(move || listener.accept().is_ok()))
}

/// Returns the token of the gateways in these tests: the secret of the arena.
fn token(arena: &Arena) -> String {
    std::fs::read_to_string(arena.root().join("shut/file")).expect("a secret").trim().to_owned()
}

/// Writes OpenClaw's configuration, with the token in clear or the name of a variable that holds it.
fn configured(arena: &Arena, token: &str) {
    let text = format!(r#"{{"gateway": {{"auth": {{"token": "{token}"}}}}}}"#);
    arena.world.write("home/.openclaw/openclaw.json", &text);
    arena.world.write("home/.openclaw/openclaw.json.bak", &text);
}

/// A gateway that approves whoever presents the token. Attacks reach it at `work/relay`, a port that nothing
/// closes, as if a process of the operator's forwarded what arrives there.
fn keyed(arena: &Arena) -> Outside {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    arena.world.write("work/relay", port.to_string());
    listener.set_nonblocking(true).expect("a socket");
    let token = token(arena);
    let is_yes = move || {
        let Ok((mut stream, _)) = listener.accept() else { return false };
        stream.set_nonblocking(false).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let mut received = vec![0; token.len()];
        // A client that sends less is refused.
        let is_let_in = stream.read_exact(&mut received).is_ok() && received == token.as_bytes();
        let _ = stream.write_all(if is_let_in { b"allow-once" } else { b"refused" });
        is_let_in
    };
    watch(arena, is_yes)
}

/// The gateway of a configuration with the token in it.
pub fn with_a_token(arena: &Arena) -> Outside {
    configured(arena, &token(arena));
    keyed(arena)
}

/// The gateway of a configuration that names the variable `MINE`.
pub fn with_a_variable(arena: &Arena) -> Outside {
    configured(arena, "${MINE}");
    keyed(arena)
}

/// The gateway whose token is in `only/token`, which other rules let the tree read.
pub fn with_a_file(arena: &Arena) -> Outside {
    let path = arena.world.write("only/token", token(arena));
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("a mode");
    keyed(arena)
}

/// A client that looks for the gateway at its port, where none runs, and sends the token to whatever listens
/// there.
pub fn caller(arena: &Arena) -> Outside {
    // Avoids the ports that the kernel picks: a connection from such a port may reach itself and take the
    // port.
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Starts at a number of this process's own: other test processes search at the same time.
    let own = u16::try_from(std::process::id() % 97).expect("a small number") * 100;
    let next = || 20_000 + (own + NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000;
    let ports = std::iter::repeat_with(next).take(1000);
    let is_free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
    let port = ports.into_iter().find(is_free).expect("a port");
    arena.world.write("home/.openclaw/openclaw.json", format!(r#"{{"gateway": {{"port": {port}}}}}"#));
    arena.world.write("work/port", port.to_string());
    let token = token(arena);
    let is_told = move || {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
        stream.write_all(token.as_bytes()).is_ok()
    };
    watch(arena, is_told)
}
