//! Ports that nobody uses.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many ports this process was given.
static GIVEN: AtomicU32 = AtomicU32::new(0);

/// Returns a free TCP port that the kernel gives to no socket by itself: one of `ip_local_port_range` (ip(7)) could be
/// another test's a moment later.
///
/// # Panics
/// If none of 20,000 ports is free.
#[must_use]
pub fn free_port() -> u16 {
    const PORTS: u32 = 20_000;
    let start = std::process::id().wrapping_mul(8) + GIVEN.fetch_add(1, Ordering::Relaxed);
    let mut ports = (0..PORTS).map(|step| 10_000 + (start.wrapping_add(step) % PORTS) as u16);
    ports.find(|port| TcpListener::bind(("::", *port)).is_ok()).expect("a free port")
}
