//! One connection, from its beginning to its end.

use serde_json::json;
use tokio::join;

use super::scripted::{Client, Gateway, hello};
use crate::gateway::{CallError, Event, Link, Lost, Refused};

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
    assert_eq!((link.hello().protocol, link.hello().version.as_str()), (4, "2026.9.6"));
    assert!(link.hello().offers("exec.approval.request") && !link.hello().offers("x"));
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
        client.say(json!({"type": "new", "x": 1})).await;
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
async fn who_waits_hears_of_the_end() {
    let (link, mut client) = linked().await;
    let mut events = link.events();
    let talk = async {
        client.hear().await;
        client.event("shutdown", json!({"reason": "x"})).await;
        drop(client);
    };
    let (answer, ()) = join!(link.call("a", json!({})), talk);
    let lost = Lost::Closed { code: None, reason: String::new() };
    assert_eq!(answer, Err(CallError::Lost(lost.clone())));
    assert_eq!(link.lost().await, lost);
    assert_eq!(link.call("b", json!({})).await, Err(CallError::Lost(lost)));
    assert_eq!(events.recv().await, Ok(Event { event: "shutdown".into(), payload: json!({"reason": "x"}) }));
    assert!(events.recv().await.is_err() && link.events().recv().await.is_err());
}
