//! The two steps of a pairing, as far as the node can see them: its device, and the commands that it may be called with.

use std::sync::Arc;
use std::time::Duration;

use guard_openclaw::gateway::{Credentials, GatewaySettings, Link, OpenError};
use guard_policy::text::shown;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::host::NodeHost;

/// How long the gateway may take to say which nodes it has.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether the gateway's operator has approved the node's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CommandApproval {
    /// They are approved.
    Approved,
    /// They wait for this request to be approved.
    Pending(Option<String>),
    /// The gateway does not say.
    Unknown,
}

/// Prints how to pair this device, if the gateway refuses it because it is not paired. Returns whether that is the
/// reason.
pub fn refused(host: &NodeHost, error: &OpenError) -> bool {
    let OpenError::Refused { refused, .. } = error else { return false };
    let waits =
        matches!(refused.detail(), Some("PAIRING_REQUIRED" | "NOT_PAIRED")) || refused.code == "NOT_PAIRED";
    if !waits {
        return false;
    }
    let request = refused.details.get("requestId").and_then(Value::as_str);
    let request = request.map_or_else(|| "REQUEST".to_owned(), |id| shown(id.as_bytes()));
    host.print(&format!(
        "this device is not paired with the gateway: run `openclaw devices list` and `openclaw devices approve {request}` there \
         (the device is {})",
        host.id
    ));
    true
}

/// Checks whether the node's commands are approved, and prints what to do if they are not.
pub async fn look(host: &Arc<NodeHost>) {
    let surface = match timeout(LIST_TIMEOUT, surface(host)).await {
        Ok(Some(surface)) => surface,
        _ => CommandApproval::Unknown,
    };
    match surface {
        CommandApproval::Approved => host.note_surface("approved", None),
        CommandApproval::Pending(request) => {
            let id = request.as_deref().map_or_else(|| "REQUEST".to_owned(), |id| shown(id.as_bytes()));
            host.print(&format!(
                "{} is connected, and its commands wait for approval: run at the gateway `openclaw nodes approve {id}`",
                host.name()
            ));
            host.note_surface("pending", request);
        }
        CommandApproval::Unknown => {
            host.print(&format!(
                "{} is connected; if `openclaw nodes pending` lists it at the gateway, run there `openclaw nodes approve REQUEST`",
                host.name()
            ));
            host.note_surface("unknown", None);
        }
    }
}

/// The operator has decided.
pub fn resolved(host: &NodeHost, is_approved: bool) {
    let (state, what) = match is_approved {
        true => ("approved", "its commands are approved: the gateway can run them here"),
        false => ("unknown", "its commands are not approved: the gateway runs nothing here"),
    };
    host.note_surface(state, None);
    host.print(&format!("{}: {what}", host.name()));
}

/// Asks the gateway as an operator, because the gateway does not tell a node. `None` if the gateway refuses the
/// connection or its scopes.
async fn surface(host: &Arc<NodeHost>) -> Option<CommandApproval> {
    let (settings, state) = (host.gateway.clone(), host.state.clone());
    let settings = GatewaySettings { admin: false, ..settings };
    let find = move || Credentials::find(&settings, &state).ok()?.to_see_nodes();
    let access = tokio::task::spawn_blocking(find).await.ok()??;
    let link = Link::open(&access).await.ok()?;
    let listed = link.call("node.list", json!({})).await;
    link.end().await;
    let listed = listed.ok()?;
    let nodes = listed.get("nodes").and_then(Value::as_array).or_else(|| listed.as_array())?;
    let own = nodes.iter().find(|node| node.get("nodeId").and_then(Value::as_str) == Some(&host.id))?;
    let request = own.get("pendingRequestId").and_then(Value::as_str).map(str::to_owned);
    match own.get("approvalState").and_then(Value::as_str) {
        Some("approved") => Some(CommandApproval::Approved),
        Some(state) if state.starts_with("pending") => Some(CommandApproval::Pending(request)),
        _ if request.is_some() => Some(CommandApproval::Pending(request)),
        // Releases without such a state list the commands that may be called.
        None if own.get("commands").and_then(Value::as_array).is_some_and(|all| !all.is_empty()) => {
            Some(CommandApproval::Approved)
        }
        _ => Some(CommandApproval::Unknown),
    }
}
