//! A gateway that has a node do what a test wants, and a node of this host.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use guard_tests::{World, guard, limit, until};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// The gateway's token.
pub const TOKEN: &str = "the-gateways-token-0123456789";
/// The request that an operator would have to approve.
pub const REQUEST: &str = "0537eb6a-d34a-4825-87fb-11cba9c1a2a3";

/// What the gateway says to those who connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admits {
    /// It lets nodes in.
    Nodes,
    /// It refuses devices that are not paired.
    Nobody,
}

/// What the gateway says to an operator who asks for its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// The last node that connected waits for approval.
    Pending,
    /// It is approved.
    Approved,
    /// It is not approved, and nothing waits.
    Rejected,
    /// An error.
    Error,
    /// Nothing.
    Silence,
    /// Nothing, and it hangs up.
    End,
}

/// What the gateway was asked for, and what it says.
#[derive(Clone)]
struct Shared {
    admits: Arc<Mutex<Admits>>,
    lists: Arc<Mutex<Lists>>,
    looks: Arc<AtomicUsize>,
    connects: Arc<Mutex<Vec<Value>>>,
    is_old: Arc<AtomicBool>,
}

/// A gateway on a thread of its own.
pub struct FakeGateway {
    pub port: u16,
    nodes: Receiver<NodeLink>,
    shared: Shared,
    /// The `connect` of each connection, of nodes and operators.
    pub connects: Arc<Mutex<Vec<Value>>>,
}

/// The gateway's end of a node's connection.
pub struct NodeLink {
    socket: WebSocket<TcpStream>,
    /// The parameters of `connect`.
    pub connect: Value,
    /// The events that the node has sent.
    pub events: Vec<Value>,
    results: VecDeque<Value>,
    count: usize,
    /// Requests to be confirmed later, if they are to be.
    deferred: Option<Vec<Value>>,
}

impl FakeGateway {
    pub fn start() -> FakeGateway {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, nodes) = channel();
        let shared = Shared {
            admits: Arc::new(Mutex::new(Admits::Nodes)),
            lists: Arc::new(Mutex::new(Lists::Pending)),
            looks: Arc::default(),
            connects: Arc::default(),
            is_old: Arc::default(),
        };
        let (connects, greeted) = (Arc::clone(&shared.connects), shared.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sender, shared) = (sender.clone(), greeted.clone());
                thread::spawn(move || greet(stream, &sender, &shared));
            }
        });
        FakeGateway { port, nodes, shared, connects }
    }

    pub fn admit(&self, admits: Admits) {
        *self.shared.admits.lock().expect("a lock") = admits;
    }

    pub fn list(&self, lists: Lists) {
        *self.shared.lists.lock().expect("a lock") = lists;
    }

    /// From now on it greets as a release before 2026.8 does: without an id of its start.
    pub fn become_old(&self) {
        self.shared.is_old.store(true, Ordering::SeqCst);
    }

    /// How often somebody has asked for the nodes.
    pub fn looks(&self) -> usize {
        self.shared.looks.load(Ordering::SeqCst)
    }

    /// The next node that connects.
    pub fn node(&self) -> NodeLink {
        self.nodes.recv_timeout(limit()).expect("a node")
    }

    /// How many nodes have tried to connect.
    pub fn tries(&self) -> usize {
        let connects = self.connects.lock().expect("a lock");
        connects.iter().filter(|params| params["role"] == "node").count()
    }
}

fn greet(stream: TcpStream, nodes: &Sender<NodeLink>, shared: &Shared) {
    let Ok(mut socket) = tungstenite::accept(stream) else { return };
    let challenge = json!({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n-1", "ts": 1_795_225_539_548_i64}});
    let _ = socket.send(Message::text(challenge.to_string()));
    let Ok(Message::Text(text)) = socket.read() else { return };
    let request: Value = serde_json::from_str(&text).expect("a frame");
    let params = request["params"].clone();
    shared.connects.lock().expect("a lock").push(params.clone());
    if *shared.admits.lock().expect("a lock") == Admits::Nobody {
        let error = json!({"code": "NOT_PAIRED", "message": "pairing required", "details": {"code": "PAIRING_REQUIRED", "requestId": REQUEST}});
        let refusal = json!({"type": "res", "id": request["id"], "ok": false, "error": error});
        let _ = socket.send(Message::text(refusal.to_string()));
        let _ = socket.close(None);
        let _ = socket.flush();
        return;
    }
    let role = params["role"].clone();
    let mut hello = json!({"type": "hello-ok", "protocol": 4,
        "server": {"version": "2026.9.6", "bootId": "b", "connId": "c"},
        "auth": {"role": role, "scopes": params["scopes"], "deviceToken": format!("issued-for-{}", role.as_str().unwrap_or_default())},
        "policy": {"maxPayload": 26_214_400, "tickIntervalMs": 30_000}});
    if shared.is_old.load(Ordering::SeqCst) {
        hello["server"] = json!({"version": "2026.7.35", "connId": "c"});
        hello["snapshot"] = json!({"uptimeMs": 1000});
    }
    let answer = json!({"type": "res", "id": request["id"], "ok": true, "payload": hello});
    let _ = socket.send(Message::text(answer.to_string()));
    if role == "operator" {
        return list(socket, shared);
    }
    socket.get_ref().set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    let link = NodeLink {
        socket,
        connect: params,
        events: Vec::new(),
        results: VecDeque::new(),
        count: 0,
        deferred: None,
    };
    let _ = nodes.send(link);
}

/// Answers an operator who asks for nodes.
fn list(mut socket: WebSocket<TcpStream>, shared: &Shared) {
    while let Ok(message) = socket.read() {
        let Message::Text(text) = message else { continue };
        let request: Value = serde_json::from_str(&text).expect("a frame");
        let connects = shared.connects.lock().expect("a lock").clone();
        let node = connects.iter().rev().find(|params| params["role"] == "node");
        let node = node.map_or(Value::Null, |params| params["device"]["id"].clone());
        shared.looks.fetch_add(1, Ordering::SeqCst);
        let mut own = json!({"nodeId": node, "approvalState": "unapproved", "commands": []});
        let mut answer = json!({"type": "res", "id": request["id"], "ok": true});
        match *shared.lists.lock().expect("a lock") {
            Lists::Silence => continue,
            Lists::End => return,
            Lists::Error => {
                answer["ok"] = json!(false);
                answer["error"] = json!({"code": "UNAVAILABLE", "message": "not now"});
            }
            Lists::Rejected => {}
            Lists::Approved => own["approvalState"] = json!("approved"),
            Lists::Pending => {
                own["approvalState"] = json!("pending-approval");
                own["pendingRequestId"] = json!(REQUEST);
            }
        }
        answer["payload"] = json!({"ts": 1, "nodes": [own]});
        let _ = socket.send(Message::text(answer.to_string()));
    }
}

impl NodeLink {
    /// The node's id.
    pub fn id(&self) -> String {
        self.connect["device"]["id"].as_str().expect("an id").to_owned()
    }

    /// Sends a frame.
    pub fn say(&mut self, frame: &Value) {
        self.say_text(&frame.to_string());
    }

    pub fn say_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).expect("to send");
    }

    /// Sends a text to a node that may hang up meanwhile.
    pub fn say_if_there(&mut self, text: &str) {
        let _ = self.socket.send(Message::text(text));
    }

    pub fn event(&mut self, event: &str, payload: &Value) {
        self.say(&json!({"type": "event", "event": event, "payload": payload}));
    }

    /// Calls a command; returns the call's id.
    pub fn invoke(&mut self, command: &str, params: &Value) -> String {
        self.invoke_with(command, params, json!({"timeoutMs": 60_000}))
    }

    /// Calls a command, with these fields beside the usual ones.
    pub fn invoke_with(&mut self, command: &str, params: &Value, more: Value) -> String {
        self.count += 1;
        let id = format!("call-{}", self.count);
        let mut payload =
            json!({"id": id, "nodeId": self.id(), "command": command, "paramsJSON": params.to_string()});
        payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        self.event("node.invoke.request", &payload);
        payload["id"].as_str().expect("an id").to_owned()
    }

    /// Takes one frame of the node, if one comes soon, and confirms it. Returns false if the node is gone.
    fn listen(&mut self) -> bool {
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                let frame: Value = serde_json::from_str(&text).expect("a frame");
                let params = frame["params"].clone();
                match frame["method"].as_str() {
                    Some("node.invoke.result") => self.results.push_back(params),
                    Some("node.event") => self.events.push(params),
                    _ => {}
                }
                match &mut self.deferred {
                    // The node sends the result only after the event is confirmed.
                    Some(deferred) if frame["method"] == "node.invoke.result" => {
                        deferred.push(frame["id"].clone())
                    }
                    _ => self.confirm(&frame["id"]),
                }
                true
            }
            Ok(_) => true,
            Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => true,
            Err(_) => false,
        }
    }

    fn confirm(&mut self, id: &Value) {
        self.say(&json!({"type": "res", "id": id, "ok": true, "payload": {"ok": true}}));
    }

    /// Confirms no results from now on.
    pub fn defer(&mut self) {
        self.deferred = Some(Vec::new());
    }

    /// Confirms the results that were not confirmed, the last one first.
    pub fn confirm_backwards(&mut self) {
        for id in self.deferred.take().unwrap_or_default().iter().rev() {
            self.confirm(id);
        }
    }

    /// Listens for a moment.
    pub fn listen_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && self.listen() {}
    }

    /// The result of a call, if there is one yet.
    pub fn has_result(&mut self, id: &str) -> Option<Value> {
        let at = self.results.iter().position(|result| result["id"] == *id)?;
        self.results.remove(at).map(decoded)
    }

    /// Waits for the result of a call.
    pub fn result(&mut self, id: &str) -> Value {
        let end = Instant::now() + limit();
        loop {
            if let Some(result) = self.has_result(id) {
                return result;
            }
            assert!(self.listen(), "the node is gone");
            assert!(Instant::now() < end, "no result of {id}");
        }
    }

    /// Calls a command and waits for its result.
    pub fn call(&mut self, command: &str, params: &Value) -> Value {
        let id = self.invoke(command, params);
        self.result(&id)
    }

    /// Runs a command and waits for its end: `payloadJSON`, or `error`.
    pub fn run(&mut self, argv: &[&str]) -> Value {
        let result = self.call(
            "system.run",
            &json!({"command": argv, "runId": "run-1", "sessionKey": "agent:main:main", "agentId": "main"}),
        );
        if result["ok"] == true { result["payloadJSON"].clone() } else { result["error"].clone() }
    }

    /// Waits for an event of this name.
    pub fn heard(&mut self, name: &str) -> Value {
        let end = Instant::now() + limit();
        loop {
            if let Some(event) = self.events.iter().find(|event| event["event"] == *name) {
                return decoded(event.clone());
            }
            assert!(self.listen(), "the node is gone");
            assert!(Instant::now() < end, "no event {name}");
        }
    }

    /// Closes the connection without a word.
    pub fn hang_up(self) {
        let _ = self.socket.get_ref().shutdown(std::net::Shutdown::Both);
    }
}

fn decoded(mut params: Value) -> Value {
    if let Some(text) = params["payloadJSON"].as_str() {
        params["payloadJSON"] = serde_json::from_str(text).expect("JSON");
    }
    params
}

/// A running node.
pub struct NodeProcess {
    pub child: Child,
}

impl NodeProcess {
    /// Starts the node of a world whose policy names the gateway.
    pub fn start(world: &World, more: &[&str]) -> NodeProcess {
        let mut command = world.command();
        command.args(["node", "--display-name", "made-up", "--cwd"]).arg(world.work()).args(more);
        NodeProcess::spawn(world, command)
    }

    pub fn spawn(world: &World, mut command: Command) -> NodeProcess {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(world.root().join("node.log"));
        let log = log.expect("a log");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        NodeProcess { child: command.spawn().expect("a node") }
    }

    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(status.expect("kill").success());
    }

    /// Ends it as a service manager does.
    pub fn end(mut self) -> i32 {
        self.signal("-TERM");
        guard_tests::status_of(&mut self.child)
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        // A process that has ended needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A world of a node: everything of the system may run, `work/` may be written, and `shut/` may not be touched. `exec` is
/// the value of `exec` in its policy.
pub fn world(gateway: &FakeGateway, exec: &str) -> World {
    world_at(gateway.port, TOKEN, exec)
}

pub fn world_at(port: u16, token: &str, exec: &str) -> World {
    let text = format!(
        r#"{{"version": 1, "exec": {exec},
            "approvals": {{"routes": ["cli"], "gateway": {{"url": "ws://127.0.0.1:{port}", "tokenFile": "@/token"}}}},
            "agents": {{"*": {{"allowlist": [{{"pattern": "/usr/bin/cat"}}, {{"pattern": "/usr/bin/true"}}, {{"pattern": "/usr/bin/sleep"}}]}}}},
            "permissions": {{"filesystem": {{"rules": {{SYSTEM, "@/work/**": "rwx", "@/bin/**": "r-x"}}, "default": "---"}}}}}}"#
    );
    let world = World::bare().policy(&text).asking();
    std::fs::create_dir(world.root().join("bin")).expect("a directory");
    world.write("shut/secret", "made up and secret\n");
    crate::world::mode(&world.write("token", token), 0o600);
    world
}

/// `exec` that lets everything run.
pub const FULL: &str = r#"{"security": "full", "ask": "off"}"#;
/// `exec` that asks about what is in no list.
pub const ASK: &str = r#"{"security": "allowlist", "ask": "on-miss", "carriers": ["sh", "dash"]}"#;

/// Waits until no process has this text among its arguments.
pub fn gone(text: &str) {
    until(&format!("no process {text}"), || processes(text).is_empty());
}

/// The processes that have this text among their arguments.
pub fn processes(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(text) && !line.contains("openclaw-guard") && entry.file_name() != "self" {
            found.push(line);
        }
    }
    found
}

/// The guard's path, for a message.
pub fn status(world: &World) -> Value {
    let mut command = Command::new(guard());
    command.args(["node", "status", "--json"]).env("HOME", world.home()).env_remove("OPENCLAW_STATE_DIR");
    serde_json::from_str(&guard_tests::ended(&mut command).stdout).expect("JSON")
}
