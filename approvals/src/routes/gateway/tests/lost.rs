//! Lost connections, and gateways that are down.

use super::*;

#[tokio::test]
async fn a_lost_connection_is_made_again_and_the_same_question_awaited() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    for _ in 0..2 {
        drop(peer);
        peer = guard.gateway.welcome().await;
        // The question is not sent again, so there is no second card.
        let wait = heard(&mut peer, "exec.approval.waitDecision").await;
        assert_eq!(wait["params"]["id"], params["id"]);
    }
    drop(peer);
    let mut peer = guard.gateway.welcome().await;
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    decided(&mut peer, &wait["id"], &params, json!("allow-once")).await;
    assert_eq!(ended(ticket).await, Resolution::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn a_question_is_asked_once_though_the_connection_is_lost() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let request = heard(&mut peer, "exec.approval.request").await;
    drop(peer);
    let mut peer = guard.gateway.welcome().await;
    // The gateway had not received it.
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    let unknown = json!({"code": "INVALID_REQUEST", "message": "approval expired or not found"});
    peer.refuse(&wait["id"], unknown).await;
    let again = heard(&mut peer, "exec.approval.request").await;
    assert_eq!(again["params"]["id"], request["params"]["id"]);
    // The gateway received it just then.
    peer.refuse(&again["id"], json!({"code": "INVALID_REQUEST", "message": "approval id already pending"}))
        .await;
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    decided(&mut peer, &wait["id"], &request["params"], json!("deny")).await;
    assert_eq!(ended(ticket).await, Resolution::Resolved(Decision::Deny));
}

async fn restarted(gateway: &Gateway, boot: &str) -> Peer {
    let mut hello = hello();
    hello["server"]["bootId"] = json!(boot);
    gateway.welcome_by(hello).await
}

#[tokio::test]
async fn a_gateway_that_has_forgotten_by_starting_again_is_asked_again() {
    let guard = GatewayFixture::new(None).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    drop(peer);
    let mut peer = restarted(&guard.gateway, "boot-2").await;
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    let unknown = json!({"code": "INVALID_REQUEST", "message": "approval expired or not found"});
    peer.refuse(&wait["id"], unknown).await;
    let request = heard(&mut peer, "exec.approval.request").await;
    assert_eq!(request["params"]["id"], params["id"]);
    // OpenClaw 2026.9.6 rejects an id that was used before.
    let used = json!({"code": "UNAVAILABLE", "message": "approval request unavailable"});
    peer.refuse(&request["id"], used).await;
    let request = heard(&mut peer, "exec.approval.request").await;
    assert_ne!(request["params"]["id"], params["id"]);
    peer.answer(&request["id"], json!({"status": "accepted", "id": request["params"]["id"]})).await;
    heard(&mut peer, "exec.approval.waitDecision").await;
    // The question is also withdrawn under its new id.
    drop(ticket);
    let resolve = heard(&mut peer, "exec.approval.resolve").await;
    assert_eq!(resolve["params"]["id"], request["params"]["id"]);
}

#[tokio::test]
async fn an_answer_that_was_missed_is_none() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    taken(&mut peer, &ticket).await;
    drop(peer);
    // The same run of the gateway: somebody has answered meanwhile, and a second card would ask again.
    let mut peer = guard.gateway.welcome().await;
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    let unknown = json!({"code": "INVALID_REQUEST", "message": "approval expired or not found"});
    peer.refuse(&wait["id"], unknown).await;
    assert_eq!(ended(ticket).await, Resolution::Failed);
}

#[tokio::test]
async fn a_gateway_that_stays_away_is_no_route() {
    let guard = GatewayFixture::patient(ONLY, Duration::from_secs(2)).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    taken(&mut peer, &ticket).await;
    let GatewayFixture { gateway, warnings, .. } = guard;
    drop((peer, gateway));
    assert_eq!(ended(ticket).await, Resolution::NoRoute);
    assert!(warnings.lock().unwrap().join("\n").contains("nobody listens"));
}

#[tokio::test]
async fn a_gateway_that_never_listened_is_no_route_at_once() {
    let mut guard = GatewayFixture::new(ONLY).await;
    // The old gateway no longer listens.
    guard.gateway = Gateway::new().await;
    assert_eq!(ended(guard.ask(&question(&["/bin/a"]))).await, Resolution::NoRoute);
    assert!(guard.warnings().contains("nobody listens"), "{}", guard.warnings());
}

/// Accepts one connection and rejects it as temporarily unavailable.
async fn busy(gateway: &Gateway) {
    let mut raw = gateway.raw().await;
    raw.write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    // Read what the guard sends before closing.
    let _ = raw.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn a_busy_gateway_is_tried_again() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    for _ in 0..2 {
        busy(&guard.gateway).await;
    }
    let mut peer = guard.gateway.welcome().await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    decided(&mut peer, &wait, &params, json!("allow-once")).await;
    assert!(matches!(ended(ticket).await, Resolution::Resolved(_)), "{}", guard.warnings());
}

#[tokio::test]
async fn a_gateway_that_is_busy_for_long_is_no_route() {
    let guard = GatewayFixture::patient(ONLY, Duration::from_secs(1)).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let refusing = async {
        loop {
            busy(&guard.gateway).await;
        }
    };
    tokio::select! {
        () = refusing => {}
        end = ended(ticket) => assert_eq!(end, Resolution::Failed),
    }
    assert!(guard.warnings().contains("503"), "{}", guard.warnings());
}

#[tokio::test]
async fn a_gateway_that_rejects_the_token_is_no_route() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.accept().await;
    peer.challenge().await;
    let connect = peer.hear().await;
    let message = "unauthorized: gateway token mismatch";
    let error =
        json!({"code": "INVALID_REQUEST", "message": message, "details": {"code": "AUTH_TOKEN_MISMATCH"}});
    peer.refuse(&connect["id"], error).await;
    assert_eq!(ended(ticket).await, Resolution::Failed);
    assert!(guard.warnings().contains(message), "{}", guard.warnings());
}

/// Only an error of the kernel that proves absence counts as absence.
#[test]
fn a_local_error_does_not_count_as_an_absent_gateway() {
    use std::io::{Error, ErrorKind};
    let at = || "ws://127.0.0.1:1".to_owned();
    let down = |error| Down::Open(Arc::new(error)).lack();
    assert_eq!(down(OpenError::Nobody { at: at() }), RouteFailure::Nobody);
    for (kind, lack) in [
        (ErrorKind::HostUnreachable, RouteFailure::Nobody),
        (ErrorKind::NetworkUnreachable, RouteFailure::Nobody),
        (ErrorKind::TimedOut, RouteFailure::Nobody),
        // All ports, descriptors or memory are in use.
        (ErrorKind::AddrNotAvailable, RouteFailure::Failed),
        (ErrorKind::OutOfMemory, RouteFailure::Failed),
        (ErrorKind::PermissionDenied, RouteFailure::Failed),
    ] {
        assert_eq!(down(OpenError::Unreachable { at: at(), error: Error::from(kind) }), lack, "{kind}");
    }
    let files = OpenError::Unreachable { at: at(), error: Error::from_raw_os_error(libc::EMFILE) };
    assert_eq!(down(files), RouteFailure::Failed);
    assert_eq!(down(OpenError::Slow { at: at(), what: "an answer", seconds: 1 }), RouteFailure::Failed);
    assert_eq!(
        down(OpenError::Rejected { at: at(), rejected: GatewayRejected::Member(1) }),
        RouteFailure::Failed
    );
    assert_eq!(down(OpenError::NoGateway { at: at(), why: NotGateway::Http(404) }), RouteFailure::Failed);
    assert_eq!(Down::Broken.lack(), RouteFailure::Failed);
    let missing = |key: &str| NoAccess::Secret { at: at(), why: NoSecret::Reference { key: key.to_owned() } };
    assert_eq!(Down::from(missing("gateway.auth.token")).lack(), RouteFailure::Failed);
    let why = NoSecret::Nowhere { config: String::new(), owner: GatewayOwner::Local };
    let nowhere = NoAccess::Nowhere { at: at(), why };
    assert_eq!(Down::from(nowhere).lack(), RouteFailure::Nobody);
}
