//! `exec.approvals.get` and `exec.approvals.set`, as OpenClaw 2026.7.35 and 2026.9.6 answer them.

use std::io;
use std::path::{Path, PathBuf};

use guard_policy::Problem;
use guard_policy::store::{Added, NewEntry};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinError;

use crate::approvals_store::{self, Snapshot};
use crate::gateway::access::ADMIN;
use crate::gateway::{CallError, Link, NoAccess, OpenError};

/// How many times adding an entry is tried while others change the store.
const MAX_TRIES: usize = 5;

/// Why the store was not read, or not changed.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The gateway's address or credentials are not known.
    #[error(transparent)]
    Access(#[from] NoAccess),
    /// There is no connection.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The thread that looks for the credentials has failed.
    #[error(transparent)]
    Thread(#[from] JoinError),
    /// The policy no longer wants the store.
    #[error("approvals.gateway.admin is off")]
    Off,
    /// The guard is admitted without the scope `operator.admin`.
    #[error(
        "the gateway does not grant {ADMIN}: pair the guard's device for it, or remove approvals.gateway.admin"
    )]
    NoAdmin,
    /// A call has no answer.
    #[error("{0}")]
    Call(#[source] CallError),
    /// The answer has no store.
    #[error("cannot parse the gateway's exec approvals: {0}")]
    Malformed(#[source] serde_json::Error),
    /// The store in the answer is invalid.
    #[error("cannot parse the gateway's exec approvals: {0}")]
    Store(#[source] Problem),
    /// An answer took too long.
    #[error("the gateway has not answered in time")]
    Slow,
    /// The thread has not replied to a caller in time.
    #[error("the gateway does not answer")]
    NoReply,
    /// The store was fetched, but cannot be saved.
    #[error("{path}: {error}", path = path.display())]
    Unsaved {
        /// The file on this host.
        path: PathBuf,
        /// The error of the failed system call.
        #[source]
        error: io::Error,
    },
    /// Others changed the store at each try.
    #[error("the gateway's exec approvals kept changing while the guard wrote them")]
    Contended,
}

#[derive(Deserialize)]
struct RawSnapshot {
    hash: String,
    file: Value,
}

/// Fetches the gateway's store; `gateway` is the gateway's URL in guard.json.
///
/// # Errors
/// Why the store is not known.
pub async fn fetch(link: &Link, gateway: Option<&str>) -> Result<Snapshot, SyncError> {
    if !link.hello().grants(ADMIN) {
        return Err(SyncError::NoAdmin);
    }
    let reply = link.call("exec.approvals.get", json!({})).await.map_err(SyncError::Call)?;
    read(reply, gateway)
}

/// Adds an entry to an agent's list at the gateway, as an "always" adds one to the file. Returns the new
/// store.
///
/// # Errors
/// Why the entry is not there. After a lost connection, it may be there nevertheless.
pub async fn add(
    link: &Link,
    gateway: Option<&str>,
    agent: &str,
    entry: &NewEntry,
    now: u64,
) -> Result<Snapshot, SyncError> {
    for _ in 0..MAX_TRIES {
        let before = fetch(link, gateway).await?;
        let mut store = before.reading().map_err(SyncError::Store)?.store;
        if store.add(agent, entry.clone(), now, &mut approvals_store::new_id) == Added::Known {
            return Ok(before);
        }
        let change = json!({ "file": store.to_json(), "baseHash": before.hash });
        match link.call("exec.approvals.set", change).await {
            Ok(reply) => return read(reply, gateway),
            Err(CallError::Refused(refused)) if refused.message.contains(CHANGED) => {}
            Err(error) => return Err(SyncError::Call(error)),
        }
    }
    Err(SyncError::Contended)
}

/// Saves a fetched store on this host.
///
/// # Errors
/// [`SyncError::Unsaved`].
pub fn save(state: &Path, snapshot: &Snapshot) -> Result<(), SyncError> {
    approvals_store::save_gateways(state, snapshot)
        .map_err(|error| SyncError::Unsaved { path: approvals_store::gateways(state), error })
}

/// The message of both releases for an outdated hash, which has no code of its own.
const CHANGED: &str = "changed since last load";

fn read(reply: Value, gateway: Option<&str>) -> Result<Snapshot, SyncError> {
    let RawSnapshot { hash, file } = serde_json::from_value(reply).map_err(SyncError::Malformed)?;
    let snapshot = Snapshot::new(gateway.map(str::to_owned), hash, file);
    // A store that cannot be parsed must not replace a valid one.
    snapshot.reading().map_err(SyncError::Store)?;
    Ok(snapshot)
}
