//! OpenClaw's approvals store on the disk: finding and reading it (`load`), changing it (`update`, by the steps of
//! `disk`, under `lock`, without what dead writers left, `stale`). What it says is `guard_policy::store`.

mod directory;
mod disk;
mod load;
mod lock;
mod stale;
#[cfg(test)]
mod tests;
#[cfg_attr(not(test), expect(dead_code, reason = "an approval writes; a start only reads"))]
mod update;

use rustix::rand::GetRandomFlags;

pub use load::{File, load};

/// The store's name in the state directory.
pub const NAME: &str = "exec-approvals.json";

/// Where releases from 2026.8 on keep their approvals, in the state directory.
const DATABASE: &str = "state/openclaw.sqlite";

/// An id as OpenClaw makes one: a random UUID.
fn new_id() -> String {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        // It fails for no reason but a signal (getrandom(2)), and the filter is the children's.
        filled += rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty()).unwrap_or(0);
    }
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
