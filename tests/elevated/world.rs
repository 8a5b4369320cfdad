//! A world in which commands may run outside, after a yes.

use std::os::unix::fs::PermissionsExt;

use guard_tests::{Ended, Held, World, guard};
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
