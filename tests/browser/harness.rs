//! A browser in which the page is open.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use guard_tests::gateway::{node, package};
use guard_tests::served::Page;
use guard_tests::{Held, World, ended, has, is_long_form, sources, until};
use serde_json::{Value, json};

/// Whether there is a browser; says why it is left out.
pub fn is_wanted() -> bool {
    is_long_form() && has(&["chromium", "curl"])
}

/// `bin/asked` prints its arguments; it and curl are asked for, and what lies in `else/`. There is time enough for anybody.
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

/// The path of a file of the world.
pub fn path(world: &World, name: &str) -> String {
    world.root().join(name).display().to_string()
}

/// A shell that starts what is asked for with this word, and prints how that ended.
pub fn asking<'w>(world: &'w World, word: &str) -> Held<'w> {
    world.start(&["bash", "-c", &format!("{} {word}; echo $?", path(world, "bin/asked"))])
}

/// Plays one of the scenes of browser.mjs on the page, which may want to know more. What it said.
pub fn play(world: &World, page: &Page, scene: &str, more: &Value) -> String {
    let axe = package("axe-core", None).join("axe.min.js");
    let pictures = std::env::var_os("UPDATE").filter(|value| !value.is_empty());
    let pictures = pictures.map(|_| sources().join("../docs/page"));
    let told = json!({
        "playwright": package("playwright-core", None).join("index.js"), "axe": axe, "scene": scene,
        "link": page.link, "pid": page.pid(), "root": world.root(), "pictures": pictures, "more": more,
    });
    let mut browser = Command::new(node());
    browser.arg(sources().join("browser/browser.mjs")).arg(told.to_string());
    let said = ended(browser.env("HOME", world.home()).stdin(Stdio::null()));
    assert_eq!(said.status, 0, "{scene}: {}\n{}", said.stdout, said.stderr);
    said.stdout
}

/// Waits until a scene has said so: its `tell`.
pub fn told(world: &World, name: &str) {
    until(name, || world.root().join(format!("told-{name}")).exists());
}

/// Lets a scene go on: its `hear`.
pub fn tell(world: &World, name: &str) {
    world.write(format!("heard-{name}"), "");
}
