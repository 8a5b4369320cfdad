//! One connection, from its beginning to its end.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use tokio::join;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::gateway::problem::Disconnected;
use crate::gateway::testing::{Client, Gateway, hello};
use crate::gateway::{CallError, Link, Refused};

async fn linked() -> (Link, Client) {
    let gateway = Gateway::new().await;
    let access = gateway.access();
    let (link, client) = join!(Link::open(&access), gateway.welcome());
    (link.unwrap(), client)
}

#[tokio::test]
async fn is_let_in_with_what_it_has() {
    let gateway = Gateway::new().await;
    let access = gateway.access();
    let talk = async {
        let mut client = gateway.accept().await;
        client.challenge().await;
        let connect = client.hear().await;
        client.answer(&connect["id"], hello()).await;
        (client, connect)
    };
    let (link, (mut client, connect)) = join!(Link::open(&access), talk);
    let link = link.unwrap();
    assert_eq!(connect["type"], "req");
    assert_eq!(connect["method"], "connect");
    let params = &connect["params"];
    assert_eq!((&params["minProtocol"], &params["maxProtocol"]), (&json!(3), &json!(4)));
    assert_eq!(params["client"]["id"], "gateway-client");
    assert_eq!(params["client"]["mode"], "backend");
    assert_eq!(params["scopes"], json!(["operator.approvals"]));
    assert_eq!(params["auth"], json!({"token": "X"}));
    assert_eq!(params["device"]["nonce"], "n-1");
    assert_eq!(params["device"]["signedAt"], 1_795_225_539_548_i64);
    assert_eq!((link.hello().protocol, link.hello().version.as_str()), (4, "2026.9.6"));
    drop(link);
    client.gone().await;
}

#[tokio::test]
async fn the_first_answer_of_an_id_is_the_answer() {
    let (link, mut client) = linked().await;
    let talk = async {
        let (one, other) = (client.hear().await, client.hear().await);
        assert_eq!((&one["method"], &one["params"]), (&json!("a"), &json!({"x": 1})));
        client.answer(&json!("nobody's"), json!("wrong")).await;
        client.event("tick", json!({})).await;
        client.send_json(json!({"type": "new", "x": 1})).await;
        client.refuse(&other["id"], json!({"code": "FORBIDDEN", "message": "no"})).await;
        client.answer(&one["id"], json!({"status": "accepted"})).await;
        client.answer(&one["id"], json!({"decision": "allow-once"})).await;
        client.answer(&other["id"], json!({"decision": "allow-once"})).await;
        let next = client.hear().await;
        assert!(next["id"] != one["id"] && next["id"] != other["id"]);
        client.answer(&next["id"], json!(3)).await;
    };
    let calls = async {
        let (one, other) = join!(link.call("a", json!({"x": 1})), link.call("b", json!({})));
        assert_eq!(one, Ok(json!({"status": "accepted"})));
        let refused = Refused { code: "FORBIDDEN".into(), message: "no".into(), details: json!(null) };
        assert_eq!(other, Err(CallError::Refused(refused)));
        assert_eq!(link.call("c", json!({})).await, Ok(json!(3)));
    };
    join!(talk, calls);
}

#[tokio::test]
async fn pending_calls_fail_when_the_connection_ends() {
    let (link, mut client) = linked().await;
    let talk = async {
        client.hear().await;
        client.event("shutdown", json!({"reason": "x"})).await;
        drop(client);
    };
    let (answer, ()) = join!(link.call("a", json!({})), talk);
    let lost = Disconnected::Closed { code: None, reason: String::new() };
    assert_eq!(answer, Err(CallError::Lost(lost.clone())));
    assert_eq!(link.lost().await, lost);
    assert_eq!(link.call("b", json!({})).await, Err(CallError::Lost(lost)));
}

/// Returns how a link ends when the gateway does what `talk` does.
async fn lost(talk: impl AsyncFnOnce(&mut Client)) -> Disconnected {
    let (link, mut client) = Client::linked().await;
    let (lost, ()) = join!(link.lost(), talk(&mut client));
    assert_eq!(link.call("x", json!({})).await, Err(CallError::Lost(lost.clone())));
    lost
}

#[tokio::test]
async fn a_malformed_frame_ends_the_connection() {
    for message in [
        Message::text("x"),
        Message::text("{\"type\":\"res\",\"id\":1,\"ok\":true}"),
        Message::binary(vec![1]),
        Message::text(format!("{{\"type\":\"event\",\"event\":\"{}\"}}", "x".repeat(4 << 20))),
        Message::text("[".repeat(1 << 20)),
    ] {
        let lost = lost(async |client| {
            let _ = client.send(message).await;
            client.gone().await;
        });
        let lost = lost.await;
        assert!(matches!(lost, Disconnected::Broken(_)), "{lost:?}");
    }
}

#[tokio::test]
async fn a_restart_is_told_from_a_loss() {
    let close = CloseFrame { code: 1012.into(), reason: "service restart\x1b".into() };
    let closed = lost(async |client| client.0.close(Some(close)).await.unwrap()).await;
    assert_eq!(closed, Disconnected::Closed { code: Some(1012), reason: "service restart\x1b".into() });
    assert!(!closed.to_string().contains('\x1b'));
}

/// Ticks keep a link alive; without ticks it ends after two intervals and five seconds.
#[tokio::test(start_paused = true)]
async fn silence_is_the_end() {
    let lost = lost(async |client| {
        let start = tokio::time::Instant::now();
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(60)).await;
            client.event("tick", json!({})).await;
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        client.send(Message::Ping(Bytes::new())).await.unwrap();
        client.gone().await;
        assert_eq!(start.elapsed().as_secs(), 11 * 60 + 65);
    });
    assert_eq!(lost.await, Disconnected::Silent(65));
}

#[tokio::test]
async fn pings_are_answered() {
    let (link, mut client) = linked().await;
    client.send(Message::Ping(Bytes::from_static(b"x"))).await.unwrap();
    assert_eq!(client.0.next().await.unwrap().unwrap(), Message::Pong(Bytes::from_static(b"x")));
    drop(link);
}

#[tokio::test]
async fn a_late_answer_goes_to_no_other_call() {
    let (link, mut client) = linked().await;
    let given_up = {
        let call = link.call("a", json!({}));
        tokio::pin!(call);
        tokio::select! {
            answer = &mut call => panic!("{answer:?}"),
            frame = client.hear() => frame,
        }
    };
    let talk = async {
        let next = client.hear().await;
        client.answer(&given_up["id"], json!({"decision": "allow-once"})).await;
        client.answer(&next["id"], json!(1)).await;
    };
    let (answer, ()) = join!(link.call("b", json!({})), talk);
    assert_eq!(answer, Ok(json!(1)));
}

#[tokio::test]
async fn a_flood_of_events_holds_nothing_up() {
    let (link, mut client) = linked().await;
    let talk = async {
        let call = client.hear().await;
        for at in 0..1_000 {
            client.event("exec.approval.requested", json!(at)).await;
        }
        client.answer(&call["id"], json!(1)).await;
    };
    let (answer, ()) = join!(link.call("a", json!({})), talk);
    assert_eq!(answer, Ok(json!(1)));
}

#[tokio::test]
async fn the_last_clone_ends_it() {
    let (link, mut client) = linked().await;
    let other = link.clone();
    drop(link);
    let (answer, ()) = join!(other.call("a", json!({})), async {
        let call = client.hear().await;
        client.answer(&call["id"], json!(1)).await;
    });
    assert_eq!(answer, Ok(json!(1)));
    drop(other);
    client.gone().await;
}

/// Each call gets its own answer, in whatever order the answers arrive.
#[tokio::test]
async fn two_hundred_at_once() {
    let (link, mut client) = linked().await;
    let talk = async {
        let mut calls = Vec::new();
        for _ in 0..200 {
            calls.push(client.hear().await);
        }
        let middle = calls.len() / 2;
        calls.rotate_left(middle);
        calls.reverse();
        for call in calls {
            client.answer(&call["id"], call["params"].clone()).await;
        }
    };
    let all = futures_util::future::join_all((0..200).map(|at| link.call("a", json!({ "at": at }))));
    let (answers, ()) = join!(all, talk);
    for (at, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer, Ok(json!({ "at": at })));
    }
}
