//! OpenClaw's approvals store on the disk, and one of the guard's own for what has no place there: finding and reading
//! them (`load`), what the gateway's store said last (`gateways`), changing them (`update`, by the steps of `disk`, under `lock`, without what dead writers left, `stale`).
//! What they say is `guard_policy::store`.

mod directory;
mod disk;
mod gateways;
mod load;
mod lock;
mod stale;
// Names that say what they are; no part of what is shipped.
#[allow(missing_docs)]
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod update;

pub use directory::{Directory, Owner, below};
pub use disk::{Disk, Kernel, PRIVATE};
pub use gateways::{
    Gateways, Snapshot, governing, keep as keep_gateways, load as load_gateways, path as gateways,
};
pub use load::{File, Stores, load, load_own};
pub(crate) use lock::Lock;
pub use update::{UpdateError, apply, apply_own};

/// The store's name in the state directory.
pub const NAME: &str = "exec-approvals.json";

/// The guard's own directory in the state directory.
pub const GUARD: &str = "guard";

/// The guard's own store there, in the same format with rules for files: for "always" where OpenClaw has no place for it.
const OWN: &str = "approvals.json";

/// What the gateway's store said last, there.
const GATEWAYS: &str = "gateway-policy.json";

/// Where releases from 2026.8 on keep their approvals, in the state directory.
const DATABASE: &str = "state/openclaw.sqlite";

/// An id as OpenClaw makes one: a random UUID.
pub fn new_id() -> String {
    crate::ids::random().to_string()
}

/// The path of the guard's own store.
pub fn own(state: &std::path::Path) -> std::path::PathBuf {
    state.join(GUARD).join(OWN)
}

/// What a store's `socket.path` names: `~` is the home. `None` where that is no absolute path.
pub fn socket(path: &str, home: &std::path::Path) -> Option<std::path::PathBuf> {
    let written = std::path::Path::new(path);
    let path = match written.strip_prefix("~") {
        Ok(below) => home.join(below),
        Err(_) => written.to_owned(),
    };
    path.is_absolute().then_some(path)
}
