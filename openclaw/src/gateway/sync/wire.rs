//! `exec.approvals.get` and `exec.approvals.set`, as OpenClaw 2026.7.35 and 2026.9.6 answer them.

use guard_policy::store::{Added, NewEntry};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::approvals_store::{self, Snapshot};
use crate::gateway::access::ADMIN;
use crate::gateway::{CallError, Link};

/// How often an entry is added again because somebody else has changed the store.
const MAX_TRIES: usize = 5;

/// Why it was not read, or not changed.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(
        "the gateway does not grant {ADMIN}: pair the guard's device for it, or take approvals.gateway.admin away"
    )]
    NoAdmin,
    #[error("{0}")]
    Call(CallError),
    #[error("what the gateway said of its exec approvals cannot be read: {0}")]
    Strange(String),
    #[error("the gateway has not answered in time")]
    Slow,
    #[error("{0}")]
    NotKept(String),
    #[error("the gateway's exec approvals were changed by others again and again")]
    Contended,
}

#[derive(Deserialize)]
struct RawSnapshot {
    hash: String,
    file: Value,
}

/// What the gateway's store says now; `gateway` is its name in guard.json.
///
/// # Errors
/// Why that is not known.
pub async fn fetch(link: &Link, gateway: Option<&str>) -> Result<Snapshot, SyncError> {
    if !link.hello().grants(ADMIN) {
        return Err(SyncError::NoAdmin);
    }
    let said = link.call("exec.approvals.get", json!({})).await.map_err(SyncError::Call)?;
    read(said, gateway)
}

/// Adds an entry to an agent's list there, as an "always" adds one to the file. Returns what the store says then.
///
/// # Errors
/// Why it is not there. Where the connection was lost it may be.
pub async fn add(
    link: &Link,
    gateway: Option<&str>,
    agent: &str,
    entry: &NewEntry,
    now: u64,
) -> Result<Snapshot, SyncError> {
    for _ in 0..MAX_TRIES {
        let before = fetch(link, gateway).await?;
        let mut store = before.reading().map_err(SyncError::Strange)?.store;
        if store.add(agent, entry.clone(), now, &mut approvals_store::new_id) == Added::Known {
            return Ok(before);
        }
        let change = json!({ "file": store.to_json(), "baseHash": before.hash });
        match link.call("exec.approvals.set", change).await {
            Ok(said) => return read(said, gateway),
            Err(CallError::Refused(refused)) if refused.message.contains(CHANGED) => {}
            Err(error) => return Err(SyncError::Call(error)),
        }
    }
    Err(SyncError::Contended)
}

/// What both releases say where the hash is not that of the store any more. There is no code of its own for it.
const CHANGED: &str = "changed since last load";

fn read(said: Value, gateway: Option<&str>) -> Result<Snapshot, SyncError> {
    let RawSnapshot { hash, file } =
        serde_json::from_value(said).map_err(|error| SyncError::Strange(error.to_string()))?;
    let snapshot = Snapshot::new(gateway.map(str::to_owned), hash, file);
    // What could not be composed is not kept in place of what can.
    snapshot.reading().map_err(SyncError::Strange)?;
    Ok(snapshot)
}
