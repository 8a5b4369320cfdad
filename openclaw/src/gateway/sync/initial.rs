//! Fetches the gateway's exec approvals before the tree starts.

use std::io;
use std::path::Path;
use std::time::Duration;

use guard_policy::Policy;
use guard_policy::approval::GatewayUrl;
use tokio::time::timeout;

use super::wire::{SyncError, fetch, save};
use crate::approvals_store::Snapshot;
use crate::gateway::{Credentials, GatewaySettings, Link};

/// How long the gateway may take.
const INITIAL_SYNC_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the gateway's exec approvals are not known at the start.
#[derive(Debug, thiserror::Error)]
#[error(
    "approvals.gateway.admin: the gateway's exec approvals are not known: {0}; the last ones from it stay in force"
)]
pub struct InitialSyncError(#[from] pub InitialSyncFault);

/// What went wrong at the start.
#[derive(Debug, thiserror::Error)]
pub enum InitialSyncFault {
    /// The store could not be fetched or saved.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// The gateway does not hand out its store.
    #[error("{at}: {error}")]
    Fetch {
        /// The gateway's URL.
        at: String,
        /// Why the gateway does not hand it out.
        #[source]
        error: Box<SyncError>,
    },
    /// The gateway took too long; holds the seconds.
    #[error("the gateway has not answered for {0} s")]
    Slow(u64),
    /// No connection can be made, because the async runtime for it cannot be created.
    #[error(transparent)]
    Runtime(#[from] io::Error),
}

/// Fetches the gateway's exec approvals and saves them, if the policy wants that. Blocks until that is done.
///
/// # Errors
/// Why the gateway's approvals are not known. The last saved ones, if any, count then.
pub fn ask_first(policy: &Policy, state: &Path) -> Result<(), InitialSyncError> {
    ask_within(policy, state, INITIAL_SYNC_TIMEOUT)
}

/// Does as [`ask_first`], with another time limit.
pub(super) fn ask_within(policy: &Policy, state: &Path, longest: Duration) -> Result<(), InitialSyncError> {
    let settings = GatewaySettings::from_policy(policy);
    if !settings.admin {
        return Ok(());
    }
    let snapshot = fetched(&settings, state, longest)?;
    save(state, &snapshot).map_err(InitialSyncFault::Sync)?;
    Ok(())
}

fn fetched(
    settings: &GatewaySettings,
    state: &Path,
    longest: Duration,
) -> Result<Snapshot, InitialSyncFault> {
    let ask = async {
        let access = Credentials::find(settings, state).map_err(SyncError::Access)?;
        let link = Link::open(&access).await.map_err(SyncError::Open)?;
        fetch(&link, settings.url.as_ref().map(GatewayUrl::as_str))
            .await
            .map_err(|error| InitialSyncFault::Fetch { at: access.endpoint(), error: Box::new(error) })
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asked = runtime.block_on(async { timeout(longest, ask).await });
    // A name lookup that is still pending must not delay the start.
    runtime.shutdown_background();
    asked.unwrap_or_else(|_| Err(InitialSyncFault::Slow(longest.as_secs())))
}
