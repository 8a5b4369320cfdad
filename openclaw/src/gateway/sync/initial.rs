//! Fetches the gateway's exec approvals before the tree starts.

use std::path::Path;
use std::time::Duration;

use guard_policy::Policy;
use guard_policy::approval::GatewayUrl;
use tokio::time::timeout;

use super::wire::fetch;
use crate::approvals_store;
use crate::gateway::{Credentials, GatewaySettings, Link};

/// How long the gateway may take.
const INITIAL_SYNC_TIMEOUT: Duration = Duration::from_secs(5);

/// Fetches the gateway's exec approvals and saves them, if the policy wants that. Blocks until that is done.
///
/// # Errors
/// Why they are not known. The last saved ones, if any, count then.
pub fn ask_first(policy: &Policy, state: &Path) -> Result<(), String> {
    ask_within(policy, state, INITIAL_SYNC_TIMEOUT)
}

/// Does as [`ask_first`], with another time limit.
pub(super) fn ask_within(policy: &Policy, state: &Path, longest: Duration) -> Result<(), String> {
    let settings = GatewaySettings::from_policy(policy);
    if !settings.admin {
        return Ok(());
    }
    let ask = async {
        let access = Credentials::find(&settings, state).map_err(|error| error.to_string())?;
        let link = Link::open(&access).await.map_err(|error| error.to_string())?;
        fetch(&link, settings.url.as_ref().map(GatewayUrl::as_str))
            .await
            .map_err(|error| format!("{}: {error}", access.endpoint()))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let asked = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let asked = runtime.block_on(async { timeout(longest, ask).await });
        // A name lookup that is still pending must not delay the start.
        runtime.shutdown_background();
        asked.unwrap_or_else(|_| Err(format!("the gateway has not answered for {} s", longest.as_secs())))
    });
    let stored = asked.and_then(|snapshot| {
        approvals_store::save_gateways(state, &snapshot)
            .map_err(|error| format!("{}: {error}", approvals_store::gateways(state).display()))
    });
    stored.map_err(|why| {
        format!("approvals.gateway.admin: the gateway's exec approvals are not known: {why}; the last ones from it stay in force")
    })
}
