//! A client of the gateway, on a thread of its own, that hears what is asked and can answer.

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

/// For so long a client waits for what must come. Nothing is asserted about time otherwise.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// As whom a client connects.
#[derive(Debug)]
pub struct Login {
    /// `client.id` and `client.mode`, of OpenClaw's closed lists.
    pub client: (&'static str, &'static str),
    /// What it wants to be allowed.
    pub scopes: Vec<&'static str>,
    /// What it says it can do.
    pub caps: Vec<&'static str>,
    /// The gateway's token; none is sent where it is None.
    pub token: Option<String>,
    /// Its device identity.
    pub identity: Option<Identity>,
    /// The build of the Control UI that it is (OpenClaw 2026.9.6 wants the gateway's own).
    pub build: Option<String>,
}

impl Login {
    /// As the guard does: without an identity, it sees nothing of others.
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

    /// As an app that shows cards.
    #[must_use]
    pub fn approver(token: &str) -> Login {
        Login {
            scopes: vec!["operator.admin", "operator.approvals"],
            caps: vec!["exec-approvals"],
            ..Login::guard_like(token)
        }
    }

    /// As the Control UI does: with a key, and from a page of the gateway's.
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

/// What the gateway says of a request that it does not take: `error` of the frame, or null where the connection ended.
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
            // The first answer to a request counts: one of two phases has two.
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

/// A connection that was let in.
#[derive(Debug)]
pub struct Client {
    ear: Arc<Ear>,
    out: UnboundedSender<String>,
    hello: Value,
    count: AtomicU64,
}

impl Client {
    /// Connects to a gateway of this host.
    ///
    /// # Errors
    /// What the gateway says against it.
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

    /// As the Control UI of this gateway.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn control_ui(port: u16, token: &str) -> Result<Client, Refused> {
        let build = Client::connect(port, &Login::guard_like(token))?.hello()["server"]["buildId"]
            .as_str()
            .map(str::to_owned);
        Client::connect(port, &Login::control_ui(token, build))
    }

    /// hello-ok.
    #[must_use]
    pub fn hello(&self) -> &Value {
        &self.hello
    }

    /// Calls a method; the first answer.
    ///
    /// # Errors
    /// What the gateway says against it.
    ///
    /// # Panics
    /// When no answer comes.
    pub fn call(&self, method: &str, params: Value) -> Result<Value, Refused> {
        let id = self.begin(method, params);
        self.reply(&id)
    }

    /// Sends a request, whose answer [`Client::reply`] has.
    pub fn begin(&self, method: &str, params: Value) -> String {
        let id = format!("T-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let frame = json!({"type": "req", "id": id, "method": method, "params": params});
        // A connection that is gone is told of where the answer is waited for.
        let _ = self.out.send(frame.to_string());
        id
    }

    /// The answer to a request.
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

    /// Waits for an event whose payload is the one that is meant; says when it came. Looks at those that came before, too.
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

    /// Every event of this name so far.
    #[must_use]
    pub fn events(&self, name: &str) -> Vec<Value> {
        let heard = self.ear.heard();
        let events = heard.events.iter().filter(|(_, event)| event["event"] == name);
        events.map(|(_, event)| event["payload"].clone()).collect()
    }

    /// The card on which this text is what would run.
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
    /// What the gateway says against it.
    pub fn resolve(&self, card: &Value, decision: &str) -> Result<Value, Refused> {
        self.call("exec.approval.resolve", json!({"id": card["id"], "decision": decision}))
    }

    /// The end of a card, as it is told to who shows it.
    ///
    /// # Panics
    /// When it does not end.
    pub fn resolved(&self, card: &Value) -> Value {
        self.event("exec.approval.resolved", |ended| ended["id"] == card["id"]).1
    }

    /// What waits for an answer on the gateway, as far as this client may see it.
    ///
    /// # Panics
    /// When it may not ask.
    #[must_use]
    pub fn pending(&self) -> Vec<Value> {
        let list = self.call("exec.approval.list", json!({})).expect("a list");
        list.as_array().expect("a list").clone()
    }

    /// Hexadecimal digits that nobody guesses.
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

/// Carries frames both ways until either end is gone.
async fn relay(port: u16, is_page: bool, ear: &Ear, mut sent: UnboundedReceiver<String>) {
    let Some(mut socket) = open(port, is_page).await else { return };
    loop {
        tokio::select! {
            text = sent.recv() => match text {
                Some(text) => if socket.send(Message::text(text)).await.is_err() { return },
                // The client is dropped. Who hears no goodbye finds out.
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
