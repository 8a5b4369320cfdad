//! A gateway that sends what a test wants.

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

/// A gateway that listens on its own port.
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

    /// Returns credentials for this gateway.
    pub fn access(&self) -> Credentials {
        Credentials { endpoint: GatewayUrl::parse(&self.url()).unwrap(), ..Credentials::fuzzed() }
    }

    /// Accepts the next connection, and sends nothing.
    pub async fn raw(&self) -> TcpStream {
        self.listener.accept().await.unwrap().0
    }

    /// Accepts the next connection and its upgrade to a WebSocket.
    pub async fn accept(&self) -> Client {
        Client::upgrade(self.raw().await).await
    }

    /// Accepts and admits the next client.
    pub async fn welcome(&self) -> Client {
        self.welcome_by(hello()).await
    }

    /// Accepts the next client and admits it with this greeting.
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

    /// Returns an admitted link and its other end, connected within the process. If the kernel connected them,
    /// a test's paused clock would advance while data is in transit.
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
        self.send_json(json!({"type": "event", "event": event, "payload": payload})).await;
    }

    pub async fn answer(&mut self, id: &Value, payload: Value) {
        self.send_json(json!({"type": "res", "id": id, "ok": true, "payload": payload})).await;
    }

    pub async fn refuse(&mut self, id: &Value, error: Value) {
        self.send_json(json!({"type": "res", "id": id, "ok": false, "error": error})).await;
    }

    pub async fn send_json(&mut self, frame: Value) {
        self.send(Message::text(frame.to_string())).await.unwrap();
    }

    pub async fn send(&mut self, message: Message) -> tungstenite::Result<()> {
        self.0.send(message).await
    }

    /// Returns the guard's next frame.
    pub async fn hear(&mut self) -> Value {
        loop {
            match self.0.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Waits until the guard has disconnected without another frame.
    pub async fn gone(&mut self) {
        while let Some(Ok(message)) = self.0.next().await {
            assert!(!matches!(message, Message::Text(_) | Message::Binary(_)), "{message:?}");
        }
    }
}

/// Returns [`hello`] as sent to an administrator.
pub fn admin_hello() -> Value {
    let mut hello = hello();
    hello["auth"]["scopes"] = json!([ADMIN, APPROVALS]);
    hello
}

/// Returns the greeting of OpenClaw 2026.9.6, shortened.
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
