//! OpenClaw's approvals store on disk, and the guard's own store for entries that have no place there.
//!
//! `load` finds and reads both stores, and `gateways` saves the gateway's store as last reported. `update`
//! changes a store by the steps of `disk`, under `lock`, and `stale` removes the files of dead writers.
//! `answer_store` names the two stores that hold answers. `guard_policy::store` parses the content.

mod answer_store;
mod directory;
mod disk;
mod gateways;
mod load;
mod lock;
mod stale;
// The names explain themselves, and the module is not shipped.
#[allow(missing_docs)]
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod update;

pub use answer_store::AnswerStore;
pub use directory::{Directory, Owner, below};
pub use disk::{Disk, Kernel, PRIVATE};
pub use gateways::{
    Gateways, NotGoverned, Snapshot, governing, load as load_gateways, path as gateways,
    save as save_gateways,
};
pub use load::{File, StoreError, Stores, load, load_own};
pub(crate) use lock::Lock;
pub use update::{UpdateError, apply, apply_own};

/// The store's name in the state directory.
pub const NAME: &str = "exec-approvals.json";

/// The guard's own directory in the state directory.
pub const GUARD: &str = "guard";

/// The guard's own store in that directory, in OpenClaw's format plus rules for files. It holds each "always"
/// that has no place in OpenClaw's store.
const OWN: &str = "approvals.json";

/// The gateway's store as last reported, in the same directory.
const GATEWAYS: &str = "gateway-policy.json";

/// The database in the state directory in which OpenClaw 2026.8 and newer keep their approvals.
const DATABASE: &str = "state/openclaw.sqlite";

/// Returns a new id in OpenClaw's format: a random UUID.
pub fn new_id() -> String {
    crate::ids::random().to_string()
}

/// Returns the path of the guard's own store.
pub fn own(state: &std::path::Path) -> std::path::PathBuf {
    state.join(GUARD).join(OWN)
}

/// Returns the path that a store's `socket.path` names; `~` is the home. Returns `None` if the path is not
/// absolute.
pub fn socket(path: &str, home: &std::path::Path) -> Option<std::path::PathBuf> {
    let written = std::path::Path::new(path);
    let path = match written.strip_prefix("~") {
        Ok(below) => home.join(below),
        Err(_) => written.to_owned(),
    };
    path.is_absolute().then_some(path)
}
