//! The commands of docs/gateway.md, exactly as the document has them.

use std::process::{Child, Command, Stdio};

use guard_tests::gateway::{Client, Gateway, Login, Release, gateway, node, package};
use guard_tests::{Ended, copy_guard, ended, is_foreign, sources};

use crate::world::{eventually, mode};

for_each_release! { the_five_commands }

/// Returns the document's first block of commands.
fn commands() -> Vec<String> {
    let text = std::fs::read_to_string(sources().join("../docs/gateway.md")).expect("docs/gateway.md");
    let block =
        text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of commands");
    block.lines().map(str::to_owned).collect()
}

/// Installs both programs in a gateway's home, and returns the variables with which a shell there finds them.
pub fn variables(gateway: &Gateway) -> Vec<(String, String)> {
    let bin = gateway.home().join("bin");
    // Once: a shell that was started before may be about to start one of them.
    if !bin.exists() {
        std::fs::create_dir_all(&bin).expect("a directory");
        let script = package("openclaw", Some(gateway.release().version())).join("openclaw.mjs");
        let openclaw = format!("#!/bin/sh\nexec {} {} \"$@\"\n", node().display(), script.display());
        std::fs::write(bin.join("openclaw"), openclaw).expect("a script");
        mode(&bin.join("openclaw"), 0o755);
        copy_guard(&bin.join("openclaw-guard"));
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let home = gateway.home().display().to_string();
    let own = [("PATH", &*path), ("HOME", &home), ("TMPDIR", &home)];
    let still = [("OPENCLAW_DISABLE_BONJOUR", "1"), ("OPENCLAW_SKIP_CHANNELS", "1"), ("NO_COLOR", "1")];
    own.into_iter().chain(still).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns a bash in that home, with these variables.
pub fn fresh(gateway: &Gateway) -> Command {
    let mut shell = Command::new("bash");
    shell.env_clear().envs(variables(gateway)).current_dir(gateway.home()).stdin(Stdio::null());
    shell
}

fn the_five_commands(release: Release) {
    if !is_foreign() {
        return drop(gateway(release));
    }
    // This gateway never starts: the commands set up another with its home and port.
    let gateway_home = Gateway::new(release);
    std::fs::remove_file(gateway_home.home().join(".openclaw/openclaw.json")).expect("it was there");
    let shell = || {
        let mut shell = fresh(&gateway_home);
        // The default port may be in use.
        shell.env("OPENCLAW_GATEWAY_PORT", gateway_home.port().to_string());
        shell
    };
    let run = |line: &str| -> Ended { ended(shell().args(["-e", "-c", line])) };
    let commands = commands();
    assert_eq!(commands.len(), 5, "{commands:#?}");
    let mut gateway = None;
    for line in &commands {
        if line.starts_with("openclaw gateway") {
            gateway = Some(started(shell(), line, &gateway_home));
            continue;
        }
        let output = run(line);
        assert_eq!(output.status, 0, "{line}: {output:?}");
        if line.contains("doctor") {
            assert!(
                output.stdout.contains(release.version()) && output.stdout.contains("operator.approvals"),
                "{output:?}"
            );
        }
    }
    assert!(gateway.is_some(), "none of {commands:#?} starts a gateway");
}

/// A process that is killed when it is dropped.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // A process that has already ended needs no signal.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the gateway that the earlier commands have set up, and waits until it accepts clients.
pub fn started(mut shell: Command, line: &str, gateway_home: &Gateway) -> Running {
    // bash replaces itself by the command that it runs.
    shell.args(["-c", line]).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(shell.spawn().expect("bash"));
    let config = std::fs::read_to_string(gateway_home.home().join(".openclaw/openclaw.json"))
        .expect("a configuration");
    let config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    let token = config["gateway"]["auth"]["token"].as_str().expect("a token");
    let login = Login::guard_like(token);
    eventually("the gateway lets clients in", || Client::connect(gateway_home.port(), &login).is_ok());
    running
}
