//! A browser in which the page is open.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use guard_tests::gateway::{node, package};
use guard_tests::served::Page;
use guard_tests::{Held, World, ended, has, is_long_form, sources, until};
use serde_json::{Value, json};

/// Returns whether the browser tests can run; prints why not.
pub fn is_enabled() -> bool {
    is_long_form() && has(&["chromium", "curl"])
}

/// Returns a world that asks for `bin/asked`, which prints its arguments, for curl, and for files in `else/`.
/// No test reaches its timeout.
pub fn world() -> World {
    let world = World::bare()
        .policy(
            r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss", "timeoutMs": 600000, "carriers": ["bash", "sh"]},
            "agents": {"*": {"allowlist": [{"pattern": "/usr/bin/cat"}]}},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-", "@/bin/**": "r-x", "@/else/**": "??-"}, "default": "---"}}}"#,
        )
        .attended();
    let asked = world.write("bin/asked", std::fs::read("/bin/echo").expect("echo"));
    std::fs::set_permissions(asked, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    world.write("else/file", "asked for\n");
    world
}

/// Returns the path of a file of the world.
pub fn path(world: &World, name: &str) -> String {
    world.root().join(name).display().to_string()
}

/// Starts a shell that runs `bin/asked` with this word and prints its exit status.
pub fn start_question<'w>(world: &'w World, word: &str) -> Held<'w> {
    world.start(&["bash", "-c", &format!("{} {word}; echo $?", path(world, "bin/asked"))])
}

/// Plays a scene of browser.mjs on the page, with `more` as its data, and returns what it printed.
pub fn play(world: &World, page: &Page, scene: &str, more: &Value) -> String {
    let axe = package("axe-core", None).join("axe.min.js");
    let pictures = std::env::var_os("UPDATE").filter(|value| !value.is_empty());
    let pictures = pictures.map(|_| sources().join("../docs/page"));
    let arguments = json!({
        "playwright": package("playwright-core", None).join("index.js"), "axe": axe, "scene": scene,
        "link": page.link, "pid": page.pid(), "root": world.root(), "pictures": pictures, "more": more,
    });
    let mut browser = Command::new(node());
    browser.arg(sources().join("browser/browser.mjs")).arg(arguments.to_string());
    let output = ended(browser.env("HOME", world.home()).stdin(Stdio::null()));
    assert_eq!(output.status, 0, "{scene}: {}\n{}", output.stdout, output.stderr);
    output.stdout
}

/// Waits until a scene has reported this name.
pub fn wait_for_scene(world: &World, name: &str) {
    until(name, || world.root().join(format!("told-{name}")).exists());
}

/// Sends a scene the name that it waits for in `hear`.
pub fn signal_scene(world: &World, name: &str) {
    world.write(format!("heard-{name}"), "");
}
