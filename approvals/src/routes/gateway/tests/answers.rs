//! What counts as an answer, and what follows from it.

use super::*;

#[tokio::test]
async fn always_is_saved_or_else_allowed_this_time_only() {
    let guard = GatewayFixture::new(ONLY).await;
    let (program, other) = (guard.ask(&question(&["/bin/a"])), guard.ask(&file("/x")));
    let mut peer = guard.gateway.welcome().await;
    let mut waits = Vec::new();
    while waits.len() < 2 {
        let call = timeout(SOON, peer.hear()).await.unwrap();
        if call["method"] == "exec.approval.request" {
            peer.answer(&call["id"], json!({"status": "accepted", "id": call["params"]["id"]})).await;
        } else {
            waits.push(call);
        }
    }
    for wait in waits {
        decided(&mut peer, &wait["id"], &wait["params"], json!("allow-always")).await;
    }
    assert_eq!(ended(program).await, Resolution::Resolved(ALWAYS));
    assert_eq!(ended(other).await, Resolution::Resolved(Decision::AllowOnce));
    let store = guard.state.path().join("guard/approvals.json");
    for _ in 0..3000 {
        if store.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(std::fs::read_to_string(store).unwrap().contains("/bin/a"));
    assert!(guard.warnings().contains("this time only"), "{}", guard.warnings());
}

#[tokio::test]
async fn a_gateway_without_clients_is_no_route() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let request = heard(&mut peer, "exec.approval.request").await;
    decided(&mut peer, &request["id"], &request["params"], Value::Null).await;
    assert_eq!(ended(ticket).await, Resolution::NoRoute);
    assert!(guard.warnings().contains("Control UI"), "{}", guard.warnings());
}

#[tokio::test]
async fn beside_other_routes_the_gateway_waits_for_clients() {
    let guard = GatewayFixture::new(None).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let request = heard(&mut peer, "exec.approval.request").await;
    assert_eq!(request["params"]["requireDeliveryRoute"], false);
    // An older release, which does not know the parameter, says at once that nobody is there.
    decided(&mut peer, &request["id"], &request["params"], Value::Null).await;
    let call = ticket.call();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(guard.manager.resolve(&call.to_string(), None, Decision::AllowOnce, Route::Cli).is_ok());
    assert_eq!(ended(ticket).await, Resolution::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn no_card_stays() {
    for (elsewhere, word) in [
        (Some(Decision::AllowFor(GrantWidth::Narrow, Span::Session)), "allow-once"),
        (Some(ALWAYS), "allow-once"),
        (Some(Decision::Deny), "deny"),
        (None, "deny"),
    ] {
        let guard = GatewayFixture::new(None).await;
        let ticket = guard.ask(&question(&["/bin/a"]));
        let mut peer = guard.gateway.welcome().await;
        let (params, _) = taken(&mut peer, &ticket).await;
        match elsewhere {
            Some(decision) => {
                guard.manager.resolve(&ticket.call().to_string(), None, decision, Route::Cli).unwrap();
            }
            // Its caller has gone.
            None => drop(ticket),
        }
        let resolve = heard(&mut peer, "exec.approval.resolve").await;
        assert_eq!(resolve["params"], json!({"id": params["id"], "decision": word}));
        peer.answer(&resolve["id"], json!({"ok": true})).await;
        timeout(SOON, guard.client.idle()).await.unwrap();
    }
}

#[tokio::test]
async fn a_guard_that_ends_withdraws_its_questions() {
    let guard = GatewayFixture::new(None).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    guard.manager.close("the guard is ending");
    let idle = guard.client.idle();
    let resolve = async {
        let resolve = heard(&mut peer, "exec.approval.resolve").await;
        assert_eq!(resolve["params"], json!({"id": params["id"], "decision": "deny"}));
        peer.answer(&resolve["id"], json!({"ok": true})).await;
    };
    timeout(SOON, async { tokio::join!(idle, resolve) }).await.unwrap();
    assert_eq!(ended(ticket).await, Resolution::Withdrawn);
}

#[tokio::test]
async fn a_malformed_decision_is_no_answer() {
    let other = uuid::Uuid::nil().to_string();
    for (n, strange) in [
        json!(null),
        json!("allow-once"),
        json!(["ID", null, "allow-once", null]),
        json!({"decision": "allow-once"}),
        json!({"id": other, "decision": "allow-once"}),
        json!({"id": "ID", "decision": "allow"}),
        json!({"id": "ID", "decision": "ALLOW-ONCE"}),
        json!({"id": "ID", "decision": true}),
        json!({"id": "ID", "decision": ["allow-once"]}),
        json!({"id": "ID", "status": "accepted"}),
        json!({"id": "ID", "status": "resolved"}),
        json!({"id": "ID"}),
        json!({"ok": true}),
    ]
    .into_iter()
    .enumerate()
    {
        let guard = GatewayFixture::new(ONLY).await;
        let ticket = guard.ask(&question(&["/bin/a"]));
        let mut peer = guard.gateway.welcome().await;
        let (params, wait) = taken(&mut peer, &ticket).await;
        let mut strange = strange;
        if strange[0] == "ID" {
            strange[0] = params["id"].clone();
        }
        if strange["id"] == "ID" {
            strange["id"] = params["id"].clone();
        }
        peer.answer(&wait, strange).await;
        assert_eq!(ended(ticket).await, Resolution::Failed, "{n}");
    }
}

#[tokio::test]
async fn an_error_is_no_answer() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    let payload = json!({"id": params["id"], "decision": "allow-once"});
    peer.send_json(json!({"type": "res", "id": wait, "ok": false, "payload": payload,
        "error": {"code": "FORBIDDEN", "message": "allow-once"}}))
        .await;
    assert_eq!(ended(ticket).await, Resolution::Failed);
}

#[tokio::test]
async fn a_request_is_repeated_when_the_gateway_is_unavailable() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let request = heard(&mut peer, "exec.approval.request").await;
    let busy =
        json!({"code": "UNAVAILABLE", "message": "unavailable during gateway restart", "retryable": true});
    peer.refuse(&request["id"], busy).await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    decided(&mut peer, &wait, &params, json!("allow-once")).await;
    assert_eq!(ended(ticket).await, Resolution::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn a_question_too_long_to_read_is_not_asked() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a", &"x".repeat(20_000)]));
    assert_eq!(ended(ticket).await, Resolution::Failed);
    assert!(guard.warnings().contains("too long"), "{}", guard.warnings());
}

/// A question that nobody saw is not allowed by silence, even if other routes could be asked and stay silent.
#[tokio::test(start_paused = true)]
async fn silence_is_no_answer_where_a_route_has_failed() {
    let guard = GatewayFixture::new(Some(&[Route::Gateway, Route::Cli])).await;
    let long = guard.ask(&question(&["/bin/a", &"x".repeat(20_000)]));
    let call = long.call().to_string();
    let ended = tokio::time::timeout(Duration::from_secs(3600), long.ended()).await.unwrap();
    assert_eq!(ended, Resolution::Failed);
    let late = guard.manager.resolve(&call, None, Decision::AllowOnce, Route::Cli);
    assert_eq!(late, Err(ResolveError::NoRoute));
    // A human on another route may still answer.
    let long = guard.ask(&question(&["/bin/b", &"x".repeat(20_000)]));
    tokio::time::sleep(Duration::from_millis(100)).await;
    guard.manager.resolve(&long.call().to_string(), None, Decision::AllowOnce, Route::Cli).unwrap();
    assert_eq!(long.ended().await, Resolution::Resolved(Decision::AllowOnce));
}

/// Until the gateway accepts a question, nobody has seen it.
#[tokio::test]
async fn a_gateway_that_says_nothing_has_asked_nobody() {
    for is_taken in [false, true] {
        let guard = GatewayFixture::new(ONLY).await;
        let short = Settings { timeout: Duration::from_secs(5), ..settings() };
        guard.manager.configure(Settings { routes: ONLY.map(<[Route]>::to_vec), ..short });
        let ticket = guard.ask(&question(&["/bin/a"]));
        let mut peer = guard.gateway.welcome().await;
        let end = if is_taken {
            taken(&mut peer, &ticket).await;
            Resolution::Expired
        } else {
            heard(&mut peer, "exec.approval.request").await;
            Resolution::Failed
        };
        assert_eq!(ended(ticket).await, end);
    }
}

#[tokio::test]
async fn a_question_that_is_nearly_over_fails_all_the_same() {
    let guard = GatewayFixture::new(ONLY).await;
    let short = Settings { timeout: Duration::from_millis(1500), ..settings() };
    guard.manager.configure(Settings { routes: ONLY.map(<[Route]>::to_vec), ..short });
    let ticket = guard.ask(&question(&["/bin/a", &"x".repeat(20_000)]));
    assert_eq!(ended(ticket).await, Resolution::Failed);
}

#[tokio::test]
async fn programs_are_reported_to_the_session_where_that_is_allowed() {
    let guard = GatewayFixture::new(ONLY).await;
    let session = SessionReporter::new(guard.manager.clone(), guard.find(), "agent:main:main".to_owned());
    tokio::spawn(session.run());
    let lifecycle = || Lifecycle {
        id: uuid::Uuid::nil(),
        command: "curl --token sk-abcdefghijklmnopqrstuvwxyz012345 \u{1b}[31m".to_owned(),
        going: Going::Denied(DenyReason::User),
    };
    tokio::task::yield_now().await;
    // Without `admin` the guard reports nothing and opens no connection.
    guard.manager.report(lifecycle());
    let gateway = GatewaySettings { admin: true, ..GatewaySettings::default() };
    tokio::time::sleep(Duration::from_millis(100)).await;
    guard.manager.configure(Settings { gateway, ..settings() });
    guard.manager.report(lifecycle());
    let mut peer = guard.gateway.welcome_by(admin_hello()).await;
    let event = heard(&mut peer, "system-event").await;
    assert_eq!(event["params"]["sessionKey"], "agent:main:main");
    let text = event["params"]["text"].as_str().unwrap();
    assert!(text.starts_with("Exec denied (guard id="), "{text}");
    assert!(!text.contains("abcdefghijklmnop") && !text.contains('\u{1b}'), "{text}");
}
