//! A client of the gateway on a thread of its own. It receives questions and can answer them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::Identity;

/// How long a client waits for what must come. Tests assert nothing else about time.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// The credentials with which a client connects.
#[derive(Debug)]
pub struct Login {
    /// `client.id` and `client.mode`, from OpenClaw's closed lists.
    pub client: (&'static str, &'static str),
    /// The scopes that it requests.
    pub scopes: Vec<&'static str>,
    /// The capabilities that it declares.
    pub caps: Vec<&'static str>,
    /// The gateway's token; None sends no token.
    pub token: Option<String>,
    /// Its device identity.
    pub identity: Option<Identity>,
    /// The Control UI build that it declares (OpenClaw 2026.9.6 requires the gateway's own).
    pub build: Option<String>,
}

impl Login {
    /// Returns a login like the guard's: without an identity, it sees nothing of other clients.
    #[must_use]
    pub fn guard_like(token: &str) -> Login {
        Login {
            client: ("gateway-client", "backend"),
            scopes: vec!["operator.approvals"],
            caps: Vec::new(),
            token: Some(token.to_owned()),
            identity: None,
            build: None,
        }
    }

    /// Returns the login of an app that shows cards.
    #[must_use]
    pub fn approver(token: &str) -> Login {
        Login {
            scopes: vec!["operator.admin", "operator.approvals"],
            caps: vec!["exec-approvals"],
            ..Login::guard_like(token)
        }
    }

    /// Returns the login of the Control UI: with a key, and from a page of the gateway.
    #[must_use]
    pub fn control_ui(token: &str, build: Option<String>) -> Login {
        Login {
            client: ("openclaw-control-ui", "webchat"),
            scopes: vec![
                "operator.admin",
                "operator.read",
                "operator.write",
                "operator.approvals",
                "operator.pairing",
            ],
            caps: vec!["tool-events"],
            token: Some(token.to_owned()),
            identity: Some(Identity::new()),
            build,
        }
    }

    fn is_page(&self) -> bool {
        self.client.0 == "openclaw-control-ui"
    }

    fn params(&self, challenge: &Value) -> Value {
        let mut client = json!({
            "id": self.client.0,
            "mode": self.client.1,
            "version": "0.1.0",
            "platform": "linux",
            "displayName": "a test",
        });
        if let Some(build) = &self.build {
            client["buildId"] = json!(build);
        }
        let mut params = json!({
            "minProtocol": 3,
            "maxProtocol": 4,
            "client": client,
            "role": "operator",
            "scopes": self.scopes,
            "caps": self.caps,
        });
        if let Some(token) = &self.token {
            params["auth"] = json!({ "token": token });
        }
        if let Some(identity) = &self.identity {
            let token = self.token.as_deref().unwrap_or_default();
            params["device"] = identity.device(&params["client"], &self.scopes, token, challenge);
        }
        params
    }
}

/// The gateway's reason for refusing a request: `error` of the frame, or null if the connection ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused(pub Value);

#[derive(Debug, Default)]
struct Heard {
    replies: HashMap<String, Value>,
    events: Vec<(Instant, Value)>,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Ear {
    heard: Mutex<Heard>,
    more: Condvar,
}

impl Ear {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<T>(&self, mut found: impl FnMut(&mut Heard) -> Option<T>) -> Option<T> {
        let end = Instant::now() + PATIENCE;
        let mut heard = self.heard();
        loop {
            if let Some(found) = found(&mut heard) {
                return Some(found);
            }
            let left = end.checked_duration_since(Instant::now())?;
            heard = self.more.wait_timeout(heard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn hear(&self, frame: Value) {
        let mut heard = self.heard();
        match frame["type"].as_str() {
            // The first response counts: a request of two phases has two.
            Some("res") => {
                let id = frame["id"].as_str().unwrap_or_default().to_owned();
                heard.replies.entry(id).or_insert(frame);
            }
            _ => heard.events.push((Instant::now(), frame)),
        }
        self.more.notify_all();
    }

    fn close(&self) {
        self.heard().is_closed = true;
        self.more.notify_all();
    }
}

/// A connection that the gateway accepted.
#[derive(Debug)]
pub struct Client {
    ear: Arc<Ear>,
    out: UnboundedSender<String>,
    hello: Value,
    count: AtomicU64,
}

impl Client {
    /// Connects to a gateway on this host.
    ///
    /// # Errors
    /// Returns the gateway's reason for refusing the connection.
    pub fn connect(port: u16, login: &Login) -> Result<Client, Refused> {
        let (out, sent) = unbounded_channel();
        let ear = Arc::new(Ear::default());
        let (thread_ear, is_page) = (Arc::clone(&ear), login.is_page());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(relay(port, is_page, &thread_ear, sent));
            thread_ear.close();
        });
        let challenge = ear.wait(|heard| match heard.events.first() {
            Some((_, event)) => Some(Some(event["payload"].clone())),
            None => heard.is_closed.then_some(None),
        });
        let challenge = challenge.flatten().ok_or(Refused(Value::Null))?;
        let mut client = Client { ear, out, hello: Value::Null, count: AtomicU64::new(0) };
        client.hello = client.call("connect", login.params(&challenge))?;
        Ok(client)
    }

    /// Connects as the Control UI of this gateway.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn control_ui(port: u16, token: &str) -> Result<Client, Refused> {
        let build = Client::connect(port, &Login::guard_like(token))?.hello()["server"]["buildId"]
            .as_str()
            .map(str::to_owned);
        Client::connect(port, &Login::control_ui(token, build))
    }

    /// Returns the gateway's hello-ok.
    #[must_use]
    pub fn hello(&self) -> &Value {
        &self.hello
    }

    /// Calls a method. Returns the first response.
    ///
    /// # Errors
    /// Returns the gateway's reason for refusing the request.
    ///
    /// # Panics
    /// When no response comes.
    pub fn call(&self, method: &str, params: Value) -> Result<Value, Refused> {
        let id = self.begin(method, params);
        self.reply(&id)
    }

    /// Sends a request; [`Client::reply`] returns its response.
    pub fn begin(&self, method: &str, params: Value) -> String {
        let id = format!("T-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let frame = json!({"type": "req", "id": id, "method": method, "params": params});
        // The wait for the response reports a lost connection.
        let _ = self.out.send(frame.to_string());
        id
    }

    /// Waits for the response to a request.
    ///
    /// # Errors
    /// As [`Client::call`].
    ///
    /// # Panics
    /// When none comes.
    pub fn reply(&self, id: &str) -> Result<Value, Refused> {
        let reply = self.ear.wait(|heard| match heard.replies.remove(id) {
            Some(reply) => Some(reply),
            None => heard.is_closed.then_some(Value::Null),
        });
        let reply = reply.unwrap_or_else(|| panic!("no answer to {id}"));
        if reply["ok"] == true { Ok(reply["payload"].clone()) } else { Err(Refused(reply["error"].clone())) }
    }

    /// Waits for an event whose payload `is_meant` accepts; earlier events count too. Returns when it came.
    ///
    /// # Panics
    /// When it does not come.
    pub fn event(&self, name: &str, mut is_meant: impl FnMut(&Value) -> bool) -> (Instant, Value) {
        let found = self.ear.wait(|heard| {
            let mut events = heard.events.iter().filter(|(_, event)| event["event"] == name);
            let found = events.find(|(_, event)| is_meant(&event["payload"]));
            found
                .map(|(at, event)| (*at, event["payload"].clone()))
                .map(Ok)
                .or(heard.is_closed.then_some(Err(())))
        });
        found.and_then(Result::ok).unwrap_or_else(|| panic!("no {name}: {:#?}", self.ear.heard().events))
    }

    /// Returns the payload of every event of this name so far.
    #[must_use]
    pub fn events(&self, name: &str) -> Vec<Value> {
        let heard = self.ear.heard();
        let events = heard.events.iter().filter(|(_, event)| event["event"] == name);
        events.map(|(_, event)| event["payload"].clone()).collect()
    }

    /// Waits for the card whose command contains this text.
    ///
    /// # Panics
    /// When none comes.
    pub fn card(&self, command: &str) -> Value {
        let is_meant =
            |card: &Value| card["request"]["command"].as_str().is_some_and(|text| text.contains(command));
        self.event("exec.approval.requested", is_meant).1
    }

    /// Answers a card.
    ///
    /// # Errors
    /// Returns the gateway's reason for refusing the answer.
    pub fn resolve(&self, card: &Value, decision: &str) -> Result<Value, Refused> {
        self.call("exec.approval.resolve", json!({"id": card["id"], "decision": decision}))
    }

    /// Waits for the event that a card has ended.
    ///
    /// # Panics
    /// When it does not end.
    pub fn resolved(&self, card: &Value) -> Value {
        self.event("exec.approval.resolved", |ended| ended["id"] == card["id"]).1
    }

    /// Returns the questions that wait on the gateway, as far as this client may see them.
    ///
    /// # Panics
    /// When it may not ask.
    #[must_use]
    pub fn pending(&self) -> Vec<Value> {
        let list = self.call("exec.approval.list", json!({})).expect("a list");
        list.as_array().expect("a list").clone()
    }

    /// Returns random hexadecimal digits that nobody can guess.
    ///
    /// # Panics
    /// When the system has no randomness.
    #[must_use]
    pub fn nonce() -> String {
        let mut bytes = [0; 24];
        File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes)).expect("randomness");
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("memory");
            text
        })
    }
}

/// Carries frames both ways until either end has gone.
async fn relay(port: u16, is_page: bool, ear: &Ear, mut sent: UnboundedReceiver<String>) {
    let Some(mut socket) = open(port, is_page).await else { return };
    loop {
        tokio::select! {
            text = sent.recv() => match text {
                Some(text) => if socket.send(Message::text(text)).await.is_err() { return },
                // The client was dropped. A gateway that misses the close finds out by itself.
                None => { let _ = socket.close(None).await; return }
            },
            frame = socket.next() => match frame {
                Some(Ok(Message::Text(text))) => ear.hear(serde_json::from_str(&text).expect("frames are JSON")),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => (),
            },
        }
    }
}

async fn open(port: u16, is_page: bool) -> Option<WebSocketStream<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    stream.set_nodelay(true).ok()?;
    let mut request = format!("ws://127.0.0.1:{port}/").into_client_request().ok()?;
    if is_page {
        request.headers_mut().insert("Origin", format!("http://127.0.0.1:{port}").parse().ok()?);
    }
    tokio_tungstenite::client_async(request, stream).await.ok().map(|(socket, _)| socket)
}
