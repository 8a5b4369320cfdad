//! OpenClaw's gateway, or what stands in its place.

use std::net::TcpListener;

use guard_tests::Arena;

use super::{reached, watch};
use crate::attempt::Outside;

/// A gateway on every address of this host; `work/port` and the operator's `openclaw.json` tell its port.
pub fn gateway(arena: &Arena) -> Outside {
    // Of both families, where this host has them.
    let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    arena.world.write("home/.openclaw/openclaw.json", format!(r#"{{"gateway": {{"port": {port}}}}}"#));
    arena.world.write("work/port", port.to_string());
    listener.set_nonblocking(true).expect("a socket");
    watch(arena, reached(move || listener.accept().is_ok()))
}
