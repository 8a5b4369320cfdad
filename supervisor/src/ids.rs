//! Random ids.

use rustix::rand::GetRandomFlags;
use uuid::Uuid;

/// A random UUID, version 4.
pub fn random() -> Uuid {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        // It fails for no reason but a signal (getrandom(2)), and the filter is the children's.
        filled += rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty()).unwrap_or(0);
    }
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}
