//! The gateway's messages. Only the first whole frame that names a call answers that call. Only a greeting that
//! grants the right to approvals lets the guard in. Only an explicit approval of the question allows it.

use std::collections::HashSet;

use futures_util::{SinkExt, StreamExt};
use guard_approvals::routes::gateway::reply::{self, GatewayReply};
use guard_openclaw::gateway::fuzzed::{Frame, Hello, Link, Socket, Stream, greeted, limits, read};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::input::Input;

/// The id of the question.
const QUESTION: &str = "3f0c1c1e-0000-4000-8000-000000000001";
/// The number of pending calls.
const CALLS: usize = 3;

/// Runs one gateway.
pub fn gateway(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(4) {
        0 => text(&mut input),
        1 => conversation(&mut input),
        2 => bytes(&mut input),
        _ => greeting(&mut input),
    }
}

/// A runtime with paused time, which advances when nothing else happens.
fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(work)
}

/// A message, and whether it is a whole frame as a gateway writes it.
fn message(input: &mut Input<'_>) -> (String, bool) {
    if input.below(8) == 0 {
        return (String::from_utf8_lossy(input.text()).into_owned(), false);
    }
    let id = input.pick(&["1", "2", "3", "1", "2", "3", "connect", "4", "", "01"]);
    let (frame, is_whole) = match input.below(8) {
        0 => (
            json!({"type": "event", "event": input.pick(&["tick", "shutdown", "connect.challenge"]), "payload": payload(input)}),
            true,
        ),
        1 => (
            json!({"type": input.pick(&["req", "new", "RES"]), "id": id, "ok": true, "payload": payload(input)}),
            true,
        ),
        2 => (
            json!({"type": "res", "id": input.pick(&[json!(1), json!(null), json!(["1"])]), "ok": true, "payload": payload(input)}),
            false,
        ),
        3 => (
            json!({"type": "res", "id": id, "ok": input.pick(&[json!("true"), json!(1), json!(null)]), "payload": payload(input)}),
            false,
        ),
        4 => {
            let error = json!({"code": "INVALID_REQUEST", "message": "no", "details": payload(input)});
            (json!({"type": "res", "id": id, "ok": false, "payload": payload(input), "error": error}), true)
        }
        _ => (json!({"type": "res", "id": id, "ok": true, "payload": payload(input)}), true),
    };
    let mut text = frame.to_string();
    if input.below(6) > 0 {
        return (text, is_whole);
    }
    let at = input.below(text.len().min(256));
    if !text.is_char_boundary(at) || !text.is_char_boundary(at + 1) {
        return (text, is_whole);
    }
    match input.below(3) {
        0 => text.truncate(at),
        1 => text.replace_range(at..=at, ""),
        _ => text.insert(at, char::from(input.byte())),
    }
    (text, false)
}

fn payload(input: &mut Input<'_>) -> Value {
    let id = input.pick(&[QUESTION, QUESTION, "other", ""]);
    let decision = input.pick(&["allow-once", "allow-always", "deny", "ALLOW-ONCE", "allow", ""]);
    match input.below(10) {
        0 => json!(null),
        1 => json!([id, "accepted", decision]),
        2 => json!({"status": "accepted", "id": id}),
        3 => json!({"id": id, "decision": null, "terminalReason": "timeout"}),
        4 => json!({"id": id, "decision": [decision]}),
        5 => json!(decision),
        6 => json!({"nonce": "n", "ts": input.number(4)}),
        7 => hello(input),
        _ => json!({"id": id, "decision": decision}),
    }
}

fn hello(input: &mut Input<'_>) -> Value {
    let all = [
        json!(["operator.approvals"]),
        json!([]),
        json!(null),
        json!(["operator.admin"]),
        json!("operator.approvals"),
    ];
    let scopes = input.pick(&all);
    json!({"type": input.pick(&["hello-ok", "hello-ok", "hello"]), "protocol": input.pick(&[3, 4, 2, 5]), "auth": {"scopes": scopes},
        "policy": {"tickIntervalMs": input.number(4)}})
}

/// Parses a frame independently: its id, whether it succeeded, and its payload.
fn answer(text: &str) -> Option<(String, bool, Value)> {
    let frame: Value = serde_json::from_str(text).ok()?;
    let is_answer = frame.is_object() && frame["type"] == "res";
    let (id, ok) = (frame["id"].as_str()?, frame["ok"].as_bool()?);
    is_answer.then(|| (id.to_owned(), ok, frame["payload"].clone()))
}

fn text(input: &mut Input<'_>) {
    let (text, is_whole) = message(input);
    match read(&text) {
        Ok(Frame::Answer { id, answer: Ok(payload) }) => {
            assert_eq!(answer(&text), Some((id, true, payload.clone())), "{text}");
            yes(&payload);
        }
        Ok(Frame::Answer { id, answer: Err(refused) }) => {
            assert!(answer(&text).is_some_and(|(reply_id, ok, _)| reply_id == id && !ok), "{text}");
            let shown = refused.to_string();
            assert!(
                !shown.contains(|character: char| character.is_control() || character == '\u{202e}'),
                "{text}"
            );
        }
        Ok(Frame::Event(_) | Frame::Other) => assert_eq!(answer(&text), None, "{text}"),
        Err(_) => assert!(!is_whole, "{text}"),
    }
}

/// A payload allows the question only if it says so and names this question.
fn yes(payload: &Value) {
    if let Ok(GatewayReply::Decided(decision)) = reply::read(QUESTION, payload) {
        let word = payload.get("decision").and_then(Value::as_str);
        assert_eq!(payload.get("id").and_then(Value::as_str), Some(QUESTION), "{payload}");
        assert_eq!(decision.allows(), matches!(word, Some("allow-once" | "allow-always")), "{payload}");
        assert!(decision.allows() || word == Some("deny"), "{payload}");
    }
}

async fn end(stream: DuplexStream, role: Role) -> Socket {
    WebSocketStream::from_raw_socket(Box::new(stream) as Box<dyn Stream>, role, Some(limits())).await
}

async fn link() -> (Link, DuplexStream) {
    let (ours, theirs) = duplex(1 << 20);
    let hello = json!({"type": "hello-ok", "protocol": 4, "auth": {"scopes": ["operator.approvals"]}});
    let (hello, _) = Hello::read(hello, 0).unwrap();
    (Link::new(end(ours, Role::Client).await, hello), theirs)
}

/// Pending calls, and answers in any order.
fn conversation(input: &mut Input<'_>) {
    let given_up: HashSet<usize> = (0..CALLS).filter(|_| input.below(4) == 0).collect();
    let mut messages = Vec::new();
    while messages.len() < 12 && !input.is_empty() {
        messages.push(message(input));
    }
    let answers = run(async {
        let (link, theirs) = link().await;
        let mut peer = end(theirs, Role::Server).await;
        let calls: Vec<_> = (0..CALLS)
            .map(|at| {
                let link = link.clone();
                tokio::spawn(
                    async move { link.call("exec.approval.waitDecision", json!({ "at": at })).await },
                )
            })
            .collect();
        for at in 0..CALLS {
            let Some(Ok(Message::Text(asked))) = peer.next().await else { panic!("{at}") };
            let asked: Value = serde_json::from_str(&asked).unwrap();
            assert_eq!((&asked["type"], &asked["params"]["at"]), (&json!("req"), &json!(at)));
            assert_eq!(asked["id"], (at + 1).to_string());
        }
        given_up.iter().for_each(|at| calls[*at].abort());
        tokio::task::yield_now().await;
        for (text, _) in &messages {
            let _ = peer.send(Message::text(text.clone())).await;
        }
        drop(peer);
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await.ok());
        }
        answers
    });
    let all = format!("{messages:?}");
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_none(), given_up.contains(&at), "{all}");
        let id = (at + 1).to_string();
        let mut frames = messages
            .iter()
            .filter_map(|(text, _)| self::answer(text))
            .filter(|(reply_id, _, _)| *reply_id == id);
        let first = frames.next();
        match answer {
            Some(Ok(payload)) => {
                let (_, ok, reply_payload) = first.unwrap_or_else(|| panic!("{all}"));
                assert!(ok && reply_payload == *payload, "{id}: {all}");
                yes(payload);
            }
            // Either the call was answered with an error, or a broken frame came before.
            Some(Err(error)) => {
                let is_broken = messages.iter().any(|(_, is_whole)| !is_whole);
                assert!(is_broken || first.is_none_or(|(_, ok, _)| !ok), "{id}: {error}: {all}");
            }
            None => {}
        }
    }
}

/// Whatever bytes arrive, only a message that names a call answers it.
fn bytes(input: &mut Input<'_>) {
    let sent = input.rest();
    let answer = run(async {
        let (link, mut theirs) = link().await;
        let call = link.call("exec.approval.waitDecision", json!({}));
        let talk = async {
            // By now the call was sent.
            tokio::task::yield_now().await;
            let _ = theirs.write_all(sent).await;
            let _ = theirs.shutdown().await;
            drop(theirs);
        };
        tokio::join!(call, talk).0
    });
    if answer.is_ok() {
        let holds = |part: &[u8]| sent.windows(part.len()).any(|window| window == part);
        assert!(holds(b"true") && holds(b"1") && holds(b"type"), "{}", sent.escape_ascii());
    }
}

/// A peer that sends arbitrary bytes to a guard that connects.
fn greeting(input: &mut Input<'_>) {
    let mut messages = Vec::new();
    while messages.len() < 6 && !input.is_empty() {
        messages.push(match input.below(3) {
            0 => message(input).0,
            1 => {
                json!({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n"}}).to_string()
            }
            _ => json!({"type": "res", "id": "connect", "ok": true, "payload": hello(input)}).to_string(),
        });
    }
    let is_let_in = run(async {
        let (ours, theirs) = duplex(1 << 20);
        let mut peer = end(theirs, Role::Server).await;
        let talk = async {
            for text in &messages {
                let _ = peer.send(Message::text(text.clone())).await;
            }
            drop(peer);
        };
        tokio::join!(greeted(end(ours, Role::Client).await), talk).0
    });
    if is_let_in {
        let frames = messages.iter().filter_map(|text| serde_json::from_str::<Value>(text).ok());
        let mut frames = frames.filter(Value::is_object);
        let is_challenge =
            |frame: &Value| frame["event"] == "connect.challenge" && frame["payload"]["nonce"].is_string();
        assert!(frames.any(|frame| is_challenge(&frame)), "{messages:?}");
        let mut answers =
            messages.iter().filter_map(|text| answer(text)).filter(|(id, _, _)| id == "connect");
        let grants = |hello: &Value| {
            let scopes = hello["auth"]["scopes"].as_array();
            hello["type"] == "hello-ok"
                && scopes.is_some_and(|scopes| scopes.contains(&json!("operator.approvals")))
        };
        assert!(answers.any(|(_, ok, hello)| ok && grants(&hello)), "{messages:?}");
    }
}
