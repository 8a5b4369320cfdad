//! The gateway's own approvals store as last reported. The guard saves it on disk. Without the saved store, the
//! policy would be looser while the gateway is blocked.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use guard_policy::Problem;
use guard_policy::store::{Store, StoreContents};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::directory::{Directory, StoreKind};
use super::disk::{Disk, Kernel, PRIVATE};
use super::lock::Lock;
use super::{GATEWAYS, GUARD, new_id, stale};

/// The version of the file's format.
const VERSION: u64 = 1;

/// A gateway's store as the gateway reported it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    version: u64,
    /// The gateway: `approvals.gateway.url` of guard.json; `None` for this host's gateway.
    pub gateway: Option<String>,
    /// The store's hash, which shows a change.
    pub hash: String,
    /// The store, without the socket's token.
    pub file: Value,
}

/// What is known of a gateway's store.
#[derive(Clone, Debug, PartialEq)]
pub enum Gateways {
    /// No gateway has reported its store yet.
    Never,
    /// A gateway has reported its store.
    Said {
        /// The gateway, in the form of [`Snapshot::gateway`].
        gateway: Option<String>,
        /// The parsed store.
        reading: Box<StoreContents>,
    },
    /// The saved file cannot be read; holds a line that says why.
    Broken(String),
}

impl Snapshot {
    /// Creates a snapshot of what a gateway has just reported.
    pub fn new(gateway: Option<String>, hash: String, file: Value) -> Snapshot {
        Snapshot { version: VERSION, gateway, hash, file }
    }

    /// Parses the store.
    ///
    /// # Errors
    /// Why the reported value is not a store.
    pub fn reading(&self) -> Result<StoreContents, Problem> {
        // The text is indented, so that each value has a line of its own, which a problem can name.
        let text = format!("{:#}", self.file);
        Store::parse("the gateway's exec approvals", &text, &mut new_id)
    }
}

/// Why the store that governs a policy is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGoverned {
    /// Another gateway has reported its store.
    #[error("the saved exec approvals are those of another gateway ({}, not {})", name(.saved), name(.asked))]
    OtherGateway {
        /// The gateway that has reported its store, in the form of [`Snapshot::gateway`].
        saved: Option<String>,
        /// The policy's gateway.
        asked: Option<String>,
    },
    /// No gateway has reported its store yet.
    #[error("the gateway's exec approvals were never fetched")]
    NeverFetched,
    /// The saved file cannot be read; holds a line that says why.
    #[error("{0}")]
    Broken(String),
}

fn name(gateway: &Option<String>) -> &str {
    gateway.as_deref().unwrap_or("the one of this host")
}

/// Returns the known store if it is that of the gateway `asked`, which the policy names.
///
/// # Errors
/// Why the store is not known.
pub fn governing<'g>(known: &'g Gateways, asked: Option<&str>) -> Result<&'g StoreContents, NotGoverned> {
    match known {
        Gateways::Said { gateway, reading } if gateway.as_deref() == asked => Ok(reading),
        Gateways::Said { gateway, .. } => {
            Err(NotGoverned::OtherGateway { saved: gateway.clone(), asked: asked.map(str::to_owned) })
        }
        Gateways::Never => Err(NotGoverned::NeverFetched),
        Gateways::Broken(why) => Err(NotGoverned::Broken(why.clone())),
    }
}

/// Returns the path of the saved snapshot.
pub fn path(state: &Path) -> PathBuf {
    state.join(GUARD).join(GATEWAYS)
}

/// Loads the saved snapshot; `state` is the real path of the state directory.
pub fn load(state: &Path) -> Gateways {
    let broken = |why: String| Gateways::Broken(format!("{}: {why}", path(state).display()));
    let content = Directory::open_gateways(state).and_then(|open| open.map_or(Ok(None), |open| open.read()));
    let bytes = match content {
        Ok(Some(content)) => content.bytes,
        Ok(None) => return Gateways::Never,
        Err(error) => return broken(error.to_string()),
    };
    match serde_json::from_slice::<Snapshot>(&bytes) {
        Ok(snapshot) if snapshot.version == VERSION => match snapshot.reading() {
            Ok(reading) => Gateways::Said { gateway: snapshot.gateway, reading: Box::new(reading) },
            Err(problem) => broken(problem.to_string()),
        },
        Ok(snapshot) => broken(format!("version {} is of another guard", snapshot.version)),
        Err(error) => broken(error.to_string()),
    }
}

/// Saves a snapshot in place of the previous one. An unchanged snapshot is not written.
///
/// # Errors
/// The error of the failed system call.
pub fn save(state: &Path, snapshot: &Snapshot) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(snapshot).map_err(io::Error::other)?;
    text.push('\n');
    let made = Directory::make_own(state)?;
    let owner = made.owner()?;
    let directory = Directory::open_gateways(state)?.ok_or(io::ErrorKind::NotFound)?;
    debug_assert_eq!(directory.kind(), StoreKind::Gateway);
    let _lock = Lock::acquire(&directory)?;
    if directory.read().is_ok_and(|content| content.is_some_and(|content| content.bytes == text.as_bytes())) {
        return Ok(());
    }
    stale::remove(&Kernel, &directory)?;
    let temporary = stale::temporary();
    let write = || {
        let file = Kernel.create(directory.as_fd(), &temporary)?;
        Kernel.own(&file, owner, PRIVATE)?;
        Kernel.write(&file, text.as_bytes())?;
        Kernel.sync(&file)?;
        Kernel.rename(directory.as_fd(), &temporary, directory.name())?;
        Kernel.sync_directory(directory.as_fd())
    };
    let written = write();
    if written.is_err() {
        // The temporary file is not needed.
        let _ = Kernel.remove(directory.as_fd(), &temporary);
    }
    written
}
