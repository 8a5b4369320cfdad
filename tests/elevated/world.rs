//! A world in which commands may run outside, after a yes.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use guard_tests::{Ended, Held, World, ended, guard};
use serde_json::Value;

/// What opens the gates to everybody who started a guard here.
pub const OPEN: &str = r#""elevated": {"enabled": true, "allowFrom": {"local": ["*"]}, "default": "on"}"#;

/// The tree may start everything, read everything but `closed`, and write in `work`.
pub fn with(exec: &str, more: &str) -> World {
    let world = World::bare().policy(&format!(
        r#"{{"version": 1, "exec": {{{exec}, "roots": ["/"], "timeoutMs": 100000}},
            "permissions": {{"persistence": false, "filesystem": {{"rules": {{"/**": "r-x", "/dev/**": "rw-",
                "@/work/**": "rwx", "@/closed/**": "---"}}, "default": "---"}}}}, {more}}}"#
    ));
    std::fs::create_dir(world.root().join("closed")).expect("a directory");
    std::fs::create_dir(world.root().join("bin")).expect("a directory");
    world.attended()
}

pub fn world() -> World {
    with(r#""security": "full", "ask": "off""#, OPEN)
}

/// The guard's own file, for a shell.
pub fn own() -> String {
    guard().display().to_string()
}

/// Starts a shell in the guard. In its line, `RUN` asks for a command outside.
pub fn start<'w>(world: &'w World, line: &str) -> Held<'w> {
    world.start(&["bash", "-c", &run(line)])
}

pub fn run(line: &str) -> String {
    line.replace("RUN", &format!("{} run-outside --", own()))
}

/// Runs a line whose one question gets this answer.
pub fn answered(world: &World, line: &str, decision: &str) -> (Value, Ended) {
    let held = start(world, line);
    let asked = world.answer(decision);
    (asked, held.end())
}

/// Runs a line that asks nothing.
pub fn unasked(world: &World, line: &str) -> Ended {
    start(world, line).end()
}

pub fn executable(world: &World, path: &str, text: impl AsRef<[u8]>) -> String {
    let path = world.write(path, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("to change a mode");
    path.display().to_string()
}

/// The lines of the log with this operation.
pub fn logged(world: &World, operation: &str) -> Vec<Value> {
    world.audit().into_iter().filter(|line| line["operation"] == operation).collect()
}

/// Makes the directory in which a session can be found.
pub fn with_state(world: &World) {
    let state = world.home().join(".openclaw/guard");
    std::fs::create_dir_all(&state).expect("a directory");
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).expect("a mode");
}

/// The guard's command as the operator runs it, from outside.
fn operators(world: &World) -> Command {
    let mut command = Command::new(guard());
    command.env("HOME", world.home()).env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME");
    command
}

/// The id of the one session.
pub fn session_id(world: &World) -> String {
    let list = ended(operators(world).args(["session", "list", "--json"])).stdout;
    let list: Value = serde_json::from_str(&list).expect("a list");
    list[0]["id"].as_str().expect("an id").to_owned()
}

/// Sets the level of a session from outside.
pub fn set_level(world: &World, level: &str, id: &str) -> Ended {
    ended(operators(world).args(["session", "set", "--elevated", level, id]))
}
