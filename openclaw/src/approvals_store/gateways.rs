//! What the gateway's own approvals store said last. It is kept on the disk: whoever keeps the gateway away would loosen the
//! policy else.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use guard_policy::store::{Store, StoreContents};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::directory::{Directory, Whose};
use super::disk::{Disk, Kernel, PRIVATE};
use super::lock::Lock;
use super::{GATEWAYS, GUARD, new_id, stale};

/// The version of the file's format.
const VERSION: u64 = 1;

/// What a gateway said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    version: u64,
    /// Which gateway: `approvals.gateway.url` of guard.json; nothing for the one of this host.
    pub gateway: Option<String>,
    /// By which a change of its store is noticed.
    pub hash: String,
    /// Its store, without the token of the socket.
    pub file: Value,
}

/// What is known of a gateway's store.
#[derive(Clone, Debug, PartialEq)]
pub enum Gateways {
    /// No gateway has said anything yet.
    Never,
    /// This one has.
    Said {
        /// As [`Snapshot::gateway`].
        gateway: Option<String>,
        /// Its store.
        reading: Box<StoreContents>,
    },
    /// What was kept cannot be read: a line that says why.
    Broken(String),
}

impl Snapshot {
    /// As a gateway has just said it.
    pub fn new(gateway: Option<String>, hash: String, file: Value) -> Snapshot {
        Snapshot { version: VERSION, gateway, hash, file }
    }

    /// Its store.
    ///
    /// # Errors
    /// Why it is none.
    pub fn reading(&self) -> Result<StoreContents, String> {
        let text = serde_json::to_string_pretty(&self.file).map_err(|error| error.to_string())?;
        Store::parse("the gateway's exec approvals", &text, &mut new_id)
            .map_err(|problem| problem.to_string())
    }
}

/// What governs a policy that has this gateway asked, or why nobody knows.
///
/// # Errors
/// A sentence.
pub fn governing<'g>(known: &'g Gateways, asked: Option<&str>) -> Result<&'g StoreContents, String> {
    let name = |gateway: Option<&str>| gateway.unwrap_or("the one of this host").to_owned();
    match known {
        Gateways::Said { gateway, reading } if gateway.as_deref() == asked => Ok(reading),
        Gateways::Said { gateway, .. } => Err(format!(
            "what is known of exec approvals is of another gateway ({}, not {})",
            name(gateway.as_deref()),
            name(asked)
        )),
        Gateways::Never => Err("the gateway has never said what its exec approvals are".to_owned()),
        Gateways::Broken(why) => Err(why.clone()),
    }
}

/// Its path.
pub fn path(state: &Path) -> PathBuf {
    state.join(GUARD).join(GATEWAYS)
}

/// Looks for it, by the real path of the state directory.
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
            Err(why) => broken(why),
        },
        Ok(snapshot) => broken(format!("version {} is of another guard", snapshot.version)),
        Err(error) => broken(error.to_string()),
    }
}

/// Keeps it in place of what was said before. What says the same is not written.
///
/// # Errors
/// The kernel's.
pub fn keep(state: &Path, snapshot: &Snapshot) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(snapshot).map_err(io::Error::other)?;
    text.push('\n');
    let made = Directory::make_own(state)?;
    let owner = made.owner()?;
    let directory = Directory::open_gateways(state)?.ok_or(io::ErrorKind::NotFound)?;
    debug_assert_eq!(directory.whose(), Whose::Gateways);
    let _lock = Lock::take(&directory)?;
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
        // Nothing that anybody needs.
        let _ = Kernel.remove(directory.as_fd(), &temporary);
    }
    written
}
