//! A world that asks for one program and for the files of one directory.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use guard_tests::World;

/// `bin/asked` prints its arguments and is in no allowlist. The system's programs may run. Files in `else/`
/// may be read and written after a yes. Questions time out after `timeout` milliseconds.
pub fn world_with(timeout: u64, more: &str) -> World {
    filled(World::bare().policy(&text(timeout, more)).attended())
}

/// Returns such a world whose policy names no routes: a question waits only if somebody is there.
#[allow(dead_code, reason = "the tests of the page include this file, too")]
pub fn world_without_routes(more: &str) -> World {
    filled(World::bare().policy(&text(3_600_000, more)).asking())
}

fn text(timeout: u64, more: &str) -> String {
    format!(
        r#"{{"version": 1, "exec": {{"security": "allowlist", "ask": "on-miss", "timeoutMs": {timeout},
            "carriers": ["bash", "sh", "dash", "env"]}},
            "agents": {{"*": {{"allowlist": [{{"pattern": "/usr/**"}}, {{"pattern": "@/bin/free"}}]}}}},
            "permissions": {{"filesystem": {{"rules": {{SYSTEM, "@/work/**": "rwx", "@/bin/**": "r-x"}}, "default": "---"}}}}{more}}}"#
    )
}

fn filled(world: World) -> World {
    for name in ["asked", "free"] {
        executable(&world.write(format!("bin/{name}"), std::fs::read("/bin/echo").expect("echo")));
    }
    executable(&world.write("bin/tool", "#!/bin/sh\necho tool \"$@\"\n"));
    world.write("else/file", "secret\n");
    world
}

/// Returns such a world, with a timeout that no test reaches.
pub fn world() -> World {
    world_with(100_000, "")
}

pub fn executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("to change a mode");
}

/// Returns the path of a file of the world.
pub fn path(world: &World, name: &str) -> String {
    world.root().join(name).display().to_string()
}
