//! Tests the failures before the guard is admitted.

use guard_policy::approval::GatewayUrl;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::join;
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::gateway::identity::Identity;
use crate::gateway::testing::{Client, Gateway, hello};
use crate::gateway::{Credentials, Link, OpenError};

/// Opens a link while the gateway does what `talk` does, and returns the result.
async fn opening(talk: impl AsyncFnOnce(&Gateway)) -> Result<Link, OpenError> {
    let gateway = Gateway::new().await;
    let access = gateway.access();
    let (opened, ()) = join!(Link::open(&access), talk(&gateway));
    opened
}

async fn problem(talk: impl AsyncFnOnce(&Gateway)) -> String {
    let problem = opening(talk).await.unwrap_err().to_string();
    assert!(!problem.contains(char::is_control), "{problem}");
    problem
}

/// Refuses the next `connect` as a gateway does, waits until the guard disconnects, and returns the request.
async fn refuse(gateway: &Gateway, error: Value) -> Value {
    let mut client = gateway.accept().await;
    client.challenge().await;
    let connect = client.hear().await;
    client.refuse(&connect["id"], error).await;
    client.gone().await;
    connect
}

async fn greeted(gateway: &Gateway, hello: Value) {
    let mut client = gateway.accept().await;
    client.challenge().await;
    let connect = client.hear().await;
    client.answer(&connect["id"], hello).await;
    client.gone().await;
}

#[tokio::test]
async fn nobody_listens() {
    let gateway = Gateway::new().await;
    let access = gateway.access();
    drop(gateway);
    let problem = Link::open(&access).await.unwrap_err();
    assert!(
        matches!(problem, OpenError::Nobody { .. }) && problem.to_string().contains("openclaw gateway"),
        "{problem}"
    );
}

#[tokio::test]
async fn a_server_that_is_no_gateway_is_reported() {
    for greeting in [
        "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 301 Moved\r\nlocation: ws://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: x\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "\0\0\0",
    ] {
        let problem = problem(async |gateway| {
            let mut raw = gateway.raw().await;
            let mut request = vec![0; 4096];
            let heard = raw.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..heard]).to_lowercase();
            assert!(request.starts_with("get / http/1.1\r\n"), "{request}");
            for header in ["origin", "authorization", "x-forwarded", "cookie"] {
                assert!(!request.contains(header), "{request}");
            }
            raw.write_all(greeting.as_bytes()).await.unwrap();
        })
        .await;
        assert!(problem.contains("not a gateway of OpenClaw"), "{greeting}: {problem}");
    }
}

#[tokio::test]
async fn a_connection_may_end_at_every_step() {
    let steps: [&str; 4] = ["accepted", "upgraded", "challenged", "asked"];
    for step in steps {
        let opened = opening(async |gateway| {
            let raw = gateway.raw().await;
            if step == "accepted" {
                return;
            }
            let mut client = Client::upgrade(raw).await;
            if step == "upgraded" {
                return;
            }
            client.challenge().await;
            if step == "asked" {
                client.hear().await;
            }
        });
        let problem = opened.await.unwrap_err();
        let is_end = matches!(
            problem,
            OpenError::Lost { .. }
                | OpenError::Unreachable { .. }
                | OpenError::NoGateway { .. }
                | OpenError::Rejected { .. }
        );
        assert!(is_end, "{step}: {problem:?}");
    }
}

/// Paused time advances only while all tasks are idle.
#[tokio::test(start_paused = true)]
async fn a_missing_upgrade_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut access = Gateway::new().await.access();
    access.endpoint = GatewayUrl::parse(&format!("ws://{}", listener.local_addr().unwrap())).unwrap();
    let problem = Link::open(&access).await.unwrap_err();
    assert!(matches!(problem, OpenError::Slow { .. }), "{problem}");
}

#[tokio::test]
async fn a_challenge_is_wanted() {
    for payload in [json!(null), json!({}), json!({"nonce": ""}), json!({"nonce": 7}), json!([])] {
        let problem = problem(async |gateway| {
            let mut client = gateway.accept().await;
            client.event("tick", json!({})).await;
            client.event("connect.challenge", payload.clone()).await;
            client.gone().await;
        });
        assert!(problem.await.contains("a challenge without a nonce"));
    }
}

#[tokio::test]
async fn a_malformed_challenge_is_refused() {
    let messages = [
        Message::text("{"),
        Message::text("[1]"),
        Message::binary(Bytes::from_static(b"{}")),
        Message::text(format!("{{\"type\":\"x\",\"y\":\"{}\"}}", "y".repeat(1 << 20))),
        Message::text("y".repeat(5 << 20)),
    ];
    for message in messages {
        let length = message.len();
        let problem = problem(async |gateway| {
            let mut client = gateway.accept().await;
            // The guard may disconnect before it has read everything.
            let _ = client.send(message).await;
            client.gone().await;
        });
        let problem = problem.await;
        assert!(problem.contains("cannot parse"), "{length}: {problem}");
    }
}

#[tokio::test]
async fn a_half_frame_is_refused() {
    // The beginning of a text frame of 125 bytes, then the end of the connection.
    let problem = problem(async |gateway| {
        let client = gateway.accept().await;
        let mut raw = client.0.into_inner();
        raw.write_all(b"\x81\x7d{\"type\":").await.unwrap();
    });
    let problem = problem.await;
    assert!(problem.contains("closed the connection"), "{problem}");
    // A masked frame, which only a client sends, an unknown opcode, reserved bits, and text that is not
    // UTF-8.
    for bytes in [&b"\x81\x82\x01\x02\x03\x04ab"[..], b"\x8f\x01a", b"\xf1\x01a", b"\x81\x02\xff\xff"] {
        let problem = self::problem(async |gateway| {
            let client = gateway.accept().await;
            let mut raw = client.0.into_inner();
            raw.write_all(bytes).await.unwrap();
            let _ = raw.read(&mut [0; 64]).await;
        });
        let problem = problem.await;
        assert!(problem.contains("cannot parse"), "{bytes:?}: {problem}");
    }
}

#[tokio::test]
async fn others_hellos_are_none() {
    let problem = problem(async |gateway| {
        let mut client = gateway.accept().await;
        client.challenge().await;
        let connect = client.hear().await;
        client.answer(&json!("other"), hello()).await;
        client.refuse(&json!("other"), json!({"message": "other"})).await;
        client.answer(&connect["id"], json!({"type": "hello-ok", "protocol": 9})).await;
        client.gone().await;
    });
    assert!(problem.await.contains("protocol 9"));
}

#[tokio::test]
async fn the_scope_is_wanted() {
    for scopes in [json!([]), json!(null), json!(["operator.read", "operator.approval\u{1b}"])] {
        let problem = problem(async |gateway| {
            let mut hello = hello();
            hello["auth"]["scopes"] = scopes.clone();
            greeted(gateway, hello).await;
        });
        let problem = problem.await;
        assert!(problem.contains("does not grant operator.approvals"), "{problem}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_named_by_where_it_is_from() {
    let error = json!({
        "code": "INVALID_REQUEST",
        "message": "unauthorized: gateway token mismatch (provide gateway auth token)",
        "details": {"code": "AUTH_TOKEN_MISMATCH", "canRetryWithDeviceToken": false},
    });
    let problem = problem(async |gateway| {
        refuse(gateway, error).await;
    });
    let problem = problem.await;
    for part in ["token mismatch", "AUTH_TOKEN_MISMATCH", "the guard used a test"] {
        assert!(problem.contains(part), "{problem}");
    }
    assert!(!problem.contains("\"X\""), "{problem}");
}

fn unexpected(name: &str) -> Value {
    json!({"code": "INVALID_REQUEST", "message": format!("invalid connect params: at root: unexpected property '{name}'")})
}

#[tokio::test]
async fn a_release_that_knows_no_devices_is_tried_without() {
    let opened = opening(async |gateway| {
        let connect = refuse(gateway, unexpected("device")).await;
        assert_eq!(connect["params"]["device"]["nonce"], "n-1");
        let mut client = gateway.accept().await;
        client.challenge().await;
        let connect = client.hear().await;
        assert_eq!(connect["params"].get("device"), None);
        client.answer(&connect["id"], hello()).await;
    });
    opened.await.unwrap();
    // The guard retries once. It never leaves out a parameter without which it would not be admitted.
    for names in [&["device", "displayName"][..], &["device", "device"], &["scopes"], &["auth"], &["role"]] {
        let problem = problem(async |gateway| {
            for name in names {
                refuse(gateway, unexpected(name)).await;
            }
        });
        let problem = problem.await;
        assert!(problem.contains(&format!("unexpected property '{}'", names[names.len() - 1])), "{problem}");
    }
}

fn mismatch(code: &str) -> Value {
    json!({"code": "INVALID_REQUEST", "message": "no", "details": {"code": code}})
}

/// Returns credentials with a token that the gateway has issued to this device.
async fn with_token(gateway: &Gateway) -> (tempfile::TempDir, Credentials) {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().canonicalize().unwrap();
    Identity::find(&state).unwrap().save(&gateway.url(), "issued").unwrap();
    let access = Credentials { identity: Identity::find(&state).unwrap(), ..gateway.access() };
    (directory, access)
}

#[tokio::test]
async fn the_token_of_the_device_is_the_second_attempt() {
    let gateway = Gateway::new().await;
    let (directory, access) = with_token(&gateway).await;
    let talk = async {
        let first = refuse(&gateway, mismatch("AUTH_TOKEN_MISMATCH")).await;
        let second = refuse(&gateway, mismatch("AUTH_TOKEN_MISMATCH")).await;
        (first, second)
    };
    let (opened, (first, second)) = join!(Link::open(&access), talk);
    assert!(matches!(opened, Err(OpenError::Refused { .. })), "{opened:?}");
    assert_eq!(first["params"]["auth"], json!({"token": "X"}));
    assert_eq!(second["params"]["auth"], json!({"token": "X", "deviceToken": "issued"}));
    // Without another secret the device's token is tried first. It is removed when the gateway refuses it.
    let access = Credentials { secret: None, ..access };
    let (_, first) = join!(Link::open(&access), refuse(&gateway, mismatch("AUTH_DEVICE_TOKEN_MISMATCH")));
    assert_eq!(first["params"]["auth"], json!({"deviceToken": "issued"}));
    let identity = Identity::find(&directory.path().canonicalize().unwrap()).unwrap();
    assert_eq!(identity.token(&gateway.url()), None);
}

#[tokio::test]
async fn an_issued_token_is_kept() {
    let gateway = Gateway::new().await;
    let (directory, access) = with_token(&gateway).await;
    let talk = async {
        let mut hello = hello();
        hello["auth"]["deviceToken"] = json!("another");
        greeted(&gateway, hello).await;
    };
    let open = async { drop(Link::open(&access).await.unwrap()) };
    join!(open, talk);
    let state = directory.path().canonicalize().unwrap();
    let identity = Identity::find(&state).unwrap();
    assert_eq!(identity.token(&gateway.url()), Some("another"));
}

#[tokio::test]
async fn a_refusal_says_what_to_do_next() {
    for (code, next) in [
        ("AUTH_TOKEN_MISMATCH", "the guard used a test"),
        ("AUTH_PASSWORD_MISMATCH", "the guard used a test"),
        ("AUTH_PASSWORD_MISSING", "it requires a password"),
        ("AUTH_RATE_LIMITED", "wait"),
        ("PAIRING_REQUIRED", "openclaw devices approve"),
        ("PROTOCOL_MISMATCH", "protocols 3 and 4"),
        ("DEVICE_AUTH_NONCE_MISMATCH", "remove guard/device.json"),
        ("DEVICE_AUTH_SIGNATURE_EXPIRED", "remove guard/device.json"),
        ("SOMETHING_ELSE", "refuses the guard: no (SOMETHING_ELSE)"),
    ] {
        let problem = problem(async |gateway| {
            refuse(gateway, mismatch(code)).await;
        });
        let problem = problem.await;
        assert!(problem.contains(next) && problem.contains(code), "{problem}");
    }
}

#[tokio::test]
async fn a_silent_gateway_times_out() {
    for is_challenged in [false, true] {
        let opened = opening(async |gateway| {
            let mut client = gateway.accept().await;
            if is_challenged {
                client.challenge().await;
                client.hear().await;
            }
            // From here on, time advances only while all tasks are idle.
            tokio::time::pause();
            client.gone().await;
            tokio::time::resume();
        });
        let problem = opened.await.unwrap_err();
        assert!(matches!(problem, OpenError::Slow { .. }), "{is_challenged}: {problem}");
    }
}
