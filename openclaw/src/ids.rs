//! Random ids, and what else is random.

use rustix::rand::GetRandomFlags;
use uuid::Uuid;

/// Random bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < bytes.len() {
        // It fails for no reason but a signal (getrandom(2)), and the filter is the children's.
        filled += rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty()).unwrap_or(0);
    }
    bytes
}

/// A random UUID, version 4.
pub fn random() -> Uuid {
    uuid::Builder::from_random_bytes(bytes()).into_uuid()
}
