//! A gateway that says what a test wants it to.

use futures_util::{SinkExt, StreamExt};
use guard_policy::approval::GatewayUrl;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, accept_async};

use crate::gateway::access::{ADMIN, APPROVALS};
use crate::gateway::dial::{Socket, Stream, limits};
use crate::gateway::hello::Hello;
use crate::gateway::{Credentials, Link};

/// One that listens on a port of its own.
pub struct Gateway {
    listener: TcpListener,
}

/// The gateway's end of a connection.
pub struct Client(pub Socket);

impl Gateway {
    pub async fn new() -> Gateway {
        Gateway { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub fn url(&self) -> String {
        format!("ws://{}", self.listener.local_addr().unwrap())
    }

    /// What somebody has who may come in.
    pub fn access(&self) -> Credentials {
        Credentials { endpoint: GatewayUrl::parse(&self.url()).unwrap(), ..Credentials::fuzzed() }
    }

    /// The next that connects, before anything is said.
    pub async fn raw(&self) -> TcpStream {
        self.listener.accept().await.unwrap().0
    }

    /// The next that connects, before anything is said over the WebSocket.
    pub async fn accept(&self) -> Client {
        Client::upgrade(self.raw().await).await
    }

    /// The next that connects, let in.
    pub async fn welcome(&self) -> Client {
        self.welcome_by(hello()).await
    }

    /// The next that connects, let in by these words.
    pub async fn welcome_by(&self, hello: Value) -> Client {
        let mut client = self.accept().await;
        client.challenge().await;
        let connect = client.hear().await;
        client.answer(&connect["id"], hello).await;
        client
    }
}

impl Client {
    pub async fn upgrade(raw: impl Stream + 'static) -> Client {
        Client(accept_async(Box::new(raw) as Box<dyn Stream>).await.unwrap())
    }

    /// A link that has been let in, and its other end, without the kernel between them: time that is paused does not pass
    /// while something is under way.
    pub async fn linked() -> (Link, Client) {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let end = async |stream, role| {
            WebSocketStream::from_raw_socket(Box::new(stream) as Box<dyn Stream>, role, Some(limits())).await
        };
        let (hello, _) = Hello::read(hello(), 0).unwrap();
        (Link::new(end(ours, Role::Client).await, hello), Client(end(theirs, Role::Server).await))
    }

    pub async fn challenge(&mut self) {
        self.event("connect.challenge", json!({"nonce": "n-1", "ts": 1_795_225_539_548_i64})).await;
    }

    pub async fn event(&mut self, event: &str, payload: Value) {
        self.say(json!({"type": "event", "event": event, "payload": payload})).await;
    }

    pub async fn answer(&mut self, id: &Value, payload: Value) {
        self.say(json!({"type": "res", "id": id, "ok": true, "payload": payload})).await;
    }

    pub async fn refuse(&mut self, id: &Value, error: Value) {
        self.say(json!({"type": "res", "id": id, "ok": false, "error": error})).await;
    }

    pub async fn say(&mut self, frame: Value) {
        self.send(Message::text(frame.to_string())).await.unwrap();
    }

    pub async fn send(&mut self, message: Message) -> tungstenite::Result<()> {
        self.0.send(message).await
    }

    /// The next frame of the guard.
    pub async fn hear(&mut self) -> Value {
        loop {
            match self.0.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Waits until the guard has gone.
    pub async fn gone(&mut self) {
        while let Some(Ok(message)) = self.0.next().await {
            assert!(!matches!(message, Message::Text(_) | Message::Binary(_)), "{message:?}");
        }
    }
}

/// The same to an administrator.
pub fn admin_hello() -> Value {
    let mut hello = hello();
    hello["auth"]["scopes"] = json!([ADMIN, APPROVALS]);
    hello
}

/// As 2026.9.6 says it, in short.
pub fn hello() -> Value {
    json!({
        "type": "hello-ok",
        "protocol": 4,
        "server": {"version": "2026.9.6", "bootId": "boot-1", "connId": "conn-1"},
        "features": {"methods": ["exec.approval.request"], "events": ["tick"]},
        "snapshot": {"uptimeMs": 5},
        "auth": {"role": "operator", "scopes": ["operator.approvals"]},
        "policy": {"maxPayload": 26_214_400, "maxBufferedBytes": 52_428_800, "tickIntervalMs": 30_000},
    })
}
