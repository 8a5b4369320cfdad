//! A world whose guard asks at a gateway.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use guard_tests::World;
use guard_tests::gateway::{Client, Gateway, Login, PATIENCE};

/// `bin/asked` prints its arguments and is in no allowlist. The system's programs may run. Files in `else/`
/// may be read and written after a yes. The gateway is the only route.
pub fn world(gateway: &Gateway) -> World {
    world_with(gateway, r#"["gateway"]"#, 100_000)
}

/// Returns such a world, with these routes and a timeout of so many milliseconds.
pub fn world_with(gateway: &Gateway, routes: &str, timeout: u64) -> World {
    let text = format!(
        r#"{{"version": 1, "exec": {{"security": "allowlist", "ask": "on-miss", "timeoutMs": {timeout},
            "carriers": ["bash", "sh", "dash", "env"]}},
            "approvals": {{"routes": {routes}, "gateway": {{"url": "ws://127.0.0.1:{}", "tokenFile": "@/token"}}}},
            "agents": {{"*": {{"allowlist": [{{"pattern": "/usr/**"}}]}}}},
            "permissions": {{"filesystem": {{"rules": {{SYSTEM, "@/work/**": "rwx", "@/bin/**": "r-x"}}, "default": "---"}}}}}}"#,
        gateway.port()
    );
    let world = World::bare().policy(&text).attended();
    let asked = world.write("bin/asked", std::fs::read("/bin/echo").expect("echo"));
    mode(&asked, 0o755);
    world.write("else/file", "secret\n");
    write_token(&world, gateway.token());
    world
}

/// Writes the file with the token that the guard presents.
pub fn write_token(world: &World, token: &str) {
    mode(&world.write("token", token), 0o600);
}

pub fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("to change a mode");
}

/// Polls until `done` returns true. The limit is shorter than in other tests, which run whole suites.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the path of a file of the world.
pub fn path(world: &World, name: &str) -> String {
    world.root().join(name).display().to_string()
}

/// Connects an app that shows cards.
pub fn approver(gateway: &Gateway) -> Client {
    Client::connect(gateway.port(), &Login::approver(gateway.token())).expect("to be let in")
}
