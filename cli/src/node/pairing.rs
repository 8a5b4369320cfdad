//! The two steps of a pairing, as far as the node can see them: its device, and the commands that it may be called with.

use std::sync::Arc;
use std::time::Duration;

use guard_openclaw::gateway::{Credentials, GatewaySettings, Link, OpenError, Pause};
use guard_policy::text::shown;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::files::{APPROVED, PENDING, REJECTED, REMOVED, UNKNOWN};
use super::host::NodeHost;

/// How long the gateway may take to say which nodes it has.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// The shortest and the longest wait before the gateway is asked again.
const LOOK_PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(60)];

/// What the gateway says of the node's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Looked {
    /// The commands are approved.
    Approved,
    /// The commands wait for this request to be approved.
    Pending(Option<String>),
    /// The commands are not approved, and no request waits.
    NotApproved,
    /// There was no answer about this node.
    Unanswered,
    /// The gateway does not let this node's user see its nodes.
    Hidden,
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
    let text = |name: &str| refused.details.get(name).and_then(Value::as_str);
    // A paired device may also be refused, such as for another name.
    let is_unknown = text("reason").is_none_or(|reason| reason == "not-paired");
    let was_ours = [APPROVED, REMOVED].contains(&host.surface().as_str());
    host.note_surface(if is_unknown && was_ours { REMOVED } else { UNKNOWN }, None);
    let request = text("requestId").map_or_else(|| "REQUEST".to_owned(), |id| shown(id.as_bytes()));
    host.print(&format!(
        "this device is not paired with the gateway: run `openclaw devices list` and `openclaw devices approve {request}` there \
         (the device is {})",
        host.id
    ));
    true
}

/// Finds out whether the node's commands are approved, and prints what to do if they are not. While they wait
/// for the operator, asks again and again: OpenClaw 2026.7.35 tells the decision only to operators.
pub async fn look(host: &Arc<NodeHost>) {
    let mut pause = Pause::new(LOOK_PAUSES);
    let mut seen = None;
    loop {
        let found = timeout(LIST_TIMEOUT, surface(host)).await.unwrap_or(Looked::Unanswered);
        match found {
            Looked::Approved => return found_approved(host, seen.is_some()),
            // A request was waiting and is gone, but the commands are not approved: somebody has rejected it.
            Looked::NotApproved if matches!(seen, Some(Looked::Pending(_))) => return resolved(host, false),
            Looked::Pending(_) if seen.as_ref() != Some(&found) => {
                show(host, &found);
                seen = Some(found);
            }
            Looked::NotApproved | Looked::Unanswered if seen.is_none() => {
                show(host, &found);
                seen = Some(found);
            }
            Looked::Hidden if seen.is_none() => return show(host, &found),
            // What was seen last counts until the gateway says something else.
            _ => {}
        }
        sleep(pause.next_wait()).await;
    }
}

/// The commands are approved. That is printed only to an operator who was told something else before.
fn found_approved(host: &NodeHost, was_shown: bool) {
    if was_shown || host.surface() != UNKNOWN {
        return resolved(host, true);
    }
    host.note_surface(APPROVED, None);
}

/// Prints what has to be done at the gateway.
fn show(host: &NodeHost, looked: &Looked) {
    let name = host.name();
    if let Looked::Pending(request) = looked {
        let id = request.as_deref().map_or_else(|| "REQUEST".to_owned(), |id| shown(id.as_bytes()));
        host.print(&format!(
            "{name} is connected, and its commands wait for approval: run at the gateway `openclaw nodes approve {id}`"
        ));
        host.note_surface(PENDING, request.clone());
        return;
    }
    host.print(&format!(
        "{name} is connected; if `openclaw nodes pending` lists it at the gateway, run there `openclaw nodes approve REQUEST`"
    ));
    host.note_surface(UNKNOWN, None);
}

/// The operator has decided. Each decision is printed once, however the node hears of it.
pub fn resolved(host: &NodeHost, is_approved: bool) {
    let (state, what) = match is_approved {
        true => (APPROVED, "its commands are approved: the gateway can run them here"),
        false => (REJECTED, "its commands are not approved: the gateway runs nothing here"),
    };
    if host.note_surface(state, None) {
        host.print(&format!("{}: {what}", host.name()));
    }
}

/// Whether a decision about a request concerns the request that waits: a later request replaces an earlier one.
pub fn is_about_ours(host: &NodeHost, request: Option<&str>) -> bool {
    let waiting = host.request();
    request.is_none() || waiting.is_none() || request == waiting.as_deref()
}

/// The operator has removed the node from the gateway.
pub fn removed(host: &NodeHost) {
    host.note_surface(REMOVED, None);
    host.print(&format!("{}: the gateway has removed this node: nothing runs here", host.name()));
}

/// Asks the gateway as an operator, because the gateway does not tell a node.
async fn surface(host: &Arc<NodeHost>) -> Looked {
    let (settings, state) = (host.gateway.clone(), host.state.clone());
    let settings = GatewaySettings { admin: false, ..settings };
    let find = move || Credentials::find(&settings, &state).ok()?.to_see_nodes();
    let Ok(Some(access)) = tokio::task::spawn_blocking(find).await else { return Looked::Hidden };
    let link = match Link::open(&access).await {
        Ok(link) => link,
        Err(OpenError::Refused { .. } | OpenError::MissingScope { .. }) => return Looked::Hidden,
        Err(_) => return Looked::Unanswered,
    };
    let listed = link.call("node.list", json!({})).await;
    link.end().await;
    listed.map_or(Looked::Unanswered, |listed| in_list(&listed, &host.id))
}

/// What a list of nodes says of this one.
fn in_list(listed: &Value, id: &str) -> Looked {
    let nodes = listed.get("nodes").and_then(Value::as_array).or_else(|| listed.as_array());
    let own = nodes.into_iter().flatten();
    let mut own = own.filter(|node| node.get("nodeId").and_then(Value::as_str) == Some(id));
    let Some(own) = own.next() else { return Looked::Unanswered };
    let request = own.get("pendingRequestId").and_then(Value::as_str).map(str::to_owned);
    match own.get("approvalState").and_then(Value::as_str) {
        Some("approved") => Looked::Approved,
        Some(state) if state.starts_with("pending") => Looked::Pending(request),
        _ if request.is_some() => Looked::Pending(request),
        // Releases without such a state list the commands that may be called.
        None if own.get("commands").and_then(Value::as_array).is_some_and(|all| !all.is_empty()) => {
            Looked::Approved
        }
        _ => Looked::NotApproved,
    }
}
