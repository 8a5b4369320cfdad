//! Random ids and bytes.

use rustix::rand::GetRandomFlags;
use uuid::Uuid;

/// Returns `N` random bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < bytes.len() {
        // getrandom(2) fails only if a signal interrupts it: the seccomp filter applies to the children alone.
        filled += rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty()).unwrap_or(0);
    }
    bytes
}

/// Returns a random UUID, version 4.
pub fn random() -> Uuid {
    uuid::Builder::from_random_bytes(bytes()).into_uuid()
}
