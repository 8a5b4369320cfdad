//! A world with a gate, and clients of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use guard_tests::{World, give_environment, until};
use serde_json::{Value, json};

/// How long a test waits for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files may be read, but for `home/.ssh` and `work/private`; those of the workspace may be written, and those in
/// `else/` are asked about. `ls` may run.
const POLICY: &str = r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss"},
    "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/ls"}, {"pattern": "/bin/ls"}]}},
    "permissions": {"persistence": false, "filesystem": {
        "rules": {SYSTEM, "@/**": "r--", "@/work/**": "rw-", "@/else/**": "???"},
        "deny": ["@/home/.ssh", "@/work/private"], "default": "---"}}}"#;

/// A gate that serves, in a world of its own.
pub struct Gate {
    pub world: World,
    service: Child,
}

impl Gate {
    /// Starts one under the usual policy.
    pub fn start() -> Gate {
        Gate::of(world(), &[], &[])
    }

    /// Starts one with these options before and after `gate serve`.
    pub fn of(world: World, before: &[&str], after: &[&str]) -> Gate {
        let service = serve(&world, before, after);
        let gate = Gate { world, service };
        until("the gate answers", || UnixStream::connect(gate.socket()).is_ok());
        gate
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        socket(&self.world)
    }

    /// Connects to it.
    pub fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket()).expect("to connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Sends a line, and returns the answer; `None` if the gate closes the connection.
    pub fn send(&self, line: &[u8]) -> Option<Value> {
        let mut stream = self.connect();
        // A gate that has heard enough closes it.
        let _ = stream.write_all(line);
        let _ = stream.write_all(b"\n");
        answer(stream)
    }

    /// Asks about a call of the main agent's session.
    pub fn ask(&self, tool: &str, params: &Value) -> Value {
        self.ask_as(tool, params, &json!({"agentId": "main", "sessionKey": "agent:main:main"}))
    }

    /// Asks with these fields besides.
    pub fn ask_as(&self, tool: &str, params: &Value, also: &Value) -> Value {
        let mut question =
            json!({"v": 1, "tool": tool, "params": params, "requester": {"senderIsOwner": true}});
        for (name, value) in also.as_object().expect("fields") {
            question[name] = value.clone();
        }
        self.send(question.to_string().as_bytes()).expect("an answer")
    }

    /// The outcome for a call.
    pub fn outcome(&self, tool: &str, params: &Value) -> String {
        outcome(&self.ask(tool, params))
    }

    /// Ends the service.
    pub fn kill(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }

    /// Starts the service again.
    pub fn restart(&mut self) {
        self.kill();
        self.service = serve(&self.world, &[], &[]);
        until("the gate answers", || UnixStream::connect(self.socket()).is_ok());
    }

    /// The process of the service.
    pub fn pid(&self) -> u32 {
        self.service.id()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The socket of a world's gate.
pub fn socket(world: &World) -> PathBuf {
    world.home().join(".openclaw/guard/run/gate.sock")
}

/// A world with a policy, secrets and a configuration of OpenClaw.
pub fn world() -> World {
    let world = World::bare().policy(POLICY).attended();
    write_config(&world, &json!({}));
    world.write("home/.ssh/id_rsa", "secret\n");
    world.write("work/notes", "notes\n");
    world.write("work/private/key", "secret\n");
    world.write("else/file", "text\n");
    world
}

/// Writes openclaw.json: this, and the workspace.
pub fn write_config(world: &World, more: &Value) {
    let mut config = json!({
        "meta": {"lastTouchedVersion": "2026.9.6"},
        "agents": {"defaults": {"workspace": world.work().display().to_string()}},
    });
    for (name, value) in more.as_object().expect("keys") {
        config[name] = value.clone();
    }
    world.write("home/.openclaw/openclaw.json", config.to_string());
}

fn serve(world: &World, before: &[&str], after: &[&str]) -> Child {
    let mut command = world.command();
    command.args(before).args(["gate", "serve"]).args(after);
    let log = std::fs::File::options().create(true).append(true).open(world.root().join("gate.log"));
    let log = log.expect("a log");
    let mut inner: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    if before.contains(&"--audit") {
        // The world's own log.
        let own = inner.iter().position(|word| word == "--audit").expect("an option");
        inner.drain(own..own + 2);
    }
    // The kernel ends it if the test is killed.
    let mut held = Command::new("setpriv");
    held.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(inner);
    give_environment(&command, &mut held);
    held.current_dir(world.work()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    held.spawn().expect("the gate")
}

/// Reads an answer.
pub fn answer(stream: UnixStream) -> Option<Value> {
    let mut line = String::new();
    BufReader::new(stream.take(1 << 20)).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// The outcome in an answer.
pub fn outcome(answer: &Value) -> String {
    answer["outcome"].as_str().unwrap_or("none").to_owned()
}
